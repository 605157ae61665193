package find

import (
	"bytes"
	"testing"
)

func BenchmarkIsBinary(b *testing.B) {
	ascii := bytes.Repeat([]byte("plain text\n"), Sniffed/11+1)[:Sniffed]
	latin := bytes.Repeat([]byte("caf\xe9 au lait\n"), Sniffed/13+1)[:Sniffed]
	for name, head := range map[string][]byte{"text": ascii, "not-UTF-8": latin} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if IsBinary(head) {
					b.Fatal("text is binary")
				}
			}
		})
	}
}
