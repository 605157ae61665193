package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
)

// What cannot be kept is named when it comes, not again while it stays, and the
// list is empty when it has gone.
func TestLeftOutIsNamedOnce(t *testing.T) {
	r := &callRunner{journal: &journal{history: newHistory(nil)}}
	sock, pipe := session.LeftOut{Path: "a\u202e\nb", Why: "a socket"}, session.LeftOut{Path: "p", Why: "a named pipe"}
	var many []session.LeftOut
	for i := range 3 * maxLeftOut {
		many = append(many, session.LeftOut{Path: fmt.Sprint(i), Why: "a device"})
	}
	for i, tt := range []struct {
		found []session.LeftOut
		named []string
		kept  int // -1: the event does not speak of it
	}{
		{nil, nil, -1},
		{[]session.LeftOut{sock}, []string{`- a\u202e\nb: a socket`}, 1},
		{[]session.LeftOut{sock}, nil, 1},
		{[]session.LeftOut{sock, pipe}, []string{"- p: a named pipe"}, 2},
		{nil, nil, 0},
		{nil, nil, -1},
		{many, []string{"- 0: a device", "40 more"}, maxLeftOut + 1},
	} {
		out := session.Result{Call: "c", Content: "ok"}
		r.nameLeftOut(&out, tt.found)
		if out.LeftOut == nil && tt.kept != -1 || out.LeftOut != nil && len(out.LeftOut) != tt.kept {
			t.Errorf("step %d: the event has %v", i, out.LeftOut)
		}
		if len(tt.named) == 0 && out.Content != "ok" {
			t.Errorf("step %d: the model is told %q", i, out.Content)
		}
		for _, want := range tt.named {
			if !strings.Contains(out.Content, want) {
				t.Errorf("step %d: the model is told %q, want %q", i, out.Content, want)
			}
		}
		e := session.NewEvent(session.TypeResult, 1, out) // as it is stored and read again
		if err := r.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
}

// Content that went with a workspace is still named at the end, although the next workspace does not
// have it, unless it was made again. The model is told once that it is gone.
func TestGoneIsNamed(t *testing.T) {
	key, pipe := session.LeftOut{Path: "key.txt", Why: "encrypted"}, session.LeftOut{Path: "p", Why: "a named pipe"}
	r := &callRunner{journal: &journal{history: newHistory(nil)}}
	step := func(found []session.LeftOut, told string, want ...string) {
		t.Helper()
		out := session.Result{Call: "c", Content: "ok"}
		r.nameLeftOut(&out, found)
		var got []string
		for _, l := range out.LeftOut {
			got = append(got, l.Path+": "+l.Why)
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") || !strings.Contains(out.Content, told) || told == "" && out.Content != "ok" {
			t.Errorf("the list is %q, want %q; the model is told %q", got, want, out.Content)
		}
		if err := r.Apply(*session.NewEvent(session.TypeResult, 1, out)); err != nil {
			t.Fatal(err)
		}
	}
	step([]session.LeftOut{key, pipe}, "gone when the workspace closes", "key.txt: encrypted", "p: a named pipe")
	r = &callRunner{journal: r.journal}
	const gone = "; it went with an earlier workspace"
	step(nil, "This is not there any more:\n- key.txt: encrypted"+gone, "key.txt: encrypted"+gone, "p: a named pipe"+gone)
	step(nil, "", "key.txt: encrypted"+gone, "p: a named pipe"+gone)
	step([]session.LeftOut{pipe}, "- p: a named pipe", "p: a named pipe", "key.txt: encrypted"+gone)
	r = &callRunner{journal: r.journal}
	r.Files = []session.FileChange{{Path: "key.txt"}}
	step(nil, "p: a named pipe"+gone, "p: a named pipe"+gone)
	if strayDoubt([]session.LeftOut{{Path: "refs/heads/x", Why: "a branch" + gone}}) != "" {
		t.Error("an end is doubted for a branch that is gone")
	}
}
