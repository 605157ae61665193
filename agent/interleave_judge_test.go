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
	edit      *edited           // by the call that runs
	edited    map[string]edited // sensitive path → what approved edits made of it since it was published

	executed, refused int
	wrong             []string
}

// edited is a content that became another one.
type edited struct{ path, from, to string }

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

func (j *judge) read(e session.Event, a *arena) {
	switch e.Type {
	case session.TypeOpened:
		j.opened = true
	case session.TypeAsked:
		q, _ := session.Decode[session.Asked](e)
		for _, old := range j.asked {
			if old.ID == q.ID {
				j.fault("the id %s is used twice", q.ID)
			}
		}
		j.asked = append(j.asked, &asking{Asked: q, world: a.world(), free: j.free})
	case session.TypeResolved:
		r, _ := session.Decode[session.Resolved](e)
		j.hears(r)
	case session.TypeResult:
		r, _ := session.Decode[session.Result](e)
		j.ends(r)
	case session.TypeCheckpoint:
		c, _ := session.Decode[session.Checkpoint](e)
		for path, e := range j.edited {
			if a.trees[c.Commit][path] != e.to {
				delete(j.edited, path)
			}
		}
		if c.Parked {
			return
		}
		clear(j.edited)
		j.published = c.Commit
		for _, q := range j.asked {
			if q.Tool == session.PublishTool && q.yes && q.dead == "" {
				q.used++
			}
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

// ends takes a recorded result: what it made of a file counts now. What a crash
// cut off was undone with its workspace, but its approval is used up.
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
	if e := j.edit; e != nil {
		if before, ok := j.edited[e.path]; ok && before.to == e.from {
			e.from = before.from
		}
		j.edited[e.path] = *e
	}
}

// edits notes what the running call makes of a file.
func (j *judge) edits(path, from, to string) { j.edit = &edited{path, from, to} }

// runs is called where something really happens.
func (j *judge) runs(a *arena, call, display string) {
	if display == "go test ./..." {
		j.calls[call] = ""
		return
	}
	j.calls[call] = display
	if q := j.allowed(a, call, display); q != nil {
		q.used++
	}
}

// publishes looks at what goes to the branch: every sensitive path must have
// gone through an approved edit, or be what a request for the branch showed.
func (j *judge) publishes(a *arena, p Publication, tree, old map[string]string) {
	var held, all []string // a request may show more than it must: an edit whose approval stopped counting
	for _, path := range []string{".env", ".github/workflows/ci.yml"} {
		if e := j.edited[path]; tree[path] != old[path] && (e.to != tree[path] || e.from != old[path]) {
			held = append(held, path)
		}
		if tree[path] != old[path] {
			all = append(all, path)
		}
	}
	if len(held) == 0 {
		return
	}
	j.executed++
	j.allowed(a, fmt.Sprint("p", p.Turn), shown(old, tree, held), shown(old, tree, all))
}

// allowed finds the yes that covers what happens at this moment.
func (j *judge) allowed(a *arena, call string, displays ...string) *asking {
	var why []string
	i := slices.IndexFunc(j.asked, func(q *asking) bool {
		fault := ""
		switch {
		case q.Call != call:
			return false
		case !slices.Contains(displays, q.Display):
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
	if i < 0 {
		j.fault("%s did %q without a yes: %v", call, displays, why)
		return nil
	}
	return j.asked[i]
}

func (j *judge) fault(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}
