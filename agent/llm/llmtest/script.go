package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Script is what a scripted model says, turn by turn. A turn is the answer to
// one chat request.
type Script struct {
	Model  ModelSpec `yaml:"model"`
	Select Selection `yaml:"select"`   // how the next turn is found, inOrder when empty
	Delay  int       `yaml:"delay_ms"` // before each chunk of a stream
	Chunk  int       `yaml:"chunk"`    // characters in a chunk, 0 for everything at once
	Forget bool      `yaml:"forget"`   // keep no requests, for long runs; Server.Requests is then empty
	Turns  []Turn    `yaml:"turns"`
	// Conversations split a server between sessions that run at the same time:
	// a request belongs to the first one whose When holds, and each goes
	// through its own turns. A request that fits none is answered by Turns.
	Conversations []Conversation `yaml:"conversations"`
}

// Conversation is a script within a script.
type Conversation struct {
	Name  string     `yaml:"name"`
	When  Conditions `yaml:"when"`
	Turns []Turn     `yaml:"turns"`
}

// ModelSpec is what the server says of its model.
type ModelSpec struct {
	Name          string `yaml:"name"`            // other names get 404; any is answered when empty
	Tools         bool   `yaml:"tools"`           // without it a request with tools gets 400, as from Ollama
	Thinking      bool   `yaml:"thinking"`        // without it think:true gets 400, as from Ollama
	Vision        bool   `yaml:"vision"`          //
	Context       int    `yaml:"context"`         // context length the model was made for, 32768 when 0
	ContextSet    int    `yaml:"context_set"`     // num_ctx in the model's parameters
	Parameters    int64  `yaml:"parameters"`      // size of the model, unknown when 0
	Template      string `yaml:"template"`        // that turns a conversation into a prompt, one that knows roles when empty
	Enforce       bool   `yaml:"enforce_context"` // refuse prompts estimated longer than num_ctx, as Ollama does with truncate:false
	ServerVersion string `yaml:"server_version"`  // of Ollama, 0.17.4 when empty
	Key           string `yaml:"key"`             // other keys get 401; none is asked for when empty
}

// Selection says which turn answers a request.
type Selection string

// The selections. inOrder serves the next turn and fails when its conditions do
// not hold. byConditions serves the first unused turn whose conditions hold,
// for models that are asked other things in between, such as summaries.
const (
	inOrder      Selection = "in-order"
	byConditions Selection = "by-conditions"
)

// Turn is one answer.
type Turn struct {
	When     Conditions `yaml:"when"`
	Think    string     `yaml:"think"`
	Say      string     `yaml:"say"`
	Times    int        `yaml:"say_times"` // Say is written so often, with the number for {n}, and a word of its own for {word}
	Text     string     `yaml:"text"`      // content after Say, for calls printed as text
	Calls    []Call     `yaml:"calls"`
	Print    bool       `yaml:"print"`  // print Calls as <tool_call> text instead of making them
	Reason   string     `yaml:"reason"` // why the answer ends, "stop" or "tool_calls" when empty
	Tokens   Tokens     `yaml:"tokens"` // reported counts, estimated when 0
	Misdo    Misdeed    `yaml:"misbehave"`
	Repeat   bool       `yaml:"repeat"`   // serves for ever
	Optional bool       `yaml:"optional"` // need not be served
	Delay    int        `yaml:"delay_ms"` // instead of the script's
	Chunk    int        `yaml:"chunk"`    // instead of the script's
}

// Call is a tool call. Arguments is anything that has a JSON form; a string is
// taken as the text that the model wrote, valid or not.
type Call struct {
	ID        string `yaml:"id"` // made up when empty
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`
}

// Tokens are the counts with which an answer ends.
type Tokens struct {
	Prompt int `yaml:"prompt"`
	Answer int `yaml:"answer"`
}

// Misdeed is what goes wrong with an answer. The turn counts as served, so the
// next request, a retry, gets the next turn.
type Misdeed struct {
	Status     int    `yaml:"status"`      // answer with this status and Error as its text
	Error      string `yaml:"error"`       // without Status: an error object after what was said
	RetryAfter int    `yaml:"retry_after"` // seconds, with Status
	TooLong    bool   `yaml:"too_long"`    // refuse the prompt as longer than the context
	Drop       bool   `yaml:"drop"`        // close the connection without an answer
	DieAfter   int    `yaml:"die_after_bytes"`
	NoDone     bool   `yaml:"missing_done"` // end the stream without its last message
	WrongJSON  bool   `yaml:"wrong_json"`   // a line that is not JSON after what was said
	Stall      bool   `yaml:"stall"`        // send half, then wait for Server.Release or for the client to leave
	DropCalls  bool   `yaml:"drop_calls"`   // count the calls and do not send them, as Ollama does with what it cannot read
	Loop       bool   `yaml:"loop"`         // say it again and again until the client leaves
	Redirect   string `yaml:"redirect"`     // answer with 307 to this address
}

func (m Misdeed) any() bool { return m != Misdeed{} }

// ParseScript reads a script in YAML or JSON. Unknown fields are errors, and so
// is a script that could never be served.
func ParseScript(text []byte) (Script, error) {
	var s Script
	if len(bytes.TrimSpace(text)) == 0 {
		return Script{}, errors.New("parse model script: it is empty; write a list of turns")
	}
	if err := yaml.Load(text, &s, yaml.WithKnownFields()); err != nil {
		return Script{}, fmt.Errorf("parse model script: %w", err)
	}
	if err := s.check(); err != nil {
		return Script{}, fmt.Errorf("parse model script: %w", err)
	}
	sayOften(s.Turns)
	for _, c := range s.Conversations {
		sayOften(c.Turns)
	}
	return s, nil
}

// sayOften writes out what a turn says several times.
func sayOften(turns []Turn) {
	for i, t := range turns {
		var b strings.Builder
		for n := range t.Times {
			b.WriteString(strings.NewReplacer("{n}", strconv.Itoa(n+1), "{word}", word(n)).Replace(t.Say))
		}
		if t.Times > 0 {
			turns[i].Say = b.String()
		}
	}
}

func (s *Script) check() error {
	switch s.Select {
	case "", inOrder, byConditions:
	default:
		return fmt.Errorf("select: %q is neither %q nor %q", s.Select, inOrder, byConditions)
	}
	if len(s.Turns) == 0 && len(s.Conversations) == 0 {
		return errors.New("no turns")
	}
	names := map[string]bool{"": true}
	for i, c := range s.Conversations {
		if names[c.Name] {
			return fmt.Errorf("conversations[%d]: it needs a name of its own", i)
		}
		names[c.Name] = true
		if len(c.Turns) == 0 {
			return fmt.Errorf("conversation %s: no turns", c.Name)
		}
		if err := s.checkTurns(c.Turns); err != nil {
			return fmt.Errorf("conversation %s: %w", c.Name, err)
		}
	}
	return s.checkTurns(s.Turns)
}

func (s *Script) checkTurns(turns []Turn) error {
	for i, t := range turns {
		if err := t.check(); err != nil {
			return fmt.Errorf("turns[%d]: %w", i, err)
		}
		if t.Repeat && i < len(turns)-1 && s.Select != byConditions {
			return fmt.Errorf("turns[%d]: it repeats for ever, so no later turn is reached; use select: %s", i, byConditions)
		}
	}
	return nil
}

func (t *Turn) check() error {
	m := t.Misdo
	if m.Status != 0 && (m.Status < 300 || m.Status > 599) {
		return fmt.Errorf("misbehave: status %d is not an error", m.Status)
	}
	if t.Think+t.Say+t.Text == "" && len(t.Calls) == 0 && !m.any() && t.Reason == "" {
		return errors.New("it says nothing; write say, think, calls, text or misbehave (reason: stop for an empty answer)")
	}
	if m.Loop && t.Think+t.Say+t.Text == "" {
		return errors.New("misbehave: loop needs something to say")
	}
	for j, c := range t.Calls {
		if c.Name == "" {
			return fmt.Errorf("calls[%d]: no name", j)
		}
		if _, err := c.text(); err != nil {
			return fmt.Errorf("calls[%d]: %w", j, err)
		}
	}
	return t.When.check()
}

// text is the arguments as the model wrote them.
func (c Call) text() (string, error) {
	switch a := c.Arguments.(type) {
	case nil:
		return "{}", nil
	case string:
		return a, nil
	}
	b, err := json.Marshal(c.Arguments)
	if err != nil {
		return "", fmt.Errorf("render arguments: %w", err)
	}
	return string(b), nil
}

// word returns another word for each number.
func word(n int) string {
	const syllables = "bacedifoguhajekilomunaperisotuvawexiyoza"
	out := ""
	for {
		at := n % (len(syllables) / 2) * 2
		out += syllables[at : at+2]
		if n /= len(syllables) / 2; n == 0 {
			return out
		}
	}
}
