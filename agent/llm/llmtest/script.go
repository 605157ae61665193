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

// Script defines the answers of a scripted model, turn by turn. A turn is the answer to
// one chat request.
type Script struct {
	Model  ModelSpec `yaml:"model"`
	Select Selection `yaml:"select"`   // selection of the next turn, inOrder if empty
	Delay  int       `yaml:"delay_ms"` // delay before each chunk of a stream
	Chunk  int       `yaml:"chunk"`    // characters per chunk, 0 for a single chunk
	Forget bool      `yaml:"forget"`   // store no requests, for long runs; Server.Requests is then empty
	Title  string    `yaml:"title"`    // answer to requests for the title of a change, which take no turn
	Turns  []Turn    `yaml:"turns"`
	// Conversations separate concurrent sessions: a request belongs to the first one with a
	// When that holds, and each has its own sequence of turns. Turns answers other requests.
	Conversations []Conversation `yaml:"conversations"`
}

// Conversation is a script within a script.
type Conversation struct {
	Name  string     `yaml:"name"`
	When  Conditions `yaml:"when"`
	Turns []Turn     `yaml:"turns"`
}

// ModelSpec describes the model that the server reports.
type ModelSpec struct {
	Name          string `yaml:"name"`     // other names get 404; empty accepts any name
	Tools         bool   `yaml:"tools"`    // if false, requests with tools get 400, as from Ollama
	Thinking      bool   `yaml:"thinking"` // if false, think:true gets 400, as from Ollama
	Vision        bool   `yaml:"vision"`
	Context       int    `yaml:"context"`         // maximum context length, 32768 if 0
	ContextSet    int    `yaml:"context_set"`     // num_ctx in the model's parameters
	Parameters    int64  `yaml:"parameters"`      // number of parameters, unknown if 0
	Template      string `yaml:"template"`        // prompt template; the default has roles
	Enforce       bool   `yaml:"enforce_context"` // reject prompts estimated longer than num_ctx, as Ollama does with truncate:false
	ServerVersion string `yaml:"server_version"`  // version of Ollama, 0.17.4 if empty
	Key           string `yaml:"key"`             // other keys get 401; empty requires no key
}

// Selection is the method of selecting the turn for a request.
type Selection string

// inOrder serves the next turn and fails if its conditions do not hold. byConditions
// serves the first unused turn with matching conditions, for models that get other
// requests in between, such as summaries.
const (
	inOrder      Selection = "in-order"
	byConditions Selection = "by-conditions"
)

// Turn is one answer.
type Turn struct {
	When     Conditions `yaml:"when"`
	Think    string     `yaml:"think"`
	Say      string     `yaml:"say"`
	Times    int        `yaml:"say_times"` // number of repetitions of Say; {n} is the number, {word} a different word each time
	Text     string     `yaml:"text"`      // content after Say, for calls written as text
	Calls    []Call     `yaml:"calls"`
	Print    bool       `yaml:"print"`  // write Calls as <tool_call> text instead of native calls
	Reason   string     `yaml:"reason"` // done reason; the default is "stop" or "tool_calls"
	Tokens   Tokens     `yaml:"tokens"` // reported counts, estimated if 0
	Misdo    Misdeed    `yaml:"misbehave"`
	Repeat   bool       `yaml:"repeat"`   // may be served any number of times
	Optional bool       `yaml:"optional"` // may remain unused
	Delay    int        `yaml:"delay_ms"` // overrides the script's delay
	Chunk    int        `yaml:"chunk"`    // overrides the script's chunk size
}

// Call is a tool call. Arguments is any value with a JSON form; a string is the model's
// text as written, valid or not.
type Call struct {
	ID        string `yaml:"id"` // generated if empty
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`
}

// Tokens are the counts reported at the end of an answer.
type Tokens struct {
	Prompt int `yaml:"prompt"`
	Answer int `yaml:"answer"`
}

// Misdeed is a scripted failure. The turn counts as served, so the next request, a retry,
// gets the next turn.
type Misdeed struct {
	Status     int    `yaml:"status"`      // answer with this status and the text of Error
	Error      string `yaml:"error"`       // without Status: send an error object after the content
	RetryAfter int    `yaml:"retry_after"` // in seconds, with Status
	TooLong    bool   `yaml:"too_long"`    // reject the prompt as too long
	Drop       bool   `yaml:"drop"`        // close the connection without an answer
	DieAfter   int    `yaml:"die_after_bytes"`
	NoDone     bool   `yaml:"missing_done"` // end the stream without its last message
	WrongJSON  bool   `yaml:"wrong_json"`   // send a line that is not JSON after the content
	Stall      bool   `yaml:"stall"`        // send half, then wait for Server.Release or the client's departure
	DropCalls  bool   `yaml:"drop_calls"`   // count the calls but do not send them, as Ollama does with invalid ones
	Loop       bool   `yaml:"loop"`         // repeat the answer until the client leaves
	Redirect   string `yaml:"redirect"`     // answer with 307 to this address
}

func (m Misdeed) any() bool { return m != Misdeed{} }

// ParseScript reads a script in YAML or JSON. It rejects unknown fields, and scripts that
// cannot be served.
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
	expandRepeats(s.Turns)
	for _, c := range s.Conversations {
		expandRepeats(c.Turns)
	}
	return s, nil
}

// expandRepeats expands the repetitions of a turn.
func expandRepeats(turns []Turn) {
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

// text returns the arguments as the model wrote them.
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

// word returns a different word for each number.
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
