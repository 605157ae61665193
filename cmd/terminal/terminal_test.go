package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
)

// On the terminal a name, a reason or a text of the model is never a line that the
// terminal could have said itself.
func TestTerminalLinesAreItsOwn(t *testing.T) {
	for name, look := range map[string]Look{"piped": {}, "wide": {Width: 100, Live: true}, "narrow": {Width: 40, Live: true}} {
		t.Run(name, func(t *testing.T) { linesAreItsOwn(t, look) })
	}
}

func linesAreItsOwn(t *testing.T, look Look) {
	const forged = "Allow exactly this?"
	pad := strings.Repeat(" ", max(look.Width-len(bar)+2, 0)) // a line that the terminal wraps begins in its first column
	hostile := "secrets/a\n" + forged + "\n✔ checkpoint\n  because " + forged + "\r  approved\x1b[2K\u202e" + pad + forged
	var out bytes.Buffer
	term := New(Config{Out: &out, Look: look, In: Lines(strings.NewReader("n\n1\n"), io.Discard)})
	term.Begin(nil)
	for _, payload := range []*session.Event{
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: hostile, Calls: []session.Call{{ID: "c1", Name: "write_file"}, {ID: "c2", Name: "run_terminal_command"}}}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c1", Title: "Writing " + hostile}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Changes: []session.FileChange{{Path: hostile}, {Path: "b"}}}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c2", Title: "Running " + hostile}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c2", OK: true, Title: "Ran " + hostile + " (exit code 1)", Content: hostile + "\n[Exit code 1, 2s]"}),
		session.NewEvent(session.TypeState, 1, session.Update{Todo: []session.Todo{{Text: hostile, Status: session.TodoDoing}}}),
		session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteRefused, Text: hostile}),
		session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: "0123456789abcdef", Files: []session.FileChange{{Path: hostile}}}),
		session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Sent: &session.Sent{How: session.SentFallback, Branch: hostile, Conflicts: []string{hostile}, Said: []string{hostile}}}),
	} {
		term.Event(*payload)
	}
	term.Live(agent.Live{Title: hostile})
	term.Live(agent.Live{Content: hostile})
	term.screen.mu.Lock()
	term.screen.draw()
	term.screen.mu.Unlock()
	for _, a := range []session.Asked{
		{ID: "abcd2345", Display: hostile, Reasons: []string{hostile}}, {ID: "abcd2345", Kind: session.AskQuestion, Display: hostile, Choices: []string{hostile}},
	} {
		if _, err := term.ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	term.Outcome(session.Task{Base: "0123456789", Branch: "agent/x"}, session.Outcome{Commit: "0123456789", Reason: hostile, Summary: hostile, Files: []session.FileChange{{Path: hostile}}})
	text := regexp.MustCompile("\r\x1b\\[[0-9]+A\x1b\\[J").ReplaceAllString(out.String(), "\n") // what the terminal itself writes over
	if strings.ContainsAny(text, "\x1b\r\u202e") {
		t.Errorf("control characters reach the terminal: %q", text)
	}
	for line := range strings.SplitSeq(ansi.Hardwrap(text, cmp.Or(look.Width, 1000), true), "\n") {
		said := strings.TrimSpace(line)
		if strings.HasPrefix(said, forged) || strings.HasPrefix(said, "because Let") || said == "✔ checkpoint" {
			t.Errorf("a line that the terminal did not say: %q", line)
		}
	}
	if n := strings.Count(text, `secrets/a`); n < 12 {
		t.Errorf("the name is shown %d times:\n%s", n, text)
	}
}

// What a person is asked about is shown whole, whatever the width.
func TestRequestsAreShownWhole(t *testing.T) {
	display := strings.Repeat("rm  -rf   /tmp/a", 9) + "  && true   "
	var shown strings.Builder
	for line := range strings.SplitSeq((Look{Width: 40}).exact(display), "\n") {
		shown.WriteString(strings.TrimPrefix(line, bar))
	}
	if got := shown.String(); got != strings.TrimSpace(display) {
		t.Errorf("shown %q", got)
	}
}

// The timeline, as it looks on terminals and in a pipe.
func TestTimeline(t *testing.T) {
	for name, look := range map[string]Look{"60": {Width: 60, Live: true}, "100": {Width: 100, Live: true, Colour: true}, "piped": {}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			term := New(Config{Out: &out, Look: look})
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			term.clock = func() time.Time { return at }
			term.start = at
			task := session.Task{Session: "s1abc", Mode: "code", Model: "m", Base: "0123456789abcdef", Branch: "agent/x"}
			term.Header(task, "bwrap")
			term.goingOn.wait(at)
			for _, e := range timeline(task) {
				at = at.Add(3 * time.Second)
				term.Event(*e)
				if e.Type == session.TypeStarted {
					term.Printed(func() string { return "--- FAIL: TestGreeting\x1b[31m" })
				}
				if now := term.now(); look.Live && len(now) > 0 {
					out.WriteString("        now: " + strings.Join(now, "\n             ") + "\n")
				}
			}
			term.Outcome(task, session.Outcome{
				Status: session.StatusDone, Summary: "The greeting is right now, in all of the three places in which the program says hello.", Tests: "`go test`: exit 0",
				Commit: "feedbeef00112233", Files: []session.FileChange{{Path: "greet.go", Kind: "modify", Added: 1, Removed: 1}}, Turns: 1,
			})
			golden(t, name, out.String())
		})
	}
}

func timeline(task session.Task) []*session.Event {
	call := func(id, name string) session.Call { return session.Call{ID: id, Name: name} }
	changes := []session.FileChange{{Path: "greet.go", Kind: "modify", Added: 1, Removed: 1}}
	list := func(s session.TodoStatus) session.Update {
		return session.Update{Todo: []session.Todo{{Text: "fix the greeting", Status: s}}}
	}
	return []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{
			Thinking: "hm", ThinkingMillis: 8100, Content: "I look at the greeting, and at what its test says of it, before I change anything.", PromptTokens: 3000, AnswerTokens: 120,
			Calls: []session.Call{call("1", "update_todo_list"), call("2", "read_file"), call("3", "run_terminal_command"), call("4", "edit_file"), call("5", "write_file")},
		}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "1", Title: "update_todo_list"}),
		session.NewEvent(session.TypeState, 1, list(session.TodoDoing)),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "1", OK: true}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "2", Title: "Reading greet.go"}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "2", OK: true, Title: "Read greet.go"}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "3", Title: "Running go test ./greeting/... -run 'TestGreeting|TestFarewell' -count=1 -v"}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "3", OK: true, Title: "Ran go test ./greeting/... (exit code 1)", Millis: 61_200, Content: "a\nb\nc\nd\ne\nwant Hello\ngot Helo\n[Exit code 1, 1m1s]"}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "4", Title: "Writing greet.go"}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "4", OK: true, Title: "Edited greet.go", Changes: changes}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "5", Content: "This was refused: mode \"code\" does not write there.\nmore"}),
		session.NewEvent(session.TypeState, 1, list(session.TodoDone)),
		session.NewEvent(session.TypeCheckpoint, 1, session.Checkpoint{Commit: "feedbeef00112233", Files: changes}),
		session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteTests, Text: "The tests still fail.\nmore"}),
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "timeline_"+name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s\nif the change is right: go test ./cmd/terminal -update", file, d)
	}
}

// What is printed for a shell is what the shell reads: bash is the judge.
func TestCommandsAreQuoted(t *testing.T) {
	words := []string{"resume", "s1abc", "--repo", "/home/kim's code/a b", "$(id)", "", "*", "~", "#x", "a\nb", "ä", "-n", "!x", `\`}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `handrail() { printf '%s\0' "$@"; }; `+Command(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("bash reads %q", got)
	}
}

// A dumb terminal and a pipe get no control codes, and NO_COLOR no colour.
func TestLook(t *testing.T) {
	pty, tty, err := openPTY(t)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	for name, tt := range map[string]struct {
		term, noColor string
		out           io.Writer
		live, colour  bool
	}{
		"a terminal":      {"xterm", "", tty, true, true},
		"without colours": {"xterm", "1", tty, true, false},
		"a dumb terminal": {"dumb", "", tty, false, false},
		"a pipe":          {"xterm", "", &bytes.Buffer{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", tt.term)
			t.Setenv("NO_COLOR", tt.noColor)
			if l := LookOf(tt.out); l.Live != tt.live || l.Colour != tt.colour {
				t.Errorf("LookOf = %+v", l)
			}
		})
	}
}

// openPTY returns the two ends of a pseudo-terminal.
func openPTY(t *testing.T) (pty, tty *os.File, err error) {
	t.Helper()
	if pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, pty.Close())
	}
	t.Cleanup(func() { tty.Close() })
	return pty, tty, nil
}

// TestLogAboveWhatGoesOn: a line of the log takes what goes on from the screen first, and
// what the terminal says in words is not logged beside them.
func TestLogAboveWhatGoesOn(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out)
	logger := log.WithoutShown(slog.New(slog.NewTextHandler(log, nil)))
	logger.Warn(agent.TriesAgain)
	if !strings.Contains(out.String(), agent.TriesAgain) {
		t.Errorf("without a terminal nobody says it: %q", out.String())
	}
	term := New(Config{Out: &out, Look: Look{Width: 80, Live: true}, Log: log})
	term.Begin(nil)
	defer term.End()
	term.screen.mu.Lock()
	term.screen.draw()
	term.screen.mu.Unlock()
	logger.With("a", 1).WithGroup("g").Warn(agent.TriesAgain)
	logger.Warn("look out")
	text := out.String()
	if strings.Count(text, agent.TriesAgain) != 1 {
		t.Errorf("said twice: %q", text)
	}
	var pipe bytes.Buffer
	piped := NewLog(&pipe)
	New(Config{Out: &pipe, Log: piped})
	logger = piped.WithoutShown(slog.New(slog.NewTextHandler(piped, nil)))
	logger.Warn(agent.TriesAgain)
	if pipe.Len() > 0 {
		t.Errorf("said twice in a pipe: %q", pipe.String())
	}
	if !regexp.MustCompile("Ctrl-C parks the session\n\r\x1b\\[2A\x1b\\[Jtime=.* level=WARN msg=\"look out\"\n$").MatchString(text) {
		t.Errorf("the line stands in what goes on: %q", text)
	}
}

// TestLogAboveALine: a line of the log stands above the line that is being typed, which is
// there again below it; what is typed then goes on with it.
func TestLogAboveALine(t *testing.T) {
	pty, tty, err := openPTY(t)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	var other bytes.Buffer
	log := NewLog(&other)
	e := NewEditor(EditorConfig{In: tty, Out: tty, Log: log})
	screen := bufio.NewReader(pty)
	shows := func(words string) (got string) {
		t.Helper()
		for !strings.HasSuffix(got, words) {
			b, err := screen.ReadByte()
			if err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
			got += string(b)
		}
		return got
	}
	line := make(chan string)
	go func() {
		said, err := e.Line(t.Context(), "code> ")
		line <- fmt.Sprint(said, err)
	}()
	shows("code> ")
	if _, err := io.WriteString(pty, "fix a"); err != nil {
		t.Fatal(err)
	}
	shows("fix a")
	if _, err := io.WriteString(log, "look out\n"); err != nil {
		t.Fatal(err)
	}
	if got := shows("code> fix a"); !strings.Contains(got, "look out\r\n") || other.Len() > 0 {
		t.Errorf("the screen gets %q, and the log %q", got, other.String())
	}
	if _, err := io.WriteString(pty, ".txt\r"); err != nil {
		t.Fatal(err)
	}
	if got := <-line; got != "fix a.txt<nil>" {
		t.Errorf("the line is %q", got)
	}
	if _, err := io.WriteString(log, "later\n"); err != nil || other.String() != "later\n" {
		t.Errorf("while nobody types, the log gets %q: %v", other.String(), err)
	}
}

// Code is shown with its tabs as columns; other control characters are escaped, and so
// are the tabs of what a person is asked about.
func TestTabs(t *testing.T) {
	got := strings.Join(Look{}.barLines("func f() {\n\treturn\tx \x1b[2K\n\t\ty\u202e\n}", Look{}.words, plain), "\n")
	want := "  │ func f() {\n  │     return  x \\u001b[2K\n  │         y\\u202e\n  │ }"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Look{}).exact("echo\ta"); got != bar+`echo\ta` {
		t.Errorf("subject to approval: %q", got)
	}
}

// A silence of the model's server is told: in a pipe a line each time, on a terminal one
// that is written over. So is what is being written, and how fast.
func TestSilenceAndSpeed(t *testing.T) {
	silent := agent.Live{Title: "Waiting for the model server: no word for 15 s (m at 127.0.0.1:11434; it may be reading the prompt)", Silent: 15 * time.Second}
	longer := agent.Live{Title: strings.Replace(silent.Title, "15 s", "30 s", 1), Silent: 30 * time.Second}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	show := func(look Look, live ...agent.Live) (printed, now string) {
		var out bytes.Buffer
		term := New(Config{Out: &out, Look: look})
		term.clock = func() time.Time { return at }
		term.goingOn.wait(at)
		for _, l := range live {
			term.Live(l)
		}
		return out.String(), strings.Join(term.now(), "\n")
	}
	if printed, _ := show(Look{}, silent, longer); printed != "  "+silent.Title+"\n  "+longer.Title+"\n" {
		t.Errorf("in a pipe: %q", printed)
	}
	printed, now := show(Look{Live: true, Width: 60}, silent, longer)
	if printed != "" || !strings.Contains(now, "no word for 30 s · 0s\n  └ m at 127.0.0.1:11434; it may be reading the prompt\n") {
		t.Errorf("printed %q, now\n%s", printed, now)
	}
	for want, l := range map[string]agent.Live{
		"│ # net.py\n⠙ Writing net.py · 24 tokens/s · 0s": {Content: "# net.py", Title: "Writing net.py", Speed: 24},
		"⠙ Writing net.py · 0s":                           {Title: "Writing net.py"},
		"│ The\n⠙ answering · 7 tokens/s · 0s":            {Content: "The", Speed: 7},
		"│ Hm\n⠙ thinking · 7 tokens/s · 0s":              {Thinking: "Hm", Speed: 7},
	} {
		if printed, now := show(Look{Live: true}, l); printed != "" || !strings.Contains(now, want) {
			t.Errorf("printed %q, now\n%s\nwant\n%s", printed, now, want)
		}
	}
}

// TestUndoAsksNoModel: while steps are taken back, the terminal does not speak of the model.
func TestUndoAsksNoModel(t *testing.T) {
	asked := *session.NewEvent(session.TypeMessage, 0, session.Message{TakeBack: &session.TakeBack{Do: session.Undo, N: 1}})
	opened := *session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Text: "x"}})
	ended := *session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusDone}})
	undone := *session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteTookBack, Text: "Undone"})
	for _, tt := range []struct {
		want   string
		before []session.Event
	}{
		{"changing the branch", []session.Event{opened, asked}},
		{"changing the branch", []session.Event{opened, ended, asked, undone}},
		{"waiting for the model", []session.Event{opened}},
		{"waiting for the model", []session.Event{opened, asked, undone}},
	} {
		term := New(Config{Out: io.Discard, Look: Look{Live: true, Width: 80}})
		term.Begin(tt.before)
		term.End()
		if now := strings.Join(term.now(), "\n"); !strings.Contains(now, tt.want) {
			t.Errorf("%q, want %q", now, tt.want)
		}
	}
}

// TestFinishing: behind the model's last word the terminal does not wait for a further turn.
func TestFinishing(t *testing.T) {
	term := New(Config{Out: io.Discard, Look: Look{Live: true, Width: 80}})
	term.Begin(nil)
	defer term.End()
	for _, tt := range []struct {
		want  []string
		event *session.Event
	}{
		{[]string{"waiting for the model", "turn 2"}, session.NewEvent(session.TypeAnswer, 1, session.Answer{Calls: []session.Call{{ID: "c1"}}})},
		{[]string{"finishing", "turn 1"}, session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Complete: true})},
		{[]string{"waiting for the model", "turn 2"}, session.NewEvent(session.TypeNote, 1, session.Note{Kind: session.NoteTests, Text: "No."})},
	} {
		term.Event(*tt.event)
		term.screen.mu.Lock()
		now := strings.Join(term.now(), "\n")
		term.screen.mu.Unlock()
		for _, want := range tt.want {
			if !strings.Contains(now, want) {
				t.Errorf("%q, want %q", now, want)
			}
		}
	}
}

// TestLastLines: of a failed command its last lines are shown, Maven's in brackets among them,
// and no notes for the model.
func TestLastLines(t *testing.T) {
	for content, want := range map[string]string{
		"[INFO] Scanning for projects...\n[ERROR] Tests run: 3, Failures: 1\n[ERROR] [Help 1]\n[Exit code 1, 2s]": "[INFO] Scanning for projects...\n[ERROR] Tests run: 3, Failures: 1\n[ERROR] [Help 1]",
		"ModuleNotFoundError: six\n[Exit code 1, 2s]\n[Missing: six, a package of pip. Ask for presets: [pip]]":   "ModuleNotFoundError: six\nmissing: six, a package of pip",
		"[Exit code 1, 2s]": "[Exit code 1, 2s]",
	} {
		if got := lastLinesOf(content); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestToOperator: the user of a terminal is the operator of whom a failure speaks.
func TestToOperator(t *testing.T) {
	const why = "The server at the model's address is not Ollama; the operator must check the address"
	const want = "The server at the model's address is not Ollama; check OLLAMA_HOST or --base-url"
	var out bytes.Buffer
	term := New(Config{Out: &out})
	term.Live(agent.Live{Title: why})
	term.Outcome(session.Task{}, session.Outcome{Status: session.StatusFailed, Turns: 1, Reason: why + "."})
	if text := out.String(); strings.Count(text, want) != 2 || strings.Contains(text, "operator") {
		t.Errorf("said: %q", text)
	}
	if got := ToOperator("refused access; the operator must check its key"); got != "refused access; check its key" {
		t.Errorf("said: %q", got)
	}
}

// TestWorkElsewhere: work that reached its branch in another way than planned is told.
func TestWorkElsewhere(t *testing.T) {
	for want, cp := range map[string]session.Checkpoint{
		"! the work is on top of what was added to b\n": {Sent: &session.Sent{How: session.SentRebased, Branch: "b"}},
		"! the branch b was gone, and is there again\n": {Sent: &session.Sent{How: session.SentRestored, Branch: "b"}},
		"! the work is on the branch b-2, because b could not take it: others changed the same lines of x, y\n": {
			Branch: "b-2", Sent: &session.Sent{How: session.SentFallback, Branch: "b", Conflicts: []string{"x", "y"}},
		},
		"! the work is on top of what was added to b: the branch was rewritten\n": {Sent: &session.Sent{How: session.SentRebased, Branch: "b", Said: []string{"the branch was rewritten"}}},
	} {
		var out bytes.Buffer
		term := New(Config{Out: &out, In: Lines(strings.NewReader(""), io.Discard)})
		term.Begin(nil)
		term.Event(*session.NewEvent(session.TypeCheckpoint, 1, cp))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
