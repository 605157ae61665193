package untrusted

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// isRunnerLine reports what a runner looks for in a line.
func isRunnerLine(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[")
}

func FuzzInertWriter(f *testing.F) {
	for _, s := range []string{"::a::b", " \t::a", "x\r::a", "::::a", "##[a]", "###[a", "#\n#[", ":\n:", "a::b", "\n\n::x", "\u00a0\u2003::x", "#", ":"} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, in string, seed uint64) {
		var out bytes.Buffer
		l := &InertWriter{To: &out}
		rnd := rand.New(rand.NewPCG(seed, 1))
		for rest := []byte(in); len(rest) > 0; { // in pieces of any size
			n := 1 + rnd.IntN(len(rest))
			if wrote, err := l.Write(rest[:n]); err != nil || wrote != n {
				t.Fatalf("wrote %d of %d, %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
			if isRunnerLine(line) {
				t.Fatalf("%q became %q", in, out.String())
			}
		}
		if !strings.Contains(in, "::") && !strings.Contains(in, "##[") && out.String() != in {
			t.Fatalf("%q, in which nothing is, became %q", in, out.String())
		}
	})
}

func TestInertJSON(t *testing.T) {
	var out bytes.Buffer
	want := map[string]string{"text": "a ##[error]b\n::set-output name=a::b ###["}
	if err := json.NewEncoder(&InertWriter{To: &out, JSON: true}).Encode(want); err != nil {
		t.Fatal(err)
	}
	if isRunnerLine(out.String()) {
		t.Errorf("a runner acts on %s", out.String())
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["text"] != want["text"] {
		t.Errorf("the string is %q, %v; want %q", got["text"], err, want["text"])
	}
}
