package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var errGoneForTest = workspace.ErrGone

// newArena is a world at its beginning. The plan is what the model will do.
func newArena(seed uint64) *arena {
	r := rand.New(rand.NewPCG(seed, 1))
	a := &arena{
		r: r, log: &session.Memory{}, trusted: true, edited: map[string]bool{}, now: time.Unix(1_000_000, 0),
		trees: map[string]map[string]string{"base": {}},
		judge: judge{calls: map[string]string{}, edited: map[string]edited{}, published: "base"},
	}
	for i := range 3 * (1 + r.IntN(2)) {
		name, args := "run_terminal_command", map[string]string{"command": fmt.Sprint("rm -rf d", i)}
		switch r.IntN(6) {
		case 0:
			name, args = "write_file", map[string]string{"path": ".env", "content": fmt.Sprint(i)}
		case 1:
			args["command"] = "go test ./..."
		case 2:
			args["command"] = fmt.Sprintf("sh gen%d.sh", i)
		}
		raw, _ := json.Marshal(args) // strings only
		a.plan = append(a.plan, session.Call{Name: name, Arguments: raw})
	}
	return a
}

// engine is the real one, in the arena.
func (a *arena) engine(t testing.TB, rules *policy.Policy) *Agent {
	ag, err := New(Config{
		Model: a, Policy: rules, Tools: []tools.Tool{made{a, "run_terminal_command"}, made{a, "write_file"}}, Checkpoints: a,
		Approvals: Approvals{ApprovalFacts: a.facts, Confirm: a.confirm}, Now: func() time.Time { return a.now }, Limits: Limits{Deadline: time.Hour},
		Inbox: func(context.Context) error {
			if a.r.IntN(10) == 0 {
				a.disturb()
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ag
}

// work is one process: it starts on the last saved state and goes on until
// the session ends, parks or the process dies.
func (a *arena) work(t testing.TB, ag *Agent) {
	at := "base"
	all, err := a.log.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if c, err := session.Decode[session.Checkpoint](e); err == nil && e.Type == session.TypeCheckpoint {
			at = c.Commit
		}
	}
	a.ws = maps.Clone(a.trees[at])
	clear(a.judge.calls)
	a.crashIn = 0
	if a.r.IntN(3) == 0 {
		a.crashIn = 1 + a.r.IntN(8)
	}
	a.note("works")
	a.inside = true
	_, err = ag.Run(t.Context(), session.Task{Session: "s1", Text: "fix it", Mode: "code", Base: "base", Nonce: "n"}, a)
	a.inside = false
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatalf("run: %v\n%s", err, strings.Join(a.step, "\n"))
	}
}

// disturb changes the world at any moment, also between two calls of an
// answer.
func (a *arena) disturb() {
	what := []string{"push", "retarget", "under", "revoke", "restore", "restore", "edit", "deny", "replay", "answer", "instruct", "deadline", "verb"}[a.r.IntN(13)]
	if !a.judge.opened {
		return
	}
	a.note("%s", what)
	switch what {
	case "push":
		a.pushes++
	case "retarget":
		a.target = a.r.IntN(2)
	case "under":
		a.under = a.r.IntN(2)
	case "revoke":
		a.trusted = false
	case "restore":
		a.trusted = true
	case "edit":
		if a.comments > 0 {
			a.edited[fmt.Sprint("k", 1+a.r.IntN(a.comments))] = true
		}
	case "deny":
		a.answer("denied")
	case "answer":
		a.answer("approved")
	case "replay": // the same delivery once more, or an old one late
		if n := len(a.answers); n > 0 {
			a.say(a.answers[a.r.IntN(n)])
		}
	case "instruct":
		a.settleOpen("withdrawn", func(session.Asked) bool { return true })
		a.record(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "do something else"}))
	case "verb": // a mode's name alone
		a.settleOpen("withdrawn", func(session.Asked) bool { return true })
		a.record(session.NewEvent(session.TypeMessage, 0, session.Message{Mode: []string{"code", "code", "review"}[a.r.IntN(3)]}))
	case "deadline":
		a.now = a.now.Add(time.Duration(a.r.IntN(70)) * time.Minute)
		a.settleOpen("expired", func(q session.Asked) bool { return !a.now.Before(q.Deadline) })
	}
}

// answer is a person's word on one of the requests, most often one that is
// open. Only who may answers: who may not is turned away before the engine
// hears of it.
func (a *arena) answer(verdict policy.ApprovalState) {
	n := len(a.judge.asked)
	if n == 0 || !a.trusted {
		return
	}
	q := a.judge.asked[a.r.IntN(n)]
	for range 3 {
		if !q.yes && q.dead == "" {
			break
		}
		q = a.judge.asked[a.r.IntN(n)]
	}
	a.comments++
	word := session.Resolved{ID: q.ID, Verdict: verdict, By: "kim", ByID: 7, Key: fmt.Sprint("k", a.comments)}
	a.answers = append(a.answers, word)
	a.say(word)
}

func (a *arena) say(word session.Resolved) {
	a.note("%s is %s", word.ID, word.Verdict)
	a.record(session.NewEvent(session.TypeResolved, 0, word))
}

// settleOpen is what the bot records of requests that there was no answer.
func (a *arena) settleOpen(verdict policy.ApprovalState, which func(session.Asked) bool) {
	for _, q := range a.judge.asked {
		if !q.yes && q.dead == "" && which(q.Asked) {
			a.say(session.Resolved{ID: q.ID, Verdict: verdict})
		}
	}
}

// record is an append by somebody else than the engine.
func (a *arena) record(e *session.Event) {
	was := a.inside
	a.inside = false
	_ = a.Append(context.Background(), e) // a log in memory does not fail
	a.inside = was
}

// Ten thousand random orders of pushes, moves of the base, new targets, edits
// of comments and files, answers, rights taken and given, new instructions,
// deadlines, deaths of the process and replays, against the engine itself:
// nothing runs that is not exactly what somebody who may said yes to, once, and
// nothing ends before the model has answered the newest request.
func TestApprovalInterleavings(t *testing.T) {
	longtest.Leave(t)
	trials := 10_000 / raceFactor
	if !longtest.Long() {
		trials = min(trials, 1_500)
	}
	rules, err := policy.New(policy.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	executed, refused, wrong := 0, 0, 0
	for seed := range uint64(trials) {
		a := newArena(seed)
		ag := a.engine(t, rules)
		a.work(t, ag)
		for range 4 + a.r.IntN(8) {
			switch a.r.IntN(8) {
			case 0, 1, 2:
				a.answer("approved")
			case 3, 4, 5:
				a.work(t, ag)
			default:
				a.disturb()
			}
		}
		all, err := a.log.Events(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		found, err := session.Violations(all)
		if err != nil || len(found) > 0 {
			a.judge.fault("the log breaks the rule: %q, %v", found, err)
		}
		if early, err := session.EarlyEnds(all); err != nil || len(early) > 0 {
			a.judge.fault("ends that belong to no request: %q, %v", early, err)
		}
		executed += a.judge.executed
		refused += a.judge.refused
		if len(a.judge.wrong) > 0 {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d: %s\n%s", seed, strings.Join(a.judge.wrong, "\n"), strings.Join(a.step, "\n"))
			}
		}
	}
	t.Logf("interleavings: %d, executed %d, refused %d, wrong %d", trials, executed, refused, wrong)
	if executed < trials/4 || refused < trials/4 {
		t.Errorf("only %d actions ran and %d were refused: the interleavings show nothing", executed, refused)
	}
}
