package render

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// A long answer is shown whole, in numbered comments that GitHub takes, and the other
// comments say where it stands instead of a part of it.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
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
		for _, other := range []string{posted(Progress(s, Links{})), CheckSummary(s, "")} {
			if !strings.Contains(other, "comments of its own") || strings.Contains(other, "w0") {
				t.Errorf("%s: another comment says\n%.300s", name, other)
			}
		}
		if body := PullBody(s, "", Origin{Number: 12}); !strings.Contains(body, "w0") || !strings.Contains(body, "in #12") || len(body) > 3*maxInline {
			t.Errorf("%s: the pull request says\n%.300s", name, body)
		}
	}
}

// What even many comments do not hold is counted, and the text says how to ask for it.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	s := &session.State{Outcome: &session.Outcome{Summary: strings.Repeat("Some words of an answer.\n\n", 30_000)}}
	parts := Answer(s)
	if last := parts[len(parts)-1]; len(parts) != maxParts || !strings.Contains(last, "characters are missing") || !strings.Contains(last, "`/agent …`") {
		t.Errorf("%d comments, the last ends %q", len(parts), last[max(0, len(last)-300):])
	}
	if parts := Answer(&session.State{Outcome: &session.Outcome{Summary: "Short."}}); parts != nil {
		t.Errorf("a short answer has comments of its own: %q", parts)
	}
}

// A plan or a question that is too long for one comment is told whole in those before
// the one that asks, which alone has the id and says how to answer.
func TestLongPlan(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	word := regexp.MustCompile(`w\d+`)
	for _, kind := range []session.AskKind{session.AskPlan, session.AskQuestion} {
		for _, test := range []struct{ times, parts int }{{500, 0}, {900, 1}, {1600, 2}} {
			var b strings.Builder
			for i := range test.times {
				fmt.Fprintf(&b, "## Step %d\n\nMend `w%d`, and ask @team what it is for.\n\n", i, i)
			}
			a := session.Asked{ID: "ab12cd", Kind: kind, Digest: strings.Repeat("d", 64), Display: b.String(), Choices: []string{"yes", "no"}, Reasons: []string{"it is asked again"}}
			q := Request{Request: &session.Request{Asked: a, Approval: policy.OpenApproval(a.ID, a.Digest, a.Deadline)}}
			parts, asks := Before(q), posted(Requests([]Request{q}, "kim"))
			if len(parts) != test.parts || TooLongToShow(a) {
				t.Errorf("%s of %d steps: %d comments before, too long: %t", kind, test.times, len(parts), TooLongToShow(a))
			}
			whole := ""
			for i, p := range parts {
				whole += p.Text
				if utf8.RuneCountInString(posted(p)) > maxBody || strings.Contains(posted(p), a.ID) {
					t.Errorf("%s: part %d has %d characters, or the id", kind, i+1, len(posted(p)))
				}
			}
			if len(parts) == 0 {
				whole = asks
			} else if strings.Contains(asks, "w1") {
				t.Errorf("%s: the comment that asks begins %.200q", kind, asks)
			}
			if got := len(word.FindAllString(whole, -1)); got != test.times {
				t.Errorf("%s: %d of %d steps are shown", kind, got, test.times)
			}
			if utf8.RuneCountInString(asks) > maxBody || !strings.Contains(asks, a.ID) || strings.Contains(whole, "cut here") {
				t.Errorf("%s: what asks is %d characters:\n%.200s", kind, len(asks), asks)
			}
			q.Approval.State, q.Answer = policy.Approved, &session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "sam"}
			for _, p := range Before(q) {
				if strings.TrimSpace(p.Text) != "" || len(p.Folds) != 1 || utf8.RuneCountInString(posted(p)) > maxBody {
					t.Errorf("%s: what is settled is not folded: %.100q", kind, p.Text)
				}
			}
		}
	}
}
