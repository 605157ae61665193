package outline

import (
	"bytes"
	"os"
	"testing"
)

// A file of 100 kB in a language that is read by its words and shapes.
func BenchmarkOf(b *testing.B) {
	text, err := os.ReadFile("testdata/real/excalidraw/history.ts")
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.Repeat(text, 100_000/len(text)+1)[:100_000]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if defs, _, ok := Of("history.ts", text); !ok || len(defs) < 100 {
			b.Fatal(len(defs))
		}
	}
}
