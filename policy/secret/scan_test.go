package secret

import (
	"encoding/base64"
	"runtime"
	"slices"
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
	for _, one := range s.rules { // no text may find one that does not compile
		if one.regex() == nil || one.id == "" || one.text == "" {
			t.Errorf("rule with the keywords %q: %+v", one.keywords, one)
		}
		one.exempt()
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
		"known encoded":     {strings.ToUpper("x") + "\nz " + base64.StdEncoding.EncodeToString([]byte(canary)), []int{2}},
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

// TestRules: exceptions hold by all or by one of their conditions, and a condition that is
// unknown here is an error.
func TestRules(t *testing.T) {
	const file = `
[allowlist]
stopwords = ["SAMPLE"]
[[rules]]
id = "r"
description = "d"
regex = '''key=(\w+)'''
entropy = 1
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ['''^#''', '''^//''']
stopwords = ["demo"]
[[rules.allowlists]]
condition = "AND"
paths = ['''a''']
regexes = ['''key''']
[[rules.allowlists]]
regexTarget = "match"
regexes = ['''key=x''']
`
	rules, exempt, err := readRules(file)
	if err != nil || len(rules) != 1 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	s := &Scanner{rules: rules, exempt: exempt, redactor: NewRedactor()}
	for text, found := range map[string]int{
		"key=abcdef": 1, "# key=abcdef": 1, "# key=Demodef": 0, "key=demodef": 1, "key=xbcdef": 0, "key=sampled": 0, "key=aaaa": 0,
	} {
		if got := s.ScanDiff(text); len(got) != found {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if _, _, err := readRules(file + "onlyOnSundays = true\n"); err == nil {
		t.Error("an unknown condition is ignored")
	}
}

// BenchmarkNewScanner makes a scanner and reads a text of four keywords, or compiles every
// rule; live-MiB is the memory that the scanner keeps.
func BenchmarkNewScanner(b *testing.B) {
	for _, every := range []bool{false, true} {
		b.Run(map[bool]string{false: "text", true: "every"}[every], func(b *testing.B) {
			var before, after runtime.MemStats
			var kept *Scanner
			for b.Loop() {
				kept = nil
				runtime.GC()
				runtime.ReadMemStats(&before)
				s, err := NewScanner()
				if err != nil {
					b.Fatal(err)
				}
				s.ScanDiff("key, token, secret, password := read()\n")
				for _, one := range s.rules {
					if !every {
						break
					}
					one.regex()
					one.exempt()
				}
				kept = s
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/(1<<20), "live-MiB")
			runtime.KeepAlive(kept)
		})
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

func TestScannerRedact(t *testing.T) {
	s, err := NewScanner(canary)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ in, want string }{
		"nothing":     {"a := 1\n", "a := 1\n"},
		"generic key": {"+api_key = \"8f3kd92ls0alq7xmv5nb1zt6\"\n+b\n", "+api_key = \"" + Redacted + "\"\n+b\n"},
		"known":       {"x " + canary.Reveal() + " y", "x " + Redacted + " y"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Redact(c.in)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if again := s.Redact(got); again != got {
				t.Errorf("a second time gives %q", again)
			}
		})
	}
}

func TestAddedLines(t *testing.T) {
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9 +10,2 @@ func\n-z\n+++ y\n+\n\\ No newline at end of file\ndiff --git a/y b/y\n+++ b/y\n@@ -0,0 +1 @@\n+q\n"
	added, lines := AddedLines(diff)
	if added != "b\n++ y\n\nq\n" {
		t.Errorf("added %q", added)
	}
	if want := []int{2, 10, 11, 1}; !slices.Equal(lines, want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}
