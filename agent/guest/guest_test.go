package guest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/acp"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object is a JSON object.
type object = map[string]any

// stub is an agent in this process. Its turns are functions.
type stub struct {
	mu      sync.Mutex
	out     *json.Encoder // of the newest process
	session object        // besides its id
	options []object
	turns   []func(s *stub, text string) (reason string)
	texts   []string
	answers chan string // to its requests: an option's id, or "cancelled"
	cancels chan struct{}
	starts  int
	far     net.Conn // its end of the newest process
}

// start is a [Config.Start].
func (s *stub) start(context.Context, workspace.Program) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	s.starts++
	out := json.NewEncoder(far)
	s.mu.Lock()
	s.out, s.far = out, far
	s.mu.Unlock()
	in := bufio.NewReader(far)
	go func() {
		defer far.Close()
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				s.release()
				return
			}
			s.handle(out, line)
		}
	}()
	return near, nil
}

// release lets a turn that waits end.
func (s *stub) release() {
	select {
	case s.answers <- "gone":
	default:
	}
	select {
	case s.cancels <- struct{}{}:
	default:
	}
}

// kill ends its process, while no answer is awaited.
func (s *stub) kill(g *Guest) {
	s.far.Close()
	<-g.at.conn.Gone()
}

func (s *stub) send(m object) {
	s.mu.Lock()
	out := s.out
	s.mu.Unlock()
	sendTo(out, m)
}

func sendTo(out *json.Encoder, m object) {
	m["jsonrpc"] = "2.0"
	_ = out.Encode(m) // the client may be gone
}

func (s *stub) update(u object) {
	s.send(object{"method": "session/update", "params": object{"sessionId": "s", "update": u}})
}

// ask asks for permission and returns the answer.
func (s *stub) ask(call object, options ...object) string {
	if options == nil {
		options = []object{
			{"optionId": "always", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"},
		}
	}
	s.send(object{"id": 7, "method": "session/request_permission", "params": object{"sessionId": "s", "toolCall": call, "options": options}})
	return <-s.answers
}

// handle handles a message to the process that writes to out.
func (s *stub) handle(out *json.Encoder, line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Prompt []struct{ Text string }
			Value  string
		}
		Result struct {
			Outcome struct{ Outcome, OptionID string }
		}
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Method {
	case "":
		o := m.Result.Outcome
		if o.Outcome == "selected" {
			o.Outcome = o.OptionID
		}
		s.answers <- o.Outcome
	case "initialize":
		sendTo(out, object{"id": m.ID, "result": object{"protocolVersion": 1}})
	case "session/new":
		made := object{"sessionId": "s"}
		for k, v := range s.session {
			made[k] = v
		}
		sendTo(out, object{"id": m.ID, "result": made})
	case "session/set_mode":
		sendTo(out, object{"id": m.ID, "result": object{}})
		s.update(object{"sessionUpdate": "current_mode_update", "currentModeId": "auto"}) // whatever was set
	case "session/set_config_option":
		sendTo(out, object{"id": m.ID, "result": object{"configOptions": s.options}})
	case "session/cancel":
		s.cancels <- struct{}{}
	case "session/prompt":
		s.texts = append(s.texts, m.Params.Prompt[0].Text)
		if len(s.turns) == 0 {
			return // silent
		}
		turn := s.turns[0]
		s.turns = s.turns[1:]
		go func() {
			reason := turn(s, m.Params.Prompt[0].Text)
			sendTo(out, object{"id": m.ID, "result": object{"stopReason": reason}})
		}()
	}
}

// of returns a guest with this agent.
func (s *stub) of(t *testing.T, silence time.Duration) *Guest {
	t.Helper()
	s.answers, s.cancels = make(chan string, 4), make(chan struct{}, 4)
	g := New(Config{
		Agent:   Agent{Name: "stub", Command: []string{"stub"}, Model: "%m"},
		Model:   "m",
		Start:   s.start,
		Root:    "/workspace",
		Door:    NewDoor(Endpoint{Model: "m"}, nil),
		Silence: silence,
	})
	t.Cleanup(func() {
		if g.at != nil {
			g.end(g.at)
		}
	})
	return g
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Content: text} }

// talk is the loop's side of a conversation.
type talk struct {
	t    *testing.T
	g    *Guest
	msgs []llm.Message

	turns, used int // of the agent's model: allowed (0 means 9), and used in the last answer
	until       time.Time
}

// next asks for an answer, and returns its calls as "name arguments".
func (k *talk) next(more ...llm.Message) ([]string, error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 10*time.Minute)
	defer cancel()
	k.msgs = append(k.msgs, more...)
	said := llm.Message{Role: llm.RoleAssistant}
	var calls []string
	req := llm.Request{Messages: k.msgs, Tools: []llm.ToolSpec{{Name: completionTool}}, Turns: cmp.Or(k.turns, 9), Until: k.until}
	for part, err := range k.g.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		said.Content += part.Content
		k.used = 1 + part.Inner
		for _, c := range part.Calls {
			said.Calls = append(said.Calls, c)
			calls = append(calls, c.Name+" "+string(c.Arguments))
		}
	}
	k.msgs = append(k.msgs, said)
	return calls, nil
}

func result(text string) llm.Message { return llm.Message{Role: llm.RoleTool, Content: text} }

// run runs the action of a call, as the gate does.
func (k *talk) run(args string) error {
	_, err := action{k.g}.Run(k.t.Context(), session.Call{Arguments: json.RawMessage(args)}, nil)
	return err
}

func command(id, line string) object {
	return object{"toolCallId": id, "title": line, "kind": "execute", "rawInput": object{"command": line}}
}

func argsOf(line string) string {
	return fmt.Sprintf(`{"input":{"command":%q},"kind":"execute","title":%q}`, line, line)
}

// An agent is used only with a mode and a model that it confirms.
func TestProbe(t *testing.T) {
	modes := func(current string) object {
		return object{"modes": object{"currentModeId": current, "availableModes": []object{{"id": "auto"}, {"id": "default"}}}}
	}
	option := func(category, now string) object {
		return object{"id": "o", "category": category, "currentValue": now, "options": []object{{"value": "default"}, {"options": []object{{"value": "m"}}}}}
	}
	for name, tt := range map[string]struct {
		session object
		options []object
		mode    string
		say     string // "" means used
	}{
		"no mode configured":  {session: modes("default"), say: "acp.mode names none of them: auto, default"},
		"no such mode":        {session: modes("auto"), mode: "plan", say: `it has no mode "plan"`},
		"another mode":        {session: modes("auto"), mode: "default", say: `it is in the mode "auto", not "default"`},
		"the mode":            {session: modes("default"), mode: "default"},
		"no modes":            {mode: "default"},
		"an option":           {session: object{"configOptions": []object{option("mode", "x")}}, options: []object{option("mode", "default")}, mode: "default"},
		"an option that lies": {session: object{"configOptions": []object{option("mode", "x")}}, options: []object{option("mode", "x")}, mode: "default", say: `it did not confirm the mode "default"`},
		"a model":             {session: object{"configOptions": []object{option("model", "x")}}, options: []object{option("model", "m")}},
		"another model":       {session: object{"configOptions": []object{option("model", "x")}}, options: []object{option("model", "y")}, say: `it did not confirm the model "m"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{session: tt.session, options: tt.options, turns: []func(*stub, string) string{func(*stub, string) string { return "end_turn" }}}
			g := s.of(t, 0)
			g.cfg.Agent.Mode = tt.mode
			_, err := (&talk{t: t, g: g}).next(user("hello"))
			var of *llm.Error
			switch {
			case tt.say == "" && err != nil:
				t.Error(err)
			case tt.say != "" && (!errors.As(err, &of) || !strings.Contains(of.Public, tt.say) || of.Kind.Temporary() || g.at != nil):
				t.Errorf("%v, want %q", err, tt.say)
			}
		})
	}
}

// A request for permission is a call. Only its Run allows it, by the kind of the option, once;
// everything else rejects it, and the reason is in the next prompt.
func TestPermission(t *testing.T) {
	var got []string
	s := &stub{turns: []func(*stub, string) string{
		func(s *stub, _ string) string {
			s.update(object{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "go test", "kind": "execute", "rawInput": object{"command": "go test"}})
			got = append(got, s.ask(object{"toolCallId": "1"})) // the id alone
			got = append(got, s.ask(command("2", "rm a")))
			got = append(got, s.ask(command("3", "ls"), object{"optionId": "always", "kind": "allow_always"}))
			s.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "Done."}})
			return "end_turn"
		},
		func(_ *stub, text string) string {
			got = append(got, text)
			return "end_turn"
		},
	}}
	k := &talk{t: t, g: s.of(t, 0)}
	step := stepTool + ` {"did":["Working"]}`
	calls, err := k.next(user("go"))
	if err != nil || !slices.Equal(calls, []string{step, actionTool + " " + argsOf("go test")}) {
		t.Fatal(calls, err)
	}
	if err := k.run(argsOf("rm -rf /")); err != nil { // another request than the open one
		t.Fatal(err)
	}
	if len(got) > 0 || len(s.answers) > 0 {
		t.Fatal("another request was allowed")
	}
	if err := k.run(argsOf("go test")); err != nil {
		t.Fatal(err)
	}
	calls, err = k.next(result("Saved."), result("It was allowed, once."))
	if err != nil || !slices.Equal(calls, []string{step, actionTool + " " + argsOf("rm a")}) {
		t.Fatal(calls, err)
	}
	calls, err = k.next(result("Saved."), result("Denied: keep it"))
	if err != nil || calls[1] != actionTool+" "+argsOf("ls") {
		t.Fatal(calls, err)
	}
	if err := k.run(argsOf("ls")); err == nil || !strings.Contains(err.Error(), "no single way to allow it once") {
		t.Error(err)
	}
	calls, err = k.next(result("Saved."), result("It was cancelled."))
	if err != nil || calls[len(calls)-1] != completionTool+` {"result":"Done."}` {
		t.Fatal(calls, err)
	}
	if len(got) != 4 || !slices.Equal(got[:3], []string{"once", "no", "cancelled"}) ||
		!strings.Contains(got[3], `Your request "rm a" was not allowed. Denied: keep it`) {
		t.Errorf("%q", got)
	}
}

// An approval that comes while no process runs is for exactly its request, once.
func TestGrant(t *testing.T) {
	var got []string
	s := &stub{turns: []func(*stub, string) string{func(s *stub, text string) string {
		got = append(got, text, s.ask(command("1", "deploy there")))
		got = append(got, s.ask(command("2", "deploy here")), s.ask(command("3", "deploy here")))
		return "end_turn"
	}}}
	k := &talk{t: t, g: s.of(t, 0)}
	if err := k.run(argsOf("deploy here")); err != nil {
		t.Fatal(err)
	}
	calls, err := k.next(user("go"))
	if err != nil || calls[1] != actionTool+" "+argsOf("deploy there") {
		t.Fatal(calls, err)
	}
	calls, err = k.next(result("Saved."), result("No."))
	if err != nil || calls[1] != actionTool+" "+argsOf("deploy here") {
		t.Fatal("it was spent on another request, or not once", calls, err)
	}
	if len(got) != 2 || got[1] != "no" || !strings.Contains(got[0], "exactly so: "+argsOf("deploy here")) {
		t.Errorf("%q", got)
	}
	if len(k.g.grants) != 0 {
		t.Error("it can be spent again")
	}
}

// An agent that is killed while a request of it is open gets the answer in its next process:
// an approval for the same request, once, and a denial with its reason.
func TestKilledAtARequest(t *testing.T) {
	for name, allowed := range map[string]bool{"approved": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 3)
			asks := func(s *stub, _ string) string {
				got <- s.ask(command("1", "make"))
				return "end_turn"
			}
			s := &stub{turns: []func(*stub, string) string{asks, func(s *stub, text string) string {
				if allowed {
					asks(s, text)
				}
				return asks(s, text)
			}}}
			k := &talk{t: t, g: s.of(t, 0)}
			if _, err := k.next(user("go")); err != nil {
				t.Fatal(err)
			}
			s.kill(k.g)
			if said := <-got; said != "gone" {
				t.Fatal(said)
			}
			answer := "Denied: keep it"
			if allowed {
				answer = "It is allowed."
				if err := k.run(argsOf("make")); err != nil {
					t.Fatal(err)
				}
			}
			calls, err := k.next(result("Saved."), result(answer))
			if err != nil || len(calls) != 2 || calls[1] != actionTool+" "+argsOf("make") {
				t.Fatal("it does not ask again", calls, err)
			}
			story := s.texts[len(s.texts)-1]
			if allowed && <-got != "once" || len(got) > 0 || s.starts != 2 || !strings.Contains(story, "Its result: "+answer) ||
				strings.Contains(story, "exactly so: "+argsOf("make")) != allowed {
				t.Errorf("%d processes, %d answers, %q", s.starts, len(got), story)
			}
		})
	}
}

// An agent that is killed between two turns, in an answer, or while an action or a call of
// ours runs, goes on in a new process that knows all of the conversation. Its allowance
// is not given again.
func TestKilled(t *testing.T) {
	last := func(s *stub, _ string) string {
		s.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "Done."}})
		return "end_turn"
	}
	const done = completionTool + ` {"result":"Done."}`
	run := func(t *testing.T, turns ...func(*stub, string) string) (*stub, *talk) {
		s := &stub{turns: turns}
		return s, &talk{t: t, g: s.of(t, 0)}
	}
	knows := func(t *testing.T, s *stub, k *talk, want, words string, more ...llm.Message) {
		t.Helper()
		calls, err := k.next(more...)
		if story := s.texts[len(s.texts)-1]; err != nil || len(calls) == 0 || calls[len(calls)-1] != want ||
			s.starts != 2 || !strings.Contains(story, role) || !strings.Contains(story, words) {
			t.Errorf("%q %v, %d processes, %q", calls, err, s.starts, story)
		}
	}
	t.Run("between two turns", func(t *testing.T) {
		s, k := run(t, last, last)
		if _, err := k.next(user("go")); err != nil {
			t.Fatal(err)
		}
		s.kill(k.g)
		knows(t, s, k, done, "and more", result("Completed."), user("and more"))
	})
	t.Run("in an answer", func(t *testing.T) {
		s, k := run(t, func(s *stub, _ string) string {
			s.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "Half"}})
			s.far.Close()
			return ""
		}, last)
		if _, err := k.next(user("go")); llm.KindOf(err) != llm.Cut {
			t.Fatal(err)
		}
		knows(t, s, k, done, "go")
	})
	t.Run("in an action", func(t *testing.T) {
		s, k := run(t, func(s *stub, _ string) string {
			s.ask(command("1", "make"))
			s.far.Close()
			return ""
		}, func(s *stub, _ string) string { return s.ask(command("1", "make")) })
		if _, err := k.next(user("go")); err != nil || k.run(argsOf("make")) != nil {
			t.Fatal(err)
		}
		<-k.g.at.conn.Gone()
		knows(t, s, k, actionTool+" "+argsOf("make"), "Its result: It was allowed.", result("Saved."), result("It was allowed."))
	})
	t.Run("in a call of ours", func(t *testing.T) {
		said := make(chan string, 1)
		var g *Guest
		s, k := run(t, func(*stub, string) string {
			text, _ := g.cfg.Door.invoke(t.Context(), "github", []byte("{}"))
			said <- text
			return ""
		}, last)
		g = k.g
		if calls, err := k.next(user("go")); err != nil || !slices.Equal(calls, []string{"github {}"}) {
			t.Fatal(calls, err)
		}
		s.kill(g)
		if text := <-said; text != errNoAgent.Error() {
			t.Error(text)
		}
		knows(t, s, k, done, "Its result: two issues", result("two issues"))
	})
}

// The two cases of a conversation that goes on while a request is open: with its answer, the
// turn goes on; with new words in its place, the turn is cancelled, and they are the next
// prompt. A conversation that is not a continuation begins anew.
func TestHistory(t *testing.T) {
	asks := func(s *stub, _ string) string {
		s.ask(command("1", "make"))
		<-s.cancels
		return "cancelled"
	}
	ends := func(*stub, string) string { return "end_turn" }
	s := &stub{turns: []func(*stub, string) string{asks, ends, ends}}
	k := &talk{t: t, g: s.of(t, 0)}
	if _, err := k.next(user("go")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.next(result("Saved."), result("Withdrawn."), user("do something else")); err != nil {
		t.Fatal(err)
	}
	if last := s.texts[len(s.texts)-1]; s.starts != 1 || !strings.Contains(last, "do something else") || strings.Contains(last, role) {
		t.Errorf("%d processes, %q", s.starts, last)
	}
	k.msgs[0] = user("another")
	if _, err := k.next(result("Completed."), user("and more")); err != nil {
		t.Fatal(err)
	}
	if last := s.texts[len(s.texts)-1]; s.starts != 2 || !strings.Contains(last, role) || !strings.Contains(last, "another") {
		t.Errorf("%d processes, %q", s.starts, last)
	}
}

// An agent without a word, and one with too many, is ended.
func TestSilentAgent(t *testing.T) {
	s := &stub{}
	g := s.of(t, 50*time.Millisecond)
	_, err := (&talk{t: t, g: g}).next(user("go"))
	if llm.KindOf(err) != llm.Cut || g.at != nil {
		t.Errorf("silent: %v", err)
	}
	near, far := net.Pipe()
	defer far.Close()
	p := &process{wake: make(chan struct{}, 1)}
	p.conn = acp.Connect(t.Context(), near, p)
	for range maxEvents + 1 {
		p.Update("s", acp.Update{})
	}
	if _, _, err := p.next(); !errors.Is(err, errFlood) || len(p.queue) > 0 {
		t.Fatalf("flood: %v", err)
	}
	<-p.conn.Gone()
}

// A workspace that ended is no failure of the model, which would be tried again in it.
func TestWorkspaceGone(t *testing.T) {
	g := New(Config{Agent: Agent{Name: "stub", Command: []string{"stub"}}, Door: NewDoor(Endpoint{}, nil), Start: func(context.Context, workspace.Program) (io.ReadWriteCloser, error) {
		return nil, fmt.Errorf("start: %w", workspace.ErrGone)
	}})
	if _, err := (&talk{t: t, g: g}).next(user("go")); !errors.Is(err, workspace.ErrGone) || errors.As(err, new(*llm.Error)) {
		t.Error(err)
	}
}

// A limited wait ends in time, also while the agent sends updates.
func TestAwaitIsBounded(t *testing.T) {
	p := &process{wake: make(chan struct{}, 1)}
	p.push(event{update: &acp.Update{}}, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSilent)
	if e, err := p.await(ctx); !errors.Is(err, errSilent) || e.update != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// An answer ends after some tokens, so that budgets are looked at.
func TestTokensEndAnAnswer(t *testing.T) {
	var g *Guest
	g = (&stub{turns: []func(*stub, string) string{func(st *stub, _ string) string {
		g.cfg.Door.add(count{prompt: maxTokens, answer: 1}, true)
		<-st.cancels
		return "cancelled"
	}}}).of(t, 0)
	calls, err := (&talk{t: t, g: g}).next(user("go"))
	if err != nil || !slices.Equal(calls, []string{stepTool + ` {"did":["Working"]}`}) {
		t.Error(calls, err)
	}
}

// An answer ends when the time of the session is over, also while the agent goes on.
func TestTimeEndsAnAnswer(t *testing.T) {
	goesOn := func(s *stub, _ string) string {
		for len(s.cancels) == 0 {
			s.update(object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "."}})
		}
		return "cancelled"
	}
	waits := func(s *stub, _ string) string {
		<-s.cancels
		return "cancelled"
	}
	for name, turn := range map[string]func(*stub, string) string{"goes on": goesOn, "waits": waits} {
		t.Run(name, func(t *testing.T) {
			s := &stub{turns: []func(*stub, string) string{turn}}
			k := &talk{t: t, g: s.of(t, 0), until: time.Now().Add(50 * time.Millisecond)}
			calls, err := k.next(user("go"))
			if err != nil || !slices.Equal(calls, []string{stepTool + ` {"did":["Working"]}`}) {
				t.Error(calls, err)
			}
		})
	}
}

// An answer ends when the turns are used up: those of the agent's model that can act. The
// next one waits until budgets were looked at. One that failed does not count.
func TestTurnsEndAnAnswer(t *testing.T) {
	var g *Guest
	admitted := make(chan error, 1)
	g = (&stub{turns: []func(*stub, string) string{func(_ *stub, _ string) string {
		d := g.cfg.Door
		for range 2 {
			if d.admit(t.Context(), true) != nil || d.admit(t.Context(), false) != nil {
				t.Error("not admitted")
			}
		}
		d.giveBack(true)
		if d.admit(t.Context(), true) != nil {
			t.Error("a failed turn counts")
		}
		admitted <- d.admit(t.Context(), true)
		return "end_turn"
	}}}).of(t, 0)
	k := &talk{t: t, g: g, turns: 2}
	calls, err := k.next(user("go"))
	if err != nil || !slices.Equal(calls, []string{stepTool + ` {"did":["Working"]}`}) || k.used != 2 || len(admitted) > 0 {
		t.Error(calls, err, k.used)
	}
	if _, err := k.next(result("Saved.")); err != nil || <-admitted != nil || k.used != 1 {
		t.Error(err, k.used)
	}
}

// The last turn is heard to its end, whenever the step before it is read: it may bring the
// last words, or one more action. Only then are all turns used.
func TestLastTurnIsHeard(t *testing.T) {
	d := NewDoor(Endpoint{}, nil)
	ended, end := context.WithCancel(t.Context())
	end()
	d.wakeUp(nil, 2)
	if d.over(false) || d.admit(ended, true) != nil || !d.over(true) || d.admit(ended, true) == nil {
		t.Error("a step is not saved before the next turn")
	}
	d.wakeUp(nil, 1)
	if d.admit(ended, true) != nil || d.over(true) {
		t.Error("the last turn is not heard")
	}
	d.add(count{prompt: maxTokens + 1}, true)
	if d.over(false) {
		t.Error("the tokens of the last turn end it")
	}
	d.add(count{prompt: maxTokens + 1}, false)
	if !d.over(false) {
		t.Error("requests beside it have no bound")
	}
	d.settle(&llm.Part{})
	d.wakeUp(nil, 0)
	if d.over(true) || d.admit(ended, true) == nil || !d.over(false) {
		t.Error("the next turn does not end it")
	}
	d.wakeUp(nil, 1)
	if d.settle(&llm.Part{}); d.admit(ended, true) == nil {
		t.Error("a turn begins behind the end of an answer")
	}
	var g *Guest
	g = (&stub{turns: []func(*stub, string) string{func(s *stub, _ string) string {
		if g.cfg.Door.admit(t.Context(), true) != nil {
			return "cancelled"
		}
		s.update(object{"sessionUpdate": "tool_call_update", "toolCallId": "1", "title": "make", "kind": "execute", "status": "completed"})
		s.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "It is made."}})
		return "end_turn"
	}}}).of(t, 0)
	k := &talk{t: t, g: g, turns: 1}
	want := []string{stepTool + ` {"did":["make"]}`, completionTool + ` {"result":"It is made."}`}
	if calls, err := k.next(user("go")); err != nil || !slices.Equal(calls, want) || k.used != 1 {
		t.Error(calls, err, k.used)
	}
}

// The last words of a turn are those behind its last action, also if they came before that was
// saved.
func TestLastWords(t *testing.T) {
	g := (&stub{}).of(t, 0)
	near, far := net.Pipe()
	defer far.Close()
	p := &process{wake: make(chan struct{}, 1), calls: map[string]acp.Call{}, running: true}
	p.conn = acp.Connect(t.Context(), near, p)
	defer p.close()
	p.push(event{update: &acp.Update{Kind: acp.ToolCallUpdate, Call: acp.Call{ID: "1", Title: "make", Status: "completed"}}}, 0)
	var said acp.Update
	if err := json.Unmarshal([]byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is made."}}`), &said); err != nil {
		t.Fatal(err)
	}
	p.push(event{update: &said}, 0)
	req := llm.Request{Tools: []llm.ToolSpec{{Name: completionTool}}, Turns: 9}
	for _, want := range []string{stepTool + ` {"did":["make"]}`, completionTool + ` {"result":"It is made."}`} {
		var calls []string
		if done, err := g.listen(t.Context(), p, req, func(part llm.Part) bool {
			for _, c := range part.Calls {
				calls = append(calls, c.Name+" "+string(c.Arguments))
			}
			return true
		}); !done || err != nil || !slices.Equal(calls, []string{want}) {
			t.Error(calls, err)
		}
		p.push(event{end: &turnEnd{reason: "end_turn"}}, 0)
	}
}

// An agent that asks for more and more without its model uses turns, too.
func TestIdleAnswersAreTurns(t *testing.T) {
	s := &stub{turns: []func(*stub, string) string{func(s *stub, _ string) string {
		for n := range maxIdle + 2 {
			if s.ask(command(fmt.Sprint(n), fmt.Sprint("echo ", n))) == "gone" {
				break
			}
		}
		return "end_turn"
	}}}
	k := &talk{t: t, g: s.of(t, 0)}
	more := []llm.Message{user("go")}
	for n := range maxIdle + 1 {
		if _, err := k.next(more...); err != nil {
			t.Fatal(err)
		}
		if want := n / maxIdle; k.used != want {
			t.Fatalf("answer %d: %d turns, want %d", n, k.used, want)
		}
		more = []llm.Message{result("Saved."), result("No.")}
	}
}

// What real agents sent, with their scripted models, is understood: a session in which they
// ask, a request for a command, its end, and the last words.
func TestRecordedAgents(t *testing.T) {
	const line = "cp greet.txt copy.txt && echo copied"
	command := policy.Action{Kind: policy.Execute, Command: line, Cwd: "."}
	other := policy.Action{Kind: policy.Foreign} // the command is in its title alone
	for name, tt := range map[string]struct {
		title string
		want  policy.Action
	}{
		"opencode": {line, command}, "qwen-code": {line + " (Copy)", command}, "gemini-cli": {line, other}, "codex-acp": {line, command}, "claude-agent-acp": {line, command},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := named(name)
			if !ok {
				t.Fatal("not known")
			}
			g := New(Config{
				Agent: a, Model: "m", Root: "/workspace", Door: NewDoor(Endpoint{Model: "m"}, nil),
				Start: replay(t, "testdata/"+name+".jsonl"),
			})
			k := &talk{t: t, g: g}
			calls, err := k.next(user("copy the greeting"))
			if err != nil || len(calls) != 2 {
				t.Fatal(calls, err)
			}
			args := strings.TrimPrefix(calls[1], actionTool+" ")
			act, err := g.intent(json.RawMessage(args))
			if err != nil || act.Kind != tt.want.Kind || act.Command != tt.want.Command || act.Cwd != tt.want.Cwd ||
				!strings.Contains(act.Display, line) || !strings.Contains(args, `"title":"`+tt.title+`"`) {
				t.Errorf("%s: %+v, %v", args, act, err)
			}
			if err := k.run(args); err != nil {
				t.Fatal(err)
			}
			calls, err = k.next(result("Saved."), result("It was allowed, once."))
			if err == nil && len(calls) == 1 { // otherwise the end came before the step was passed on
				var end []string
				end, err = k.next(result("Saved."))
				calls = append(calls, end...)
			}
			if err != nil || len(calls) != 2 || !strings.HasPrefix(calls[0], stepTool) ||
				calls[1] != completionTool+` {"result":"It is copied."}` {
				t.Error(calls, err)
			}
			g.end(g.at)
		})
	}
}

// replay returns an agent that sends its lines of a recorded wire, and expects those of its
// client in between: requests by their method, answers as they are.
func replay(t *testing.T, file string) func(context.Context, workspace.Program) (io.ReadWriteCloser, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type message = map[string]json.RawMessage
	return func(context.Context, workspace.Program) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		in, ids := bufio.NewReader(far), map[string]json.RawMessage{}
		expect := func(want message) bool {
			line, err := in.ReadBytes('\n')
			var got message
			if err != nil || json.Unmarshal(line, &got) != nil {
				t.Errorf("%v in place of %s", err, want["method"])
				return false
			}
			ids[string(want["id"])] = got["id"]
			said, _ := canonical(got["result"])
			if is, _ := canonical(want["result"]); string(got["method"]) != string(want["method"]) || said != is {
				t.Errorf("%s, want %s %s", line, want["method"], want["result"])
			}
			return true
		}
		go func() {
			defer far.Close()
			for line := range bytes.Lines(data) {
				var one struct{ Agent, Client message }
				if err := json.Unmarshal(line, &one); err != nil {
					t.Error(err)
				}
				if one.Client != nil {
					if !expect(one.Client) {
						return
					}
					continue
				}
				if id := ids[string(one.Agent["id"])]; id != nil && one.Agent["method"] == nil {
					one.Agent["id"] = id
				}
				_ = json.NewEncoder(far).Encode(one.Agent) // the client may be gone
			}
			_, _ = in.ReadBytes('\n') // its end
		}()
		return near, nil
	}
}

// Requests become actions by their kind. Those that are not understood are of the kind that
// asks.
func TestRequests(t *testing.T) {
	g := New(Config{Root: "/workspace"})
	old := "a\n"
	for name, tt := range map[string]struct {
		call acp.Call
		want policy.Action
	}{
		"command":       {acp.Call{Kind: "execute", Input: json.RawMessage(`{"command":"make","cwd":"/workspace/x"}`)}, policy.Action{Kind: policy.Execute, Command: "make", Cwd: "x", Display: "make"}},
		"words":         {acp.Call{Kind: "execute", Input: json.RawMessage(`{"command":["sh","-c","a b"]}`)}, policy.Action{Kind: policy.Execute, Command: "sh -c 'a b'", Cwd: ".", Display: "sh -c 'a b'"}},
		"no command":    {acp.Call{Kind: "execute", Title: "run"}, policy.Action{Kind: policy.Foreign}},
		"edit":          {acp.Call{Kind: "edit", Content: []acp.Part{{Type: "diff", Path: "/workspace/a.txt", Old: &old, New: "b\n"}}}, policy.Action{Kind: policy.Write, Paths: []string{"a.txt"}}},
		"edit nowhere":  {acp.Call{Kind: "edit", Title: "x"}, policy.Action{Kind: policy.Foreign}},
		"edit outside":  {acp.Call{Kind: "edit", Locations: []acp.Location{{Path: "/etc/x"}}}, policy.Action{Kind: policy.Write, Paths: []string{"/etc/x"}}},
		"delete":        {acp.Call{Kind: "delete", Locations: []acp.Location{{Path: "/workspace/a"}}}, policy.Action{Kind: policy.Delete, Paths: []string{"a"}}},
		"fetch":         {acp.Call{Kind: "fetch", Input: json.RawMessage(`{"url":"https://x.example"}`)}, policy.Action{Kind: policy.Network, URL: "https://x.example"}},
		"other":         {acp.Call{Kind: "other", Title: "deploy"}, policy.Action{Kind: policy.Foreign}},
		"kind of later": {acp.Call{Kind: "teleport", Title: "go"}, policy.Action{Kind: policy.Foreign}},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := g.requestOf(tt.call)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.intent(json.RawMessage(args))
			if err != nil || got.Kind != tt.want.Kind || got.Command != tt.want.Command || got.Cwd != tt.want.Cwd ||
				got.URL != tt.want.URL || !slices.Equal(got.Paths, tt.want.Paths) || got.Display == "" {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	long := strings.Repeat("true && ", 100) + "deploy"
	if act, err := g.intent(json.RawMessage(`{"kind":"execute","title":"` + long + `"}`)); err != nil || !strings.Contains(act.Display, long) {
		t.Errorf("a request is not shown whole: %q, %v", act.Display, err)
	}
	if _, err := g.intent(json.RawMessage(`{"kind":"switch_mode"}`)); err == nil {
		t.Error("its mode can be changed")
	}
}

// The agent reaches the one model, with the key that it does not see, while the loop waits.
func TestModelOfAnAgent(t *testing.T) {
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		fmt.Fprint(w, `{"usage":{"prompt_tokens":10,"completion_tokens":3}}`)
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	d := NewDoor(Endpoint{HTTP: client, URL: u, Keys: map[string]string{"Authorization": "Bearer k"}, Model: "m"}, nil)
	ask := func(within time.Duration, method, path, body string) int {
		near, far := net.Pipe()
		defer near.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Serve(t.Context(), far)
		}()
		go fmt.Fprintf(near, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
		_ = near.SetReadDeadline(time.Now().Add(within))
		resp, err := http.ReadResponse(bufio.NewReader(near), nil)
		near.Close()
		<-done
		if err != nil {
			return 0
		}
		return resp.StatusCode
	}
	const chat = "/v1/chat/completions"
	if code := ask(200*time.Millisecond, "POST", chat, `{"model":"m"}`); code != 0 || len(seen) > 0 {
		t.Errorf("while the loop works: %d %q", code, seen)
	}
	d.wakeUp(nil, 0)
	for path, want := range map[string]int{chat: 200, "/v1/../v1/files": 404, "/admin": 404, "http://other.example/": 403} {
		if code := ask(10*time.Minute, "POST", path, `{"model":"other","messages":[]}`); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
	if len(seen) != 1 || seen[0] != `/v1/chat/completions Bearer k {"messages":[],"model":"m"}` {
		t.Errorf("%q", seen)
	}
	var last llm.Part
	if d.settle(&last); last.PromptTokens != 10 || last.AnswerTokens != 3 || last.Inner != -1 {
		t.Errorf("%+v", last)
	}
	if said := d.Refused(); len(said) != 1 || !strings.Contains(said[0], "other.example") {
		t.Errorf("%q", said)
	}
}

// Anthropic's form has its version and the key in a header of its own. A gateway may want it as a bearer, which
// the vendors refuse.
func TestModelInAnthropicsForm(t *testing.T) {
	claude, _ := named("claude-agent-acp")
	seen := http.Header{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		fmt.Fprint(w, `{"usage":{"input_tokens":10,"output_tokens":3}}`)
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDoor(Endpoint{HTTP: srv.Client(), URL: u, Keys: claude.Keys(u.Hostname(), "k"), Model: "m"}, nil)
	d.wakeUp(nil, 1)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(`{"tools":[{}]}`))
	r.Header.Set("Anthropic-Beta", "of-the-agent")
	w := httptest.NewRecorder()
	d.model(w, r)
	if w.Code != http.StatusOK || seen.Get("X-Api-Key") != "k" || seen.Get("Authorization") != "Bearer k" ||
		seen.Get("Anthropic-Version") == "" || seen.Get("Anthropic-Beta") != "" {
		t.Errorf("%d %v", w.Code, seen)
	}
	for _, name := range names() {
		a, _ := named(name)
		keys := a.Keys(a.Vendor, "k")
		if len(keys) != 1 || a.Vendor != "" && keys["Authorization"] != "" {
			t.Errorf("%s at %q: %v", name, a.Vendor, keys)
		}
	}
}

// A request in Google's form has the one model in its address, and its tokens are counted.
func TestModelInGooglesForm(t *testing.T) {
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.URL.String()+" "+r.Header.Get("x-goog-api-key")+" "+string(body))
		fmt.Fprint(w, "data: {\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":2,\"cachedContentTokenCount\":4}}\r\n\r\n")
	}))
	defer srv.Close()
	for base, want := range map[string]string{"/v1": "", "/v1beta/openai/": "", "/proxy/v1": "/proxy", "": ""} {
		u, err := url.Parse(srv.URL + base)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		d := NewDoor(Endpoint{HTTP: client, URL: u, Keys: map[string]string{"x-goog-api-key": "k"}, Model: "m"}, nil)
		d.wakeUp(nil, 1)
		for at, code := range map[string]int{
			"/v1beta/models/other:streamGenerateContent?alt=sse": 200, "/v1beta/models/other:batch": 404,
			"/v1beta/files": 404, "/v1/streamGenerateContent": 404,
		} {
			w := httptest.NewRecorder()
			d.model(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(`{"tools":[{}]}`)))
			if w.Code != code {
				t.Errorf("%s: %d", at, w.Code)
			}
		}
		if !slices.Equal(seen, []string{want + `/v1beta/models/m:streamGenerateContent?alt=sse k {"tools":[{}]}`}) {
			t.Errorf("%s: %q", base, seen)
		}
		seen = nil
		var last llm.Part
		if d.settle(&last); last.PromptTokens != 10 || last.AnswerTokens != 5 || last.CachedTokens != 4 || last.Inner != 0 {
			t.Errorf("%+v", last)
		}
	}
}

// The settings of all agents are masked, at any depth.
func TestMasks(t *testing.T) {
	for name, want := range map[string]bool{
		"opencode.json": true, "a/.claude/settings.json": true, ".qwen/": true, ".gemini": true, ".codex/config.toml": true,
		"CLAUDE.md": false, "opencode.json.md": false, "a.claude/x": false,
	} {
		if Masks(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// The agent's program has a new home with its files, and no proxy.
func TestProgram(t *testing.T) {
	a, err := Choose("qwen-code", []string{"sh", "-c", `cat "$HOME/.qwen/settings.json"; echo "$OPENAI_MODEL $OPENAI_BASE_URL $X [$HTTPS_PROXY]"`}, "", map[string]string{"X": "%m!"})
	if err != nil {
		t.Fatal(err)
	}
	p := a.program(`m"1`)
	p.Env["HOME"] = t.TempDir() + "/new"
	cmd := exec.CommandContext(t.Context(), p.Argv[0], p.Argv[1:]...)
	cmd.Env = os.Environ()
	for k, v := range p.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.Output()
	settings, rest, _ := strings.Cut(string(out), "\n")
	if err != nil || !json.Valid([]byte(settings)) || rest != `m\"1 http://127.0.0.1:3128/v1 m\"1! []`+"\n" {
		t.Errorf("%v: %s", err, out)
	}
}
