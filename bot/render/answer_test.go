package render

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// A long answer is shown whole, in numbered comments that GitHub takes, and the other
// comments say where it stands instead of a part of it.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	word := regexp.MustCompile(`w\d+`)
	for name, test := range map[string]struct {
		block string
		times int
		parts int
	}{
		"sections": {"## About wN\n\nIt says `wN` to **wN**, and nothing else to anybody.\n\n", 1200, 2},
		"a table":  {"| wN | does wN for the people who read the table |\n", 1600, 2},
		"mentions": {"@wN did it, and so on.\n\n", 2600, 2},
		"fits":     {"A line of wN.\n\n", 1600, 1},
	} {
		var b strings.Builder
		for i := range test.times {
			b.WriteString(strings.ReplaceAll(test.block, "N", fmt.Sprint(i)))
		}
		text := b.String()
		if name == "a table" {
			text = "| a | b |\n|---|---|\n" + text
		}
		s := &session.State{Outcome: &session.Outcome{Status: session.StatusDone, Summary: text}}
		parts := Answer(s)
		if len(parts) != test.parts {
			t.Errorf("%s: %d comments", name, len(parts))
		}
		var shown strings.Builder
		for i, p := range parts {
			if n := utf8.RuneCountInString(p); n > maxBody || clean(p) != p {
				t.Errorf("%s: part %d has %d characters, and is safe: %t", name, i+1, n, clean(p) == p)
			}
			if n := fmt.Sprintf("**Answer, %d of %d**", i+1, len(parts)); len(parts) > 1 && !strings.HasPrefix(p, n) {
				t.Errorf("%s: part %d begins %.60q", name, i+1, p)
			}
			shown.WriteString(j.Show(t, p)[0].Visible + "\n")
		}
		want, got := word.FindAllString(text, -1), word.FindAllString(shown.String(), -1)
		if strings.Join(want, " ") != strings.Join(got, " ") {
			t.Errorf("%s: %d words became %d", name, len(want), len(got))
		}
		for _, other := range []string{posted(Progress(s, Links{})), Ending(s, "", 0, ""), CheckSummary(s, "")} {
			if !strings.Contains(other, "comments of its own") || strings.Contains(other, "w0") {
				t.Errorf("%s: another comment says\n%.300s", name, other)
			}
		}
		if body := PullBody(s, "", Origin{Number: 12}); !strings.Contains(body, "w0") || !strings.Contains(body, "in #12") || len(body) > 3*mostInline {
			t.Errorf("%s: the pull request says\n%.300s", name, body)
		}
	}
}

// What even many comments do not hold is counted, and the text says how to ask for it.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	s := &session.State{Outcome: &session.Outcome{Summary: strings.Repeat("Some words of an answer.\n\n", 30_000)}}
	parts := Answer(s)
	if last := parts[len(parts)-1]; len(parts) != mostParts || !strings.Contains(last, "characters are missing") || !strings.Contains(last, "`/agent …`") {
		t.Errorf("%d comments, the last ends %q", len(parts), last[max(0, len(last)-300):])
	}
	if parts := Answer(&session.State{Outcome: &session.Outcome{Summary: "Short."}}); parts != nil {
		t.Errorf("a short answer has comments of its own: %q", parts)
	}
}
