package tools

import (
	"fmt"
	"testing"
)

func TestRegion(t *testing.T) {
	var lines []string
	for n := 1; n <= 200; n++ {
		lines = append(lines, fmt.Sprintf("%d | line number %d", n, n))
	}
	for name, tt := range map[string]struct {
		args     string
		from, to int
	}{
		"text":       {`{"path":"a","old_string":"  line number 100\nline number 101\nnot there"}`, 88, 113},
		"diff":       {`{"path":"a","diff":"@@\n-line number 50\n+line no 50\n line number 51"}`, 38, 63},
		"line":       {`{"path":"a","line":150}`, 138, 162},
		"end":        {`{"path":"a","old_string":"line number 200"}`, 188, 200},
		"nothing":    {`{"path":"a","old_string":"who knows"}`, 1, 100},
		"unreadable": {`[]`, 1, 100},
	} {
		from, to := region(lines, wantedLines([]byte(tt.args)))
		if from+1 != tt.from || to != tt.to {
			t.Errorf("%s: lines %d-%d, want %d-%d", name, from+1, to, tt.from, tt.to)
		}
	}
	if from, to := region(nil, nil); from != 0 || to != 0 {
		t.Error("an empty file has no region")
	}
}
