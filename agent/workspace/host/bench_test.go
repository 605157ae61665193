package host

import (
	"bytes"
	"testing"
)

func BenchmarkIsBinary(b *testing.B) {
	ascii := bytes.Repeat([]byte("plain text\n"), sniffed/11+1)[:sniffed]
	latin := bytes.Repeat([]byte("caf\xe9 au lait\n"), sniffed/13+1)[:sniffed]
	for name, head := range map[string][]byte{"text": ascii, "not-UTF-8": latin} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if isBinary(head) {
					b.Fatal("text is binary")
				}
			}
		})
	}
}
