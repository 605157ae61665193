package lines

import (
	"fmt"
	"testing"
)

func TestManyDistinctLines(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 70_000 { // more than fit below the surrogates
		a = append(a, fmt.Sprintf("a%d\n", i))
		b = append(b, fmt.Sprintf("a%d\n", i))
	}
	b[100], b[60_000], b[69_000] = "x\n", "y\n", "z\n"
	if got := Compare(a, b); len(got) != 3 || got[1] != (Span{60_000, 60_001, 60_000, 60_001}) {
		t.Errorf("spans: %v", got)
	}
}
