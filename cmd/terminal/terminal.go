// Package terminal shows a session to the user at the command line, and asks for
// approvals. It prints the session's log in the order of the progress comment: in a pipe
// as plain lines, on a terminal with live lines below them. Output of models and commands
// never reaches the terminal unescaped.
//
//	terminal.go  past events, line by line
//	now.go       the current activity
//	screen.go    the output of both
//	log.go       log lines, above the live lines
//	look.go      the abilities of the terminal
//	ask.go       requests and questions
//	end.go       the outcome of a run
package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Config configures a [Terminal]. Only Out is required.
type Config struct {
	Out  io.Writer
	Look Look
	In   Input // nil if there is no user to ask
	Yes  bool  // approve all requests but critical ones
	// Brief omits the commands for a result: a chat has its own.
	Brief bool
	// Told also shows the messages and answers of users, for a replay.
	Told bool
	// Log is the log of the process; nil if it goes elsewhere.
	Log *Log
}

// Terminal shows a session and asks its user. It is safe for concurrent use.
type Terminal struct {
	screen  *screen
	in      Input
	yes     bool
	patchOf func(commit, parent string) string // the change of a commit; nil shows none
	again   map[string]bool                    // texts of requests that are allowed for the session
	brief   bool
	tells   bool   // also show the messages of users
	said    string // the last text of the model
	clock   func() time.Time
	start   time.Time

	view    *session.State
	told    int // number of timeline moments shown
	running []session.Moment
	quiet   bool // take events without showing them
	todo    []session.Todo
	warned  string // the last warning
	goingOn activity
}

// New returns a terminal.
func New(c Config) *Terminal {
	t := &Terminal{
		again:  map[string]bool{},
		screen: &screen{out: c.Out, look: c.Look},
		in:     c.In,
		yes:    c.Yes,
		brief:  c.Brief,
		tells:  c.Told,
		clock:  time.Now,
		start:  time.Now(),
		view:   session.NewState(),
	}
	t.screen.now = t.now
	if c.Log != nil {
		c.Log.screen.Store(t.screen)
	}
	return t
}

// Say prints a line, without text that a workflow runner would take for a command.
func (t *Terminal) Say(format string, args ...any) {
	t.screen.print(untrusted.NoRunnerCommands(fmt.Sprintf(format, args...)))
}

// Header prints the id, the settings and the branch of the session.
func (t *Terminal) Header(task session.Task, engine string) {
	l := t.screen.look
	t.Say("%s", l.in(bold, "session "+task.Session)+l.in(dim, fmt.Sprintf(" · %s mode · %s · workspace %s", task.Mode, untrusted.EscapeLine(task.Model), engine)))
	t.Say("%s\n", l.in(dim, fmt.Sprintf("from %s to branch %s", short(task.Base), task.Branch)))
}

// ToOperator returns a text about the model's server for its operator, who sits at the terminal.
func ToOperator(text string) string {
	return strings.NewReplacer(
		"the operator must check the address", "check OLLAMA_HOST or --base-url",
		"the operator must ", "",
	).Replace(text)
}

func short(commit string) string { return commit[:min(10, len(commit))] }

// Begin begins a run and its live lines. Earlier events are taken, but not shown again.
func (t *Terminal) Begin(before []session.Event) {
	t.quiet = true
	for _, e := range before {
		t.Event(e)
	}
	t.quiet, t.start = false, t.clock()
	t.goingOn.wait(t.start)
	t.screen.begin()
}

// Listen calls typed with each line that is typed while the terminal has live lines, one at
// a time. The growing line is below them. stop ends that.
func (t *Terminal) Listen(e *Editor, typed func(line string)) (stop func()) {
	s := t.screen
	if e == nil || !s.look.Live {
		return func() {}
	}
	end, err := e.listen(func(line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.typed = line
		if s.stop != nil {
			s.draw()
		}
	}, typed)
	if err != nil { // no keyboard: the work goes on without
		return func() {}
	}
	s.listening(true)
	return func() {
		end()
		s.listening(false)
	}
}

// End removes the live lines.
func (t *Terminal) End() { t.screen.end() }

// Event prints an event.
func (t *Terminal) Event(e session.Event) {
	payload, err := session.Payload(e)
	if err != nil {
		return
	}
	t.screen.mu.Lock()
	defer t.screen.mu.Unlock()
	if e.Type == session.TypeOpened { // the log of a workflow job may have several sessions
		t.view, t.told, t.running, t.todo = session.NewState(), 0, nil, nil
	}
	if t.tells { // a replay uses the times of the events
		t.clock = func() time.Time { return e.Time }
		if e.Type == session.TypeOpened {
			t.start = e.Time
		}
	}
	t.view.Take(e, payload)
	lines := t.follow(payload)
	for _, m := range t.ended() {
		lines = append(lines, t.moment(m)...)
	}
	if t.quiet {
		return
	}
	for i := range lines {
		lines[i] = untrusted.NoRunnerCommands(lines[i])
	}
	t.screen.printLocked(lines...)
}

// ended returns the new moments of the timeline, and the finished tools.
func (t *Terminal) ended() (out []session.Moment) {
	list := slices.Concat(t.running, t.view.Timeline[t.told:])
	t.running, t.told = nil, len(t.view.Timeline)
	for _, m := range list {
		if run, ok := m.(*session.ToolRun); ok && run.Result == nil && !run.CutOff {
			t.running = append(t.running, m)
			continue
		}
		out = append(out, m)
	}
	return out
}

// follow takes an event, and returns lines for events that are not on the timeline.
func (t *Terminal) follow(payload any) []string {
	l := t.screen.look
	switch p := payload.(type) {
	case *session.Opened:
		return t.message(p.Task.Text)
	case *session.Started:
		if isBookkeeping(p.Title) {
			return nil
		}
		t.goingOn.begin(p.Title, t.clock())
		if !l.Live {
			return []string{l.line("→ " + untrusted.EscapeLine(p.Title))}
		}
	case *session.Result:
		t.goingOn.wait(t.clock())
		t.goingOn.ending = p.Complete
	case *session.Note:
		t.goingOn.ending = false
	case *session.Answer, *session.Resolved:
		t.goingOn.wait(t.clock())
	case *session.Checkpoint:
		if !p.Parked {
			line := l.line(l.in(green, "✔") + " checkpoint " + short(p.Commit) + ": " + t.fileList(p.Files))
			return append([]string{line}, t.patch(p)...)
		}
	case *session.Update:
		if p.Todo != nil {
			return t.list(p.Todo)
		}
	}
	return nil
}

// maxPatch is the number of lines of a change that are shown; the rest is folded.
const maxPatch = 20

// patch returns the lines of a checkpoint's change for a terminal, without the headers of
// git: the file names are above them.
func (t *Terminal) patch(p *session.Checkpoint) (out []string) {
	l := t.screen.look
	if t.patchOf == nil || l.Width == 0 || t.quiet {
		return nil
	}
	left := 0
	for line := range strings.Lines(l.Patch(t.patchOf(p.Commit, p.Parent))) {
		line = strings.TrimRight(line, "\n")
		switch plain := ansi.Strip(line); {
		case strings.HasPrefix(plain, "diff "), strings.HasPrefix(plain, "index "), strings.HasPrefix(plain, "--- "),
			strings.HasPrefix(plain, "new file "), strings.HasPrefix(plain, "old mode"), strings.HasPrefix(plain, "new mode"):
		case len(out) == maxPatch:
			left++
		default:
			out = append(out, l.line(l.in(dim, bar)+expandTabs(line)))
		}
	}
	if left > 0 {
		all := "`handrail diff`"
		if t.brief {
			all = "/diff"
		}
		out = append(out, l.in(dim, fmt.Sprintf("%s… %d more lines: %s shows all", bar, left, all)))
	}
	return out
}

// moment returns the lines for a moment of the timeline.
func (t *Terminal) moment(m session.Moment) []string {
	switch m := m.(type) {
	case *session.Answer:
		return t.answer(m)
	case *session.ToolRun:
		return t.tool(m)
	case *session.Note:
		return t.note(m)
	case *session.Image:
		return t.image(m)
	case *session.Message:
		return t.message(m.Text)
	case *session.Push:
		return t.push(m)
	case *session.Resolved:
		if l := t.screen.look; t.tells {
			return []string{l.item("", strings.TrimSuffix(fmt.Sprintf("✋ %s: %s: %s", m.ID, m.Verdict, m.Reason), ": "))}
		}
	}
	return nil
}

// message returns the lines for a user's message. Outside of a replay there are none.
func (t *Terminal) message(text string) []string {
	if !t.tells || text == "" {
		return nil
	}
	l := t.screen.look
	return []string{l.in(bold, "> ") + l.item("", text)}
}

// answer returns the lines for an answer of the model, with its invalid tool calls.
func (t *Terminal) answer(a *session.Answer) (out []string) {
	l := t.screen.look
	if a.Thinking != "" {
		out = append(out, l.in(dim, fmt.Sprintf("  Thought for %ds", max(1, (a.ThinkingMillis+500)/1000))))
	}
	t.said = strings.TrimSpace(a.Content)
	if a.Content != "" {
		out = append(out, l.markdown(a.Content))
	}
	for _, why := range a.Errors {
		out = append(
			out,
			l.line(l.in(red, "✗")+" a tool call could not be understood: "+untrusted.EscapeLine(firstLineOf(why))),
		)
	}
	return out
}

// note returns the first line of a note to the model, and the labels of the context that
// it was given.
func (t *Terminal) note(n *session.Note) (out []string) {
	l := t.screen.look
	switch n.Kind {
	case session.NoteReminder:
	case session.NoteTookBack: // it is how the run ends
		if t.tells {
			t.said = strings.TrimSpace(n.Text)
			out = append(out, l.withBars(n.Text))
		}
	case session.NoteContext:
		for _, label := range n.Labels() {
			out = append(out, l.line(l.in(dim, "  with the task: "+untrusted.EscapeLine(label))))
		}
	case session.NoteRules:
		for _, label := range n.Labels() {
			out = append(out, l.line(l.in(dim, "  with its files: "+untrusted.EscapeLine(label))))
		}
	case session.NoteTodo, session.NoteRefused, session.NoteTests, session.NoteProblems: // the "you" in it is the model
		out = append(out, l.warning("sent back to the model: "+firstLineOf(n.Text)))
	default:
		out = append(out, l.warning(firstLineOf(n.Text)))
	}
	return out
}

// push returns the line for work that reached the branch in another way than planned.
func (t *Terminal) push(p *session.Push) []string {
	text := map[session.SentHow]string{
		session.SentRebased:  "the work is on top of what was added to " + p.Branch,
		session.SentRestored: "the branch " + p.Branch + " was gone, and is there again",
		session.SentFallback: "the work is on the branch " + p.To + ", because " + p.Branch + " could not take it",
		session.SentPatch:    "the work could not be put on a branch",
	}[p.How]
	if len(p.Conflicts) > 0 {
		text += ": others changed the same lines of " + strings.Join(p.Conflicts, ", ")
	}
	for _, why := range p.Said {
		text += ": " + why
	}
	l := t.screen.look
	return []string{l.warning(text)}
}

// image returns the environment of commands, and notes about refused parts of it.
func (t *Terminal) image(i *session.Image) []string {
	l := t.screen.look
	in := "the programs of this machine"
	if i.Name != "" {
		in = "image " + untrusted.EscapeLine(i.Name)
	}
	out := []string{l.line(l.in(dim, "  "+in+": "+untrusted.EscapeLine(i.Why)))}
	for _, note := range i.Notes {
		out = append(out, l.warning(note))
	}
	return out
}

// isBookkeeping reports whether a call with this title, which is its name, duplicates
// information that is shown elsewhere.
func isBookkeeping(title string) bool {
	return title == "update_todo_list" || title == "attempt_completion"
}

// tool returns the lines for a finished tool. With live lines, its beginning was not
// printed.
func (t *Terminal) tool(run *session.ToolRun) []string {
	l, r := t.screen.look, run.Result
	title := run.Title
	switch {
	case r == nil:
		return []string{l.line(l.in(red, "✗ ") + untrusted.EscapeLine(title) + " was cut off")}
	case isBookkeeping(run.Name) && r.OK:
		return nil
	case r.Title != "":
		title = r.Title
	case title == "":
		title = run.Name
	}
	title = untrusted.EscapeLine(title)
	if run.Inside {
		title = "↳ " + title
	}
	if took := time.Duration(r.Millis) * time.Millisecond; took >= time.Second {
		title += " · " + took.Round(time.Second).String()
	}
	failed := strings.HasPrefix(title, "Ran ") && !strings.Contains(title, "(exit code 0)")
	switch {
	case strings.HasPrefix(title, "Set up: "):
		return t.setUp(title, r)
	case !r.OK && l.Live:
		return []string{l.line(l.in(red, "✗ ") + title), l.item("  ", expandTabs(firstLineOf(r.Content)))}
	case !r.OK:
		return []string{l.in(red, "✗ ") + untrusted.EscapeLine(expandTabs(firstLineOf(r.Content)))}
	case failed, r.Tests != nil && r.Tests.Failed():
		return append([]string{l.line(l.in(red, "✗ ") + title)}, l.barLines(lastLinesOf(r.Content), l.words, dim)...)
	case l.Live:
		if !strings.Contains(title, "−") {
			title += t.changed(r.Changes)
		}
		return []string{l.line(l.in(green, "✔ ") + title)}
	case len(r.Changes) > 0:
		return []string{l.line("  " + t.fileList(r.Changes))}
	case strings.HasPrefix(title, "Ran "), run.Name == "new_task":
		return []string{l.line("  " + title)}
	}
	return nil
}

// setUp returns the lines for a set-up. The output of a successful one is shown only in a
// replay: the run itself showed its progress.
func (t *Terminal) setUp(title string, r *session.Result) []string {
	l := t.screen.look
	switch {
	case !r.OK:
		return append([]string{l.line(l.in(red, "✗ ") + title)}, l.barLines(lastLinesOf(r.Content), l.words, dim)...)
	case t.tells:
		return append([]string{l.line(l.in(green, "✔ ") + title)}, l.barLines(r.Content, l.words, dim)...)
	case l.Live:
		return []string{l.line(l.in(green, "✔ ") + title)}
	}
	return nil
}

// changed counts the changed lines of files.
func (t *Terminal) changed(files []session.FileChange) string {
	switch len(files) {
	case 0:
		return ""
	case 1:
		return "  " + t.counts(files[0])
	}
	return "  " + t.fileList(files)
}

// list returns the new and changed items of the agent's to-do list.
func (t *Terminal) list(now []session.Todo) (out []string) {
	l, was := t.screen.look, map[string]session.TodoStatus{}
	for _, item := range t.todo {
		was[item.Text] = item.Status
	}
	t.todo = now
	for _, item := range now {
		mark, c := "☐", plain
		switch item.Status {
		case session.TodoDone:
			mark, c = "☑", green
		case session.TodoDoing:
			mark, c = "◐", yellow
		}
		if before, there := was[item.Text]; !there || before != item.Status {
			out = append(out, l.line("  "+l.in(c, mark)+" "+untrusted.EscapeLine(firstLineOf(item.Text))))
		}
	}
	return out
}

func firstLineOf(s string) string { return phrase.Short(phrase.FirstLine(s), 161) }

// Limits for the output of a failed command: the number of last lines, and runes per
// line.
const (
	maxLastLines = 6
	maxLineRunes = 300
)

// lastLinesOf returns the end of a command's output, without the trailing notes for the
// model, of which only the missing packages are kept.
func lastLinesOf(content string) string {
	lines, missing := strings.Split(strings.TrimSpace(content), "\n"), ""
	for len(lines) > 1 && isNote(lines[len(lines)-1]) {
		if words, ok := strings.CutPrefix(lines[len(lines)-1], "[Missing: "); ok {
			words, _, _ = strings.Cut(words, ". ")
			missing = "missing: " + words
		}
		lines = lines[:len(lines)-1]
	}
	lines = lines[max(0, len(lines)-maxLastLines):]
	if missing != "" {
		lines = append(lines, missing)
	}
	for i, line := range lines {
		lines[i] = phrase.Short(line, maxLineRunes)
	}
	return strings.Join(lines, "\n")
}

// isNote reports whether a line is a note for the model, which is a sentence in brackets, and not
// one of Maven's such as "[INFO] …".
func isNote(line string) bool {
	return len(line) > 3 && line[0] == '[' && line[2] >= 'a' && strings.HasSuffix(line, "]")
}

// maxFilesShown is the maximum number of files listed of a change; the branch has them
// all.
const maxFilesShown = 100

func (t *Terminal) fileList(files []session.FileChange) string {
	var parts []string
	for i, f := range files {
		if i == maxFilesShown {
			parts = append(parts, fmt.Sprintf("%d more files", len(files)-i))
			break
		}
		parts = append(parts, untrusted.EscapeLine(f.Path)+" "+t.counts(f))
	}
	return strings.Join(parts, ", ")
}

func (t *Terminal) counts(f session.FileChange) string {
	l := t.screen.look
	return l.in(green, fmt.Sprintf("+%d", f.Added)) + " " + l.in(red, fmt.Sprintf("−%d", f.Removed))
}
