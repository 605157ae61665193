package review

import (
	"testing"
)

func TestAnswersNo(t *testing.T) {
	for _, text := range []string{"no", "No.", "**No**", "no, that is checked above", "Nope", "won't fix", "Won’t fix: too rare", "wontfix", "as intended", "This is as intended.", "works as intended",
		"leave it", "Leave it as it is please", "please leave this as is", "by design", "It's by design.", "false positive", "not a bug", "This is not a problem here", "I disagree", "👎", "> The last item is lost.\n\nNo, see line 3.",
		"It's intentional", "No - items is never empty", "we won't fix this"} {
		if isNo, said := answersNo(text); !isNo || !said {
			t.Errorf("%q is no no", text)
		}
	}
	for text, want := range map[string]bool{"yes": true, "Good catch, fixed": true, "You're right.": true, "ok": true, "fixed in abc": true, "No problem, will fix": true,
		"": false, "No idea.": false, "no. idea how it works": false, "Which input do you mean?": false, "> no\n\nWhich?": false, "Nothing checks this.": false, "no tests cover this, indeed": false,
		"Is it not a bug?": false, "November": false, "Intention?": false, "I wrote no.": false} {
		if isNo, said := answersNo(text); isNo || said != want {
			t.Errorf("%q: no %v, said %v, want %v", text, isNo, said, want)
		}
	}
}

func TestGone(t *testing.T) {
	const hunk = "@@ -1,3 +1,4 @@\n package a\n-old := 1\n+n := 1\n+m := 2"
	for name, c := range map[string]struct {
		hunk  string
		n     int
		files []string
		want  bool
	}{
		"there":                      {hunk, 1, []string{"package a\nm := 2\n"}, false},
		"set in otherwise":           {hunk, 1, []string{"\t\tm := 2\r\n"}, false},
		"changed":                    {hunk, 1, []string{"m := 3\n"}, true},
		"one of two":                 {hunk, 2, []string{"m := 2\n"}, true},
		"apart":                      {hunk, 2, []string{"n := 1\n\nm := 2\n"}, true},
		"both":                       {hunk, 2, []string{"x\nn := 1\nm := 2"}, false},
		"in another file":            {hunk, 1, []string{"x", "m := 2"}, false},
		"no file":                    {hunk, 1, nil, true},
		"brackets":                   {"@@ -1 +1 @@\n+\t})", 1, []string{""}, false},
		"a hunk that is shorter":     {hunk, 9, []string{""}, false},
		"no hunk":                    {"", 1, nil, false},
		"a line that looks removed":  {"@@ -1 +1 @@\n+-- x\n+--y", 1, []string{"--y"}, false},
		"with no newline at the end": {"@@ -1 +1 @@\n+y = 1\n\\ No newline at end of file", 1, []string{"y = 1"}, false},
	} {
		if got := gone(c.hunk, c.n, c.files); got != c.want {
			t.Errorf("%s: gone %v, want %v", name, got, c.want)
		}
	}
}
