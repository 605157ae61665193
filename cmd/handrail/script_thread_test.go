package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

// headline is a thread in one line.
func headline(t ghtest.Thread) string {
	state := t.State
	if t.Pull == nil {
		return fmt.Sprintf("#%d %s (%s, by %s)", t.Ref.Number, t.Title, state, t.Author)
	}
	if t.Pull.Merged {
		state = "merged"
	}
	if t.Pull.Draft {
		state += ", draft"
	}
	return fmt.Sprintf("#%d %s (%s, by %s, from %s into %s)", t.Ref.Number, t.Title, state, t.Author, t.Pull.HeadRef, t.Pull.BaseRef)
}

// page is a thread as its reader sees it.
func page(t ghtest.Thread, checks []ghcheck.Check) string {
	var b strings.Builder
	fmt.Fprintln(&b, headline(t))
	list := func(name string, words []string) {
		if len(words) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(words, ", "))
		}
	}
	list("labels", t.Labels)
	list("assigned", t.Assignees)
	list("reactions", reacted(t.Reactions))
	if t.Pull != nil {
		list("asked to review", slices.Concat(t.Pull.Reviewers, t.Pull.Teams))
	}
	indented(&b, t.Body)
	for i, c := range t.Comments {
		fmt.Fprintf(&b, "\ncomment %d by %s\n", i+1, c.Author)
		list("reactions", reacted(c.Reactions))
		indented(&b, c.Body)
	}
	if t.Pull == nil {
		return b.String()
	}
	for _, r := range t.Pull.Reviews {
		fmt.Fprintf(&b, "\nreview by %s: %s\n", r.Author, strings.ToLower(r.State))
		indented(&b, r.Body)
	}
	for _, c := range t.Pull.Comments {
		resolved := map[bool]string{true: " (resolved)"}[c.Resolved]
		fmt.Fprintf(&b, "\nby %s on %s:%d%s\n", c.Author, c.Path, c.Line, resolved)
		indented(&b, c.Body)
	}
	for _, c := range checks {
		if c.SHA == t.Pull.HeadSHA {
			fmt.Fprintf(&b, "\ncheck %s: %s %s\n", c.Name, c.Status, c.Conclusion)
			if c.Annotations > 0 {
				fmt.Fprintf(&b, "    with %d annotations\n", c.Annotations)
			}
			indented(&b, c.Title)
		}
	}
	return b.String()
}

func reacted(list []ghtest.Reaction) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.Content+" by "+r.Author)
	}
	return out
}

func indented(b *strings.Builder, text string) {
	text = visible(text)
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			fmt.Fprintln(b)
			continue
		}
		fmt.Fprintln(b, "   ", line)
	}
}

// names gives what is different in every run a name that is the same in every
// run: A1 is the first approval that is asked for, C1 the first commit, S1
// the first session.
type names struct {
	github string // its address
	given  []name // in the order of their appearance
}

type name struct{ real, short string }

func newNames(github string) *names { return &names{github: github} }

var (
	// named is what a thread shows first of an approval, a commit, a session.
	named = map[string]*regexp.Regexp{
		"A": regexp.MustCompile("(?:Approval|Waiting for your approval:) `([a-z0-9]+)`"),
		"C": regexp.MustCompile(`\b([0-9a-f]{40})\b`),
		"Q": regexp.MustCompile("(?:Question|Waiting for your answer:) `([a-z0-9]+)`"),
		"S": regexp.MustCompile(`Session: (s[a-z2-7]{12})\b`),
	}
	digests   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	instants  = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?`)
	durations = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|s|m|h))+\b`)
	shortName = regexp.MustCompile(`\b[ACQS][0-9]+\b`)
)

// stable replaces what is different in every run.
func (n *names) stable(text string) string {
	text = strings.ReplaceAll(text, n.github, "https://github.test")
	text = digests.ReplaceAllString(text, "DIGEST")
	for kind, re := range named {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			n.give(kind, m[1])
		}
	}
	for _, g := range n.given {
		text = strings.ReplaceAll(text, g.real, g.short)
		if g.short[0] == 'C' {
			text = strings.ReplaceAll(text, g.real[:7], g.short)
		}
	}
	text = instants.ReplaceAllString(text, "TIME")
	return durations.ReplaceAllString(text, "DURATION")
}

func (n *names) give(kind, actual string) {
	count := 1
	for _, g := range n.given {
		if g.real == actual {
			return
		}
		if g.short[:1] == kind {
			count++
		}
	}
	n.given = append(n.given, name{actual, fmt.Sprint(kind, count)})
}

// real puts the real ones back into what a person writes.
func (n *names) real(text string) string {
	return shortName.ReplaceAllStringFunc(text, func(short string) string {
		for _, g := range n.given {
			if g.short == short {
				return g.real
			}
		}
		return short
	})
}

// What a story prints of a thread is the same in every run, and a name of an
// approval in a comment stands for the approval.
func TestNamesInStories(t *testing.T) {
	t.Parallel()
	run := func(approval, commit, digest, port, took string) (*names, string) {
		n := newNames("http://127.0.0.1:" + port)
		return n, n.stable("Waiting for your approval: `" + approval + "`\nApproval `" + approval + "`: sha256 `" + digest + "` until 2026-11-25 10:01 UTC, after " + took +
			"\n[`" + commit[:7] + "`](http://127.0.0.1:" + port + "/team/app/commit/" + commit + ")")
	}
	n, one := run("37ea9f", strings.Repeat("a1", 20), strings.Repeat("0", 64), "4001", "1.2s")
	_, other := run("zz20", strings.Repeat("b2", 20), strings.Repeat("f", 64), "5002", "340ms")
	want := "Waiting for your approval: `A1`\nApproval `A1`: sha256 `DIGEST` until TIME, after DURATION\n[`C1`](https://github.test/team/app/commit/C1)"
	if one != want || other != want {
		t.Errorf("got\n%s\nand\n%s\nwant\n%s", one, other, want)
	}
	if got := n.real("/agent approve A1, not A2"); got != "/agent approve 37ea9f, not A2" {
		t.Errorf("written %q", got)
	}
}
