// Trials of the abilities that sessions need: context, calls, repairs, refusals.

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/policy/phrase"
)

// Diagnosis is the result of an examination. `doctor` prints it as JSON.
type Diagnosis struct {
	Model    string    `json:"model,omitempty"`
	OK       bool      `json:"ok"`
	Figures  *Figures  `json:"figures,omitempty"`
	Findings []Finding `json:"findings"`
	Advice   []string  `json:"advice"`
}

// Figures are the measurements of an examination.
type Figures struct {
	Tools         bool    `json:"tools"`
	Thinking      bool    `json:"thinking"`
	Vision        bool    `json:"vision"`
	ContextLength int     `json:"context_length"` // context length that the model was made for
	ContextSet    int     `json:"context_set"`    // context length set by its operator or when loaded
	ContextTried  int     `json:"context_tried"`
	PromptTokens  int     `json:"prompt_tokens"`     // as counted by the server for the long prompt
	BytesPerToken float64 `json:"bytes_per_token"`   // of the long prompt
	PerSecond     float64 `json:"tokens_per_second"` // over all answers
	Calls         string  `json:"calls"`             // "native", "text" or "none"
}

// minContext is the minimum context for a session, in tokens.
const minContext = 8192

// Sessions are slow below slow tokens per second over all trials, and summarized early
// below the initial context of sessions, comfortable.
const (
	slow        = 1.0
	comfortable = 32768
)

// exam is one examination of a model.
type exam struct {
	model  llm.Model
	read   llm.ToolSpec
	parser *toolcall.Parser
	caps   llm.Capabilities
	text   bool // calls are text
	d      *Diagnosis

	tokens int
	spent  time.Duration
}

// ExamConfig configures an examination.
type ExamConfig struct {
	Model     llm.Model
	Tools     []llm.ToolSpec           // must include read_file
	Canonical func(name string) string // normalizes spellings of tool names
	Context   int                      // tokens to try
}

// Model tries the abilities that a session needs in a model. It returns an error only if
// ctx ended.
func Model(ctx context.Context, cfg ExamConfig) (Diagnosis, error) {
	x := begin(cfg)
	if !x.probe(ctx, "server", true, x.reach) {
		return *x.d, ctx.Err()
	}
	fits := x.probe(ctx, "context", true, func(ctx context.Context) (string, bool) { return x.context(ctx, cfg.Context) })
	native := x.caps.Tools && x.probe(ctx, "native calls", false, x.native)
	printed := x.probe(ctx, "text calls", !native, x.printed)
	x.text = !native
	if native || printed {
		x.d.Figures.Calls = map[bool]string{true: "native", false: "text"}[native]
		x.probe(ctx, "repair", false, x.repair)
		x.probe(ctx, "refusal", false, x.refusal)
	}
	x.d.OK = fits && (native || printed)
	if s := x.spent.Seconds(); s > 0 {
		x.d.Figures.PerSecond = float64(int(float64(x.tokens)/s*10)) / 10
	}
	x.advise()
	return *x.d, ctx.Err()
}

// callsExam tries only the minimum: the model answers, and calls a tool. It takes one
// answer, or two if the first has no call.
func callsExam(ctx context.Context, cfg ExamConfig) (Diagnosis, error) {
	x := begin(cfg)
	if !x.probe(ctx, "server", true, x.reach) {
		return *x.d, ctx.Err()
	}
	if x.caps.Tools && x.probe(ctx, "native calls", false, x.native) {
		x.d.Figures.Calls = "native"
	} else if x.probe(ctx, "text calls", true, x.printed) {
		x.d.Figures.Calls = "text"
	}
	x.d.OK = x.d.Figures.Calls != "none"
	return *x.d, ctx.Err()
}

func begin(cfg ExamConfig) *exam {
	x := &exam{
		model:  cfg.Model,
		parser: toolcall.New(cfg.Tools, cfg.Canonical),
		d:      &Diagnosis{Model: cfg.Model.Name(), Figures: &Figures{Calls: "none"}, Advice: []string{}},
	}
	for _, s := range cfg.Tools {
		if s.Name == "read_file" {
			x.read = s
		}
	}
	return x
}

// probe runs one trial and adds its finding. It reports whether the trial passed.
func (x *exam) probe(ctx context.Context, name string, needed bool, try func(context.Context) (string, bool)) bool {
	start := time.Now()
	detail, ok := try(ctx)
	x.d.Findings = append(
		x.d.Findings,
		Finding{Name: name, OK: ok, Detail: detail, Needed: needed, Millis: time.Since(start).Milliseconds()},
	)
	return ok
}

// reply is a complete answer of the model.
type reply struct {
	content string
	calls   []llm.ToolCall
	done    llm.Part
}

func (x *exam) ask(ctx context.Context, req llm.Request) (reply, error) {
	var a reply
	var b strings.Builder
	req.Context = max(req.Context, x.caps.Window()) // the model stays loaded for sessions
	start := time.Now()
	for p, err := range x.model.Stream(ctx, req) {
		if err != nil {
			return a, err
		}
		b.WriteString(p.Content)
		a.calls = append(a.calls, p.Calls...)
		if p.Done {
			a.done = p
		}
	}
	a.content = b.String()
	x.tokens += a.done.AnswerTokens
	x.spent += time.Since(start)
	return a, nil
}

func (x *exam) reach(ctx context.Context) (string, bool) {
	caps, err := x.model.Capabilities(ctx)
	if err != nil {
		return public(err), false
	}
	x.caps = caps
	f := x.d.Figures
	f.Tools, f.Thinking, f.Vision, f.ContextLength, f.ContextSet = caps.Tools, caps.Thinking, caps.Vision,
		caps.ContextLength, caps.ContextSet
	yes := func(name string, has bool) string {
		if has {
			return name
		}
		return "no " + name
	}
	length := "context length unknown"
	if caps.ContextLength > 0 {
		length = fmt.Sprintf("made for %d tokens", caps.ContextLength)
	}
	if caps.ContextSet > 0 {
		length += fmt.Sprintf(" and given %d", caps.ContextSet)
	}
	return strings.Join(
		[]string{length, yes("tools", caps.Tools), yes("thinking", caps.Thinking), yes("vision", caps.Vision)},
		", ",
	), true
}

// secretWord is at the very beginning of the long prompt. A server that truncates prompts
// drops it first.
const secretWord = "marmalade-4711"

// context sends a prompt that fills most of the context and asks for the password at its
// beginning.
func (x *exam) context(ctx context.Context, size int) (string, bool) {
	if x.caps.ContextLength > 0 {
		size = min(size, x.caps.ContextLength)
	}
	x.d.Figures.ContextTried = size
	var b strings.Builder
	fmt.Fprintf(&b, "The password is %s. Remember it.\n\n", secretWord)
	for i := 1; float64(b.Len()) < float64(size)*0.7*compact.BytesPerToken; i++ {
		fmt.Fprintf(&b, "Line %d says nothing that matters for the question at the end.\n", i)
	}
	b.WriteString("\nWhat is the password? Answer with the password only.")
	a, err := x.ask(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: b.String()}}, Context: size})
	if err != nil {
		return fmt.Sprintf("a prompt of %d bytes: %s", b.Len(), public(err)), false
	}
	f := x.d.Figures
	f.PromptTokens = a.done.PromptTokens
	if f.PromptTokens > 0 {
		f.BytesPerToken = float64(int(float64(b.Len())/float64(f.PromptTokens)*100)) / 100
	}
	knows := strings.Contains(strings.ToLower(a.content), secretWord)
	counted := fmt.Sprintf("%d bytes sent, %d tokens counted", b.Len(), f.PromptTokens)
	switch {
	case f.BytesPerToken > 10:
		return counted + ": the server cut the prompt", false
	case !knows:
		return counted + "; the model does not know the beginning", false
	case size < minContext:
		return fmt.Sprintf("%s; %d tokens are too few for a session, which needs %d", counted, size, minContext), false
	}
	return counted + "; the beginning is still known", true
}

const wish = "Read the file hello.txt. Use the tool; do not answer in words."

func (x *exam) native(ctx context.Context) (string, bool) {
	a, err := x.ask(ctx, llm.Request{Messages: x.open(false, wish), Tools: []llm.ToolSpec{x.read}})
	if err != nil {
		return public(err), false
	}
	if len(a.calls) == 0 {
		if p := x.parser.Parse(a.content); len(p.Calls) > 0 {
			return "the model printed its call as text; sessions change to text calls", false
		}
		if a.done.Dropped {
			return "no call came, and more tokens were counted than came: the server dropped a call that it could not read; sessions change to text calls", false
		}
		return fmt.Sprintf("no call; the model said %q", clip(a.content)), false
	}
	args, _, err := x.parser.Object(a.calls[0].Arguments)
	if err != nil || !x.reads(a.calls[0].Name, args, "hello.txt") {
		return fmt.Sprintf("a wrong call: %s %s", a.calls[0].Name, clip(string(a.calls[0].Arguments))), false
	}
	return "read_file was called with the right path", true
}

func (x *exam) printed(ctx context.Context) (string, bool) {
	a, err := x.ask(ctx, llm.Request{Messages: x.open(true, wish)})
	if err != nil {
		return public(err), false
	}
	p := x.parser.Parse(a.content)
	switch {
	case len(p.Calls) == 0 && len(p.Errors) > 0:
		return fmt.Sprintf("a call that cannot be understood: %s", clip(p.Errors[0])), false
	case len(p.Calls) == 0:
		return fmt.Sprintf("no call; the model said %q", clip(a.content)), false
	case !x.reads(p.Calls[0].Name, p.Calls[0].Arguments, "hello.txt"):
		return fmt.Sprintf("a wrong call: %s %s", p.Calls[0].Name, clip(string(p.Calls[0].Arguments))), false
	}
	return "read_file was called with the right path", true
}

// open returns the beginning of a conversation, as in a session.
func (x *exam) open(text bool, words string) []llm.Message {
	form := llm.FormNative
	if text {
		form = llm.FormText
	}
	system := prompt.Builder{}.Build(prompt.Input{Mode: "ask", Form: form, Tools: []llm.ToolSpec{x.read}})
	return []llm.Message{{Role: llm.RoleSystem, Content: system}, {Role: llm.RoleUser, Content: words}}
}

// after sends a call with its result, and returns the calls of the next answer.
func (x *exam) after(ctx context.Context, args, result string) (reply, []toolcall.Call, error) {
	req := llm.Request{Messages: x.open(x.text, wish)}
	if x.text {
		req.Messages = append(
			req.Messages,
			llm.Message{
				Role:    llm.RoleAssistant,
				Content: fmt.Sprintf(`<tool_call>{"name": "read_file", "arguments": %s}</tool_call>`, args),
			},
			llm.Message{Role: llm.RoleUser, Content: "[TOOL RESULT: read_file]\n" + result},
		)
	} else {
		req.Tools = []llm.ToolSpec{x.read}
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "c1", Name: "read_file", Arguments: json.RawMessage(args)}}},
			llm.Message{Role: llm.RoleTool, ToolName: "read_file", ToolCallID: "c1", Content: result})
	}
	a, err := x.ask(ctx, req)
	if err != nil {
		return a, nil, err
	}
	calls := x.parser.Parse(a.content).Calls
	for _, c := range a.calls {
		if args, _, err := x.parser.Object(c.Arguments); err == nil {
			calls = append(calls, toolcall.Call{Name: c.Name, Arguments: args})
		}
	}
	return a, calls, nil
}

// repair answers a call with an error. It reports whether the model corrects the call.
func (x *exam) repair(ctx context.Context) (string, bool) {
	a, calls, err := x.after(
		ctx,
		`{"path":"helo.txt"}`,
		"read helo.txt: file does not exist; did you mean docs/hello.txt?",
	)
	switch {
	case err != nil:
		return public(err), false
	case len(calls) == 0:
		return fmt.Sprintf("after an error the model gave up: %q", clip(a.content)), false
	case !x.reads(calls[0].Name, calls[0].Arguments, "docs/hello.txt"):
		return fmt.Sprintf("after an error the model called %s %s", calls[0].Name, clip(string(calls[0].Arguments))), false
	}
	return "after an error the call was mended", true
}

// refusal answers a call with a denial. It reports whether the model accepts it.
func (x *exam) refusal(ctx context.Context) (string, bool) {
	a, calls, err := x.after(
		ctx,
		`{"path":"hello.txt"}`,
		"The person denied this. It was not run. Do not call it again; say in one sentence that it was denied.",
	)
	switch {
	case err != nil:
		return public(err), false
	case len(calls) > 0 && x.reads(calls[0].Name, calls[0].Arguments, "hello.txt"):
		return "after a refusal the model made the same call again", false
	case len(calls) == 0 && strings.TrimSpace(a.content) == "":
		return "after a refusal the model said nothing", false
	}
	return "a refusal was accepted", true
}

// reads reports whether a call reads the file name.
func (x *exam) reads(tool string, args json.RawMessage, name string) bool {
	canonical, _ := x.parser.Canonical(tool)
	var got struct {
		Path string `json:"path"`
	}
	return canonical == "read_file" && json.Unmarshal(args, &got) == nil && strings.TrimPrefix(got.Path, "./") == name
}

func clip(s string) string { return phrase.Short(strings.Join(strings.Fields(s), " "), 121) }

// advise adds the consequences of the findings for sessions.
func (x *exam) advise() {
	say := func(text string) { x.d.Advice = append(x.d.Advice, text) }
	f := x.d.Figures
	for _, found := range x.d.Findings {
		switch {
		case found.Name == "context" && !found.OK:
			say("The context is too small or is cut: give the server more memory, a larger context, or another model.")
		case found.Name == "repair" && !found.OK:
			say("The model does not mend its calls: expect sessions that fail; a larger model does better.")
		case found.Name == "refusal" && !found.OK:
			say("The model insists on refused calls: the gate holds, but turns are wasted.")
		}
	}
	switch {
	case f.Calls == "text" && f.Tools:
		say(
			"The server says that the model calls tools, and it does not: sessions use text calls after two that failed. With `model.form: text` they do so from the start.",
		)
	case f.Calls == "text":
		say("The model has no native calls: it makes calls in its text, which cost some context.")
	case f.Calls == "none":
		say("The model makes no calls: take one that was made for tools.")
	}
	if f.PerSecond > 0 && f.PerSecond < slow {
		say(
			fmt.Sprintf(
				"Slow: at %.1f tokens a second, reading of the prompts included, a session takes many minutes. A smaller model or a graphics card helps.",
				f.PerSecond,
			),
		)
	}
	if f.ContextLength >= minContext && f.ContextLength < comfortable {
		say(
			fmt.Sprintf(
				"The model holds %d tokens, less than the %d that sessions begin with: long tasks are summarized early.",
				f.ContextLength,
				comfortable,
			),
		)
	}
	if !f.Vision {
		say("The model cannot see: pictures in issues are left out.")
	}
}

// public returns the public text of a model's error.
func public(err error) string {
	var me *llm.Error
	if errors.As(err, &me) && me.Public != "" {
		return me.Public
	}
	return err.Error()
}
