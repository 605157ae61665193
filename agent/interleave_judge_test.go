package agent

import (
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
)

// judge knows what people were shown and what they said, from its own reading
// of what was recorded and of the world at that moment. It uses none of the
// engine's code: neither digests nor states of approvals.
type judge struct {
	opened    bool
	asked     []*asking
	calls     map[string]string // call → display that ran, not recorded yet
	free      int               // changing steps that nobody was asked about
	published string
	blobs     map[string]string // sensitive path → content that went through an approved edit

	executed, refused int
	wrong             []string
}

// asking is one request as a person saw it.
type asking struct {
	session.Asked
	world   string // when it was shown
	free    int
	yes     bool
	dead    string // why it counts no more
	comment string // that gave the yes
	used    int
}

func (j *judge) read(e session.Event, world string) {
	switch e.Type {
	case session.TypeOpened:
		j.opened = true
	case session.TypeAsked:
		a, _ := session.Decode[session.Asked](e)
		for _, old := range j.asked {
			if old.ID == a.ID {
				j.fault("the id %s is used twice", a.ID)
			}
		}
		j.asked = append(j.asked, &asking{Asked: a, world: world, free: j.free})
	case session.TypeResolved:
		r, _ := session.Decode[session.Resolved](e)
		j.hears(r)
	case session.TypeResult:
		r, _ := session.Decode[session.Result](e)
		j.ends(r)
	case session.TypeCheckpoint:
		c, _ := session.Decode[session.Checkpoint](e)
		for p, b := range c.Approved {
			j.blobs[p] = b
		}
		if !c.Parked {
			j.published = c.Commit
		}
	}
}

func (j *judge) hears(r session.Resolved) {
	for _, a := range j.asked {
		switch {
		case a.ID != r.ID || a.dead != "" || a.used > 0:
		case r.Verdict == "approved" && !a.yes:
			a.yes, a.comment = true, r.Key
		case r.Verdict != "approved":
			a.dead = string(r.Verdict)
			j.refused++
		}
	}
}

// ends takes a recorded result: the run that led to it counts now, those that
// a crash cut off were undone with their workspace.
func (j *judge) ends(r session.Result) {
	display, ran := j.calls[r.Call]
	if !ran || !r.OK {
		return
	}
	delete(j.calls, r.Call)
	if display == "" {
		j.free++
		return
	}
	j.executed++
	for _, a := range j.asked {
		if a.Call == r.Call && a.yes && a.dead == "" {
			if a.used++; a.used > 1 {
				j.fault("%s ran %d times under approval %s", r.Call, a.used, a.ID)
			}
		}
	}
}

// runs is called where something really happens.
func (j *judge) runs(a *arena, call, display string) {
	if display == "go test ./..." {
		j.calls[call] = ""
		return
	}
	j.calls[call] = display
	j.allowed(a, call, display)
}

// publishes looks at what goes to the branch: every sensitive path must have
// gone through an approved edit, or be what a request for the branch showed.
func (j *judge) publishes(a *arena, p Publication, tree, old map[string]string) {
	var held []string
	for _, path := range []string{".env", ".github/workflows/ci.yml"} {
		if tree[path] != old[path] && j.blobs[path] != tree[path] {
			held = append(held, path)
		}
	}
	if len(held) == 0 {
		return
	}
	j.executed++
	j.allowed(a, fmt.Sprint("p", p.Turn), shown(old, tree, held))
}

// allowed finds the yes that covers what happens at this moment.
func (j *judge) allowed(a *arena, call, display string) {
	var why []string
	ok := slices.ContainsFunc(j.asked, func(q *asking) bool {
		fault := ""
		switch {
		case q.Call != call:
			return false
		case q.Display != display:
			fault = fmt.Sprintf("showed %q", q.Display)
		case q.world != a.world():
			fault = fmt.Sprintf("was for %s, it is %s now", q.world, a.world())
		case q.free != j.free:
			fault = "is older than a step that nobody approved"
		case !q.yes:
			fault = "was not answered"
		case q.dead != "":
			fault = "is " + q.dead
		case q.used > 0:
			fault = "is used up"
		case !a.trusted:
			fault = "is by somebody without the right"
		case a.edited[q.comment]:
			fault = "is by a comment that was changed"
		}
		why = append(why, q.ID+" "+fault)
		return fault == ""
	})
	if !ok {
		j.fault("%s did %q without a yes: %v", call, display, why)
	}
}

func (j *judge) fault(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}
