package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logLines are lines as a File writes them.
func logLines(t *testing.T) [][]byte {
	t.Helper()
	var events []*Event
	for i, text := range []string{"plain", `with ,"data":{} and ,"hash":"` + strings.Repeat("a", 64) + `"}`, "two\nlines \u2028 é \x00", strings.Repeat("long ", 2000), ""} {
		events = append(events, NewEvent(TypeNote, i, Note{Kind: "reminder", Text: text}))
	}
	Chain(0, "", events)
	var out [][]byte
	for _, e := range events {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
		out = append(out, buf.Bytes())
	}
	return out
}

// TestReadLine: the short way gives what the decoder gives, for lines as they
// are written.
func TestReadLine(t *testing.T) {
	for _, line := range logLines(t) {
		var want Event
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got, ok := framed(line)
		if !ok {
			t.Errorf("the short way is not taken for %.200s", line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of %.200s (-decoder +short way):\n%s", line, diff)
		}
	}
}

// FuzzReadLine: whatever the line, an event comes out that the decoder would
// give, or the decoder's error.
func FuzzReadLine(f *testing.F) {
	hash := strings.Repeat("0", 64)
	for _, s := range []string{
		`{"seq":1,"time":"2026-01-02T03:04:05Z","turn":0,"type":"note","v":1,"data":{"a":1},"hash":"` + hash + `"}`,
		`{"seq":2,"time":"2026-01-02T03:04:05Z","turn":0,"type":"note","v":1,"data":{"a":1},"prev":"` + hash + `","hash":"` + hash + `"}`,
		`{"seq":2,"type":"note","data":{},"data":{"b":2},"hash":"` + hash + `"}`,
		`{"seq":2,"type":"note","data": {} ,"hash":"` + hash + `"}`,
		`{"seq":2,"a":{"b":1,"data":{}},"hash":"` + hash + `"}`,
		`{"x":[1,"data":{}],"hash":"` + hash + `"}`,
		`{"seq":1,"data":{},"seq":2,"hash":"` + hash + `"}`, `{}`, ``, `null`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var want Event
		wantErr := json.Unmarshal([]byte(line), &want)
		got, err := readLine([]byte(line))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, the decoder's is %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("(-decoder +read):\n%s", diff)
		}
	})
}

// BenchmarkReadLine reads a line of 8 KB the short way and with the decoder.
func BenchmarkReadLine(b *testing.B) {
	e := NewEvent(TypeResult, 1, Result{Call: "c1-1", OK: true, Content: strings.Repeat("\tsome text of a \"file\"\n", 350)})
	Chain(0, "", []*Event{e})
	line, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("frame", func(b *testing.B) {
		for b.Loop() {
			if _, ok := framed(line); !ok {
				b.Fatal("not taken apart")
			}
		}
	})
	b.Run("decoder", func(b *testing.B) {
		for b.Loop() {
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
