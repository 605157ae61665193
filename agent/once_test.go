package agent

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// failingSaves cannot save a number of times.
type failingSaves struct {
	*states
	fails int
}

var errNoSave = errors.New("cannot be saved")

func (s *failingSaves) Save(ctx context.Context, turn int, keep bool) (Saved, error) {
	if s.fails > 0 {
		s.fails--
		return Saved{}, errNoSave
	}
	return s.states.Save(ctx, turn, keep)
}

// What ran under an approval does not run again under it when the save after it
// fails, however often the session is tried again.
func TestFailedSave(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true, optional: true}
`, map[string]string{"a.txt": "a\n", "build/x": "1\n"})
	saves := &failingSaves{b.states, 5}
	b.cfg.Checkpoints = saves
	b.must(session.StatusAwaitingApproval)
	b.answer("approved", "")
	for range 8 {
		if _, err := b.run(t.Context()); err != nil && !errors.Is(err, errNoSave) {
			t.Fatal(err)
		}
	}
	if saves.fails == 5 {
		t.Fatal("it was never saved")
	}
	asked, begun := events[session.Asked](b, session.TypeAsked), events[session.Started](b, session.TypeStarted)
	if len(begun) != 1 {
		t.Errorf("one yes, and it ran %d times", len(begun))
	}
	for _, a := range asked[1:] {
		if a.ID == asked[0].ID || !strings.Contains(strings.Join(a.Reasons, "\n"), "it began to run under its approval, and was cut off") {
			t.Errorf("asked again as %+v", a)
		}
	}
}

// A file that was approved and then moved away is a deletion, which nobody
// approved; so is a copy of the approved text over another file.
func TestMovedAway(t *testing.T) {
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		command string
		asks    bool
	}{
		"stays":          {"true", false},
		"moved":          {"mv CODEOWNERS notes.txt", true},
		"deleted":        {"rm CODEOWNERS", true},
		"swapped":        {"echo '* @evil' > CODEOWNERS", true},
		"over another":   {"cp CODEOWNERS .env", true},
		"away and back":  {"mv CODEOWNERS x && mv x CODEOWNERS", false},
		"link of a name": {"mkdir -p docs && mv CODEOWNERS docs/CODEOWNERS", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, head+`
- calls: [{name: write_file, arguments: {path: CODEOWNERS, content: "* @team\n* @other\n* @third\n"}}, {name: run_terminal_command, arguments: {command: sh gen.sh}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true, optional: true}
`, map[string]string{"gen.sh": tt.command + "\n", "CODEOWNERS": "* @team\n"})
			b.must(session.StatusAwaitingApproval)
			b.answer("approved", "")
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked := events[session.Asked](b, session.TypeAsked)
			if last := asked[len(asked)-1]; (last.Tool == session.PublishTool) != tt.asks {
				t.Errorf("asked for %s last, want a request for the branch: %t; the branch has %q", last.Tool, tt.asks, b.states.published())
			}
			if tt.asks && len(b.states.out) > 0 {
				t.Errorf("the branch has %q", b.states.published())
			}
		})
	}
}

var idForm = regexp.MustCompile(`^[a-z2-7]{8}$`)

// Ids of requests are random: two sessions that are alike in everything have
// others.
func TestApprovalIDs(t *testing.T) {
	longtest.Leave(t)
	seen := map[string]bool{}
	for range 20 {
		b := newBench(t, head+"\n- calls: [{name: run_terminal_command, arguments: {command: rm -rf old}}]\n", map[string]string{"old/x": "1\n"})
		b.must(session.StatusAwaitingApproval)
		id := events[session.Asked](b, session.TypeAsked)[0].ID
		if !idForm.MatchString(id) || seen[id] {
			t.Errorf("id %q, seen before: %t", id, seen[id])
		}
		seen[id] = true
	}
}

// An approved edit is looked at once more where it goes to the branch: who said
// yes may have lost the right, or somebody pushed since it was made.
func TestEditIsLookedAtAgainAtTheDoor(t *testing.T) {
	for name, change := range map[string]func(o *outside){
		"nothing":   func(*outside) {},
		"the right": func(o *outside) { o.why = "kim has left" },
		"a push":    func(o *outside) { o.facts = []session.Fact{{Name: "push by somebody else", Value: "c1"}} },
	} {
		t.Run(name, func(t *testing.T) {
			o := &outside{facts: []session.Fact{{Name: "push by somebody else"}}}
			b := newBench(t, head+`
- calls: [{name: write_file, arguments: {path: .env, content: "A=1\n"}}]
- {say: "Done. [TASK_COMPLETE]", repeat: true, optional: true}
`, map[string]string{".env": "A=0\n"})
			o.bind(b)
			b.must(session.StatusAwaitingApproval)
			b.answer("approved", "")
			b.cfg.OnEvent = func(e session.Event) {
				if e.Type == session.TypeResult {
					change(o)
				}
			}
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked := events[session.Asked](b, session.TypeAsked)
			if again := asked[len(asked)-1].Tool == session.PublishTool; again != (name != "nothing") || again == (len(b.states.out) > 0) {
				t.Errorf("asked %d times, last for %s; published %d times", len(asked), asked[len(asked)-1].Tool, len(b.states.out))
			}
		})
	}
}

// Edits of one file that lead back to what an earlier one made are all approved:
// the way back to what was there ends, and it goes out.
func TestEditsInACircle(t *testing.T) {
	o := &outside{facts: []session.Fact{{Name: "push by somebody else"}}}
	b := newBench(t, head+`
- calls:
  - {name: write_file, arguments: {path: .env, content: "A=1\n"}}
  - {name: write_file, arguments: {path: .env, content: "A=2\n"}}
  - {name: write_file, arguments: {path: .env, content: "A=1\n"}}
- {say: "Done. [TASK_COMPLETE]", repeat: true, optional: true}
`, map[string]string{".env": "A=0\n"})
	o.bind(b)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for range 9 {
		out, err := b.run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if out.Status != session.StatusAwaitingApproval {
			break
		}
		settled := map[string]bool{}
		for _, r := range events[session.Resolved](b, session.TypeResolved) {
			settled[r.ID] = true
		}
		for _, a := range events[session.Asked](b, session.TypeAsked) {
			if !settled[a.ID] {
				b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "kim"}))
				break
			}
		}
	}
	var tools []string
	for _, a := range events[session.Asked](b, session.TypeAsked) {
		tools = append(tools, a.Tool)
	}
	if slices.Contains(tools, session.PublishTool) || len(b.states.out) != 1 || o.asked > 20 {
		t.Errorf("asked for %q, published %d times, looked again %d times", tools, len(b.states.out), o.asked)
	}
}
