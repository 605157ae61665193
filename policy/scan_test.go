package policy

import (
	"strings"
	"testing"
)

func TestScanDiff(t *testing.T) {
	s, err := NewScanner(canary)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.rules) < 150 {
		t.Fatalf("only %d rules were read", len(s.rules))
	}
	pat := "ghp_" + "x7Jq2LmN8vRt4WzK1pYc5BdF9hGs3AeUo6Qi"
	for name, c := range map[string]struct {
		added string
		lines []int
	}{
		"nothing":           {"func main() {}\n", nil},
		"token":             {"a\ntoken = \"" + pat + "\"\n", []int{2}},
		"told to look away": {"token = \"" + pat + "\" // gitleaks:allow\n", []int{1}},
		"known value":       {"x\ny\n" + canary.Reveal() + "\n", []int{3}},
		"known encoded":     {strings.ToUpper("x") + "\nz " + backwards(canary.Reveal()), []int{2}},
		"two lines":         {pat + "\nok\n" + pat + "\n", []int{1, 3}},
		"generic key":       {"api_key = \"8f3kd92ls0alq7xmv5nb1zt6\"\n", []int{1}},
		"placeholder":       {"api_key = \"your-api-key-here\"\n", nil},
		"checksum":          {"golang.org/x/text v0.3.0 h1:g61tztE5qeGQ89tm6NTjjM9VPIm088od1l6aSorWRWg=\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := s.ScanDiff(c.added)
			var lines []int
			for _, f := range found {
				lines = append(lines, f.Line)
				if strings.Contains(f.Text, pat) || f.Rule == "" {
					t.Errorf("finding %+v", f)
				}
			}
			if len(lines) != len(c.lines) {
				t.Fatalf("found %+v, want lines %v", found, c.lines)
			}
			for i := range lines {
				if lines[i] != c.lines[i] {
					t.Errorf("found %+v, want lines %v", found, c.lines)
				}
			}
		})
	}
}

func BenchmarkNewScanner(b *testing.B) {
	for b.Loop() {
		if _, err := NewScanner(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScanDiff(b *testing.B) {
	s, err := NewScanner(canary)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("+\tkey := strings.TrimSpace(tokenValue) // look up the secret by its name\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.ScanDiff(text)
	}
}

func BenchmarkRedact(b *testing.B) {
	r := NewRedactor(canary, "another-secret-value-123")
	text := strings.Repeat("+\tkey := strings.TrimSpace(tokenValue) // look up the secret by its name\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Redact(text)
	}
}
