package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// The list of findings names the commit that changed the lines, not the newest one.
func TestFixedInItsCommit(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	p := host(t, map[string]string{"a.go": before, "b.go": before})
	p.pull("work", map[string]string{"a.go": faulty})
	begin := p.head()
	p.post(two(4))
	p.push("work", map[string]string{"a.go": "// A is it.\n" + faulty})
	p.push("work", map[string]string{"a.go": "// A is it.\n" + mended})
	commit := p.head()
	p.push("work", map[string]string{"b.go": faulty})
	p.push("work", map[string]string{"b.go": mended})
	p.say(p.look()) // without a request's comment, so that the list is one of its own
	s := p.look()
	s.Asked = false
	p.say(s)
	want := fmt.Sprintf("fixed in [`%.7s`](%s/commit/%s)", commit, s.Home, commit)
	found := false
	for _, c := range p.gh.Thread(p.ref).Comments {
		found = found || strings.Contains(c.Body, want)
	}
	if !found {
		t.Errorf("no comment has %s: %+v", want, p.gh.Thread(p.ref).Comments)
	}
	for name, c := range map[string]struct {
		f    session.Finding
		from string
		want string
	}{
		"a commit that is gone":   {two(4), strings.Repeat("0", 40), ""},
		"the commit itself":       {two(4), s.commit(), ""},
		"a place that stays":      {two(1), begin, ""},
		"a place in another file": {session.Finding{Path: "b.go", Line: 4}, begin, "b"},
	} {
		rows := []row{{Finding: c.f, State: fixed}}
		p.must(s.history().fixedIn(t.Context(), rows, map[string]string{findingMark(c.f): c.from}))
		if (rows[0].Commit == "") != (c.want == "") || rows[0].Commit == commit {
			t.Errorf("%s: fixed in %q", name, rows[0].Commit)
		}
	}
}

// TestGoneWithoutAThread: a fault of which the list alone tells, because its line is not in the
// diff, is fixed once its code is gone. Made again in other words, it has one row.
func TestGoneWithoutAThread(t *testing.T) {
	t.Parallel()
	p := host(t, map[string]string{"a.go": faulty, "b.go": before})
	p.pull("work", map[string]string{"b.go": faulty})
	again := two(4)
	again.Claim = "A pair is wanted by nobody."
	p.post(two(4))
	p.push("work", map[string]string{"b.go": mended})
	p.post(again)
	list := func() string {
		s := p.look()
		s.Asked = false
		p.say(s)
		comments := p.gh.Thread(p.ref).Comments
		return comments[len(comments)-1].Body
	}
	if got := list(); !strings.Contains(got, ": 1 open\n") || strings.Contains(got, "pair") {
		t.Errorf("the list is %s", got)
	}
	p.push("work", map[string]string{"a.go": mended})
	if got := list(); !strings.Contains(got, ": 1 fixed\n") || strings.Contains(got, "pair") {
		t.Errorf("the list is %s", got)
	}
}
