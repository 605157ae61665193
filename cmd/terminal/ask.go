package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Input reads lines from the user. Line shows a prompt and returns a line without its
// line end. It returns at once if ctx is done, and io.EOF at the end of the input.
type Input interface {
	Line(ctx context.Context, prompt string) (string, error)
}

// lines reads lines from a stream, such as a pipe.
type lines struct {
	out   io.Writer
	once  sync.Once
	begin func()
	got   chan read
}

type read struct {
	line string
	err  error
}

// Lines returns an input that reads a stream. Prompts go to out.
func Lines(in io.Reader, out io.Writer) Input {
	l := &lines{out: out, got: make(chan read)}
	l.begin = func() {
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				l.got <- read{line: strings.TrimRight(line, "\r\n")}
			}
			if err != nil {
				close(l.got)
				return
			}
		}
	}
	return l
}

// Line implements [Input].
func (l *lines) Line(ctx context.Context, prompt string) (string, error) {
	l.once.Do(func() { go l.begin() }) // a read cannot be cancelled: it ends with the process
	fmt.Fprint(l.out, prompt)
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r, ok := <-l.got:
		if !ok {
			return "", io.EOF
		}
		return r.line, r.err
	}
}

// Secret asks at a terminal for a line without echo. It returns at once if ctx is done,
// and io.EOF for Ctrl-C and Ctrl-D.
func Secret(ctx context.Context, in *os.File, out io.Writer, prompt string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask for a secret: %w", err)
	}
	typed := make(chan read, 1)
	go func() { // a read cannot be cancelled: it ends with the process
		line, err := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, out}, "").ReadPassword(prompt)
		typed <- read{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(in.Fd()), before))
	case r := <-typed:
		return r.line, errors.Join(r.err, term.Restore(int(in.Fd()), before))
	}
}

// read asks for a line and hides the live lines meanwhile.
func (t *Terminal) read(ctx context.Context, prompt string) (string, error) {
	if t.in == nil {
		return "", io.EOF
	}
	t.screen.hold(true)
	defer t.screen.hold(false)
	line, err := t.in.Line(ctx, prompt)
	return strings.TrimSpace(line), err
}

// Confirm asks for a yes. Any other answer, or the end of the input, is a no.
func (t *Terminal) Confirm(ctx context.Context, question string) (bool, error) {
	line, err := t.read(ctx, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return isYes(line), err
}

// Pick asks for one of these answers; an empty line is the first one, and the end of the
// input is "". Another line is asked again.
func (t *Terminal) Pick(ctx context.Context, question string, answers ...string) (string, error) {
	for {
		line, err := t.read(ctx, question)
		switch {
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "", err
		case line == "":
			return answers[0], nil
		}
		for _, a := range answers {
			if strings.EqualFold(line, a) {
				return a, nil
			}
		}
	}
}

func isYes(line string) bool { return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes") }

// Approve implements agent.Approver at the prompt. The end of the input is a denial.
func (t *Terminal) Approve(ctx context.Context, asked []session.Asked) ([]session.Resolved, error) {
	var out []session.Resolved
	for _, a := range asked {
		r, err := t.ask(ctx, a)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// approverName is the approver's name in resolutions.
const approverName = "the user at the terminal"

func (t *Terminal) ask(ctx context.Context, a session.Asked) (session.Resolved, error) {
	if err := ctx.Err(); err != nil {
		return session.Resolved{}, err
	}
	if a.Kind == session.AskQuestion {
		return t.question(ctx, a)
	}
	severity := ""
	if a.Severity != "" && a.Severity != policy.None.String() {
		severity = ", severity " + a.Severity
	}
	l := t.screen.look
	head := []string{fmt.Sprintf("✋ approval %s%s: %s", a.ID, severity, purposeOf(a))}
	if l.Width > 0 {
		head = strings.Split(l.words(head[0], max(l.Width-len([]rune(bar))-1, 16)), "\n")
	}
	t.Say("\n%s", l.in(yellow, head[0]))
	for _, line := range head[1:] {
		t.Say("%s", l.in(dim, bar)+l.in(yellow, line))
	}
	t.Say("%s", l.exact(a.Display))
	for _, r := range a.Reasons {
		t.Say("%s", l.item("  because ", r))
	}
	again := t.again[a.Display] && a.Severity != policy.Critical.String() //control:again-is-the-same-text
	if again {
		t.Say("  allowed before, for this session\n")
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: approverName, Reason: "allowed for this session"}, nil
	}
	if t.yes && a.Severity != policy.Critical.String() {
		t.Say("  approved by --yes\n")
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "--yes"}, nil
	}
	line, err := t.decide(ctx, a)
	t.Say("")
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return session.Resolved{}, err
	case err != nil:
		return session.Resolved{ID: a.ID, Verdict: policy.Denied, Reason: "the terminal gave no answer"}, nil
	case isYes(line):
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: approverName}, nil
	case strings.EqualFold(line, "a") && a.Severity != policy.Critical.String():
		t.again[a.Display] = true
		return session.Resolved{ID: a.ID, Verdict: policy.Approved, By: approverName}, nil
	case strings.EqualFold(line, "n"), strings.EqualFold(line, "no"):
		line = ""
	}
	return session.Resolved{ID: a.ID, Verdict: policy.Denied, By: approverName, Reason: line}, nil
}

// decide asks for the decision on a request, and shows its digest on the way if wanted.
func (t *Terminal) decide(ctx context.Context, a session.Asked) (string, error) {
	question := "Allow exactly this? [y/N, a: also each time later, d: digest, or why not] "
	if a.Severity == policy.Critical.String() {
		question = "Allow exactly this? [y/N, d: digest, or why not] "
	}
	for {
		line, err := t.read(ctx, question)
		switch {
		case err == nil && line == "" && t.screen.hasBegun(): // Enter was meant for another line
			t.Say("  The line that you began is kept. Answer this first.")
		case err != nil || !strings.EqualFold(line, "d"):
			return line, err
		default:
			t.Say("  sha256 %s", a.Digest)
		}
	}
}

// purposeOf describes the purpose of a request.
func purposeOf(a session.Asked) string {
	switch {
	case a.Tool == session.SetUpTool:
		return "the repository wants to run its set-up, once for all sessions"
	case a.Tool == session.ProposedServer:
		return "the repository wants to use the MCP server " + untrusted.EscapeLine(a.Server) + ", in all sessions"
	case a.Tool == session.ProposedLanguageServer:
		return "the repository wants to use the language server " + untrusted.EscapeLine(a.Server) + ", in all sessions"
	case a.Server != "":
		return "the agent wants to use the MCP server " + untrusted.EscapeLine(a.Server)
	case a.Tool == session.GuestAction && strings.HasPrefix(a.Display, session.GuestOther):
		return "the agent wants to use a tool of its own"
	case strings.HasPrefix(a.Display, a.Tool+" {"):
		return "the agent wants to use " + a.Tool
	case len(a.Paths) == 0:
		return "the agent wants to run a command"
	case a.Tool == session.PublishTool:
		return "the agent wants to put on the branch a change to " + pathList(a.Paths)
	}
	return "the agent wants to change " + pathList(a.Paths)
}

func pathList(paths []string) string {
	shown := paths[:min(len(paths), maxFilesShown)]
	out := untrusted.EscapeLine(strings.Join(shown, ", "))
	if more := len(paths) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (t *Terminal) question(ctx context.Context, a session.Asked) (session.Resolved, error) {
	l := t.screen.look
	t.Say("\n%s\n%s", l.in(yellow, "❓ The agent asks:"), l.markdown(a.Display))
	for i, c := range a.Choices {
		t.Say("%s", l.line(fmt.Sprintf("  %d. %s", i+1, untrusted.EscapeLine(c))))
	}
	line, err := t.read(ctx, "> ")
	switch {
	case errors.Is(err, io.EOF):
		return session.Resolved{ID: a.ID, Verdict: policy.Expired}, nil
	case err != nil:
		return session.Resolved{}, err
	}
	return session.Resolved{ID: a.ID, Verdict: policy.Answered, Reason: line}, nil
}
