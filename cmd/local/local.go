// Package local is a session in a clone on this machine: how it begins and continues, and
// how its result is used. The caller supplies the engine.
//
//	local.go   begin or continue, and work; start reading here
//	watch.go   answers that come from a browser
//	branch.go  the branch for the result
//	others.go  other repositories to read
//	files.go   the user's checked out files
//	result.go  the verbs for the result: diff and apply
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Wish is a request from the command line.
type Wish struct {
	Session string // the session to continue; empty begins a new one
	Repo    string // empty means the current directory, or the session's own clone
	Text    string
	Images  []session.Blob
	Context []session.Item // files attached to Text
	Branch  string         // of a new session; empty uses the configured name
	With    policy.Choice
	Clone   session.Clone // settings of a new session
	Include bool          // include uncommitted changes
	Person  bool          // the user can answer questions
	// Check returns an error if a new session cannot use the model; nil skips the check.
	Check func(ctx context.Context, model string) error
	// Pick returns the model for a request that names none; nil if the server cannot be asked.
	Pick func(ctx context.Context) (string, error)
	// TakeBack undoes or redoes checkpoints of the session; nil leaves them.
	TakeBack *session.TakeBack
}

// Watch shows a session in a browser while it runs.
type Watch struct {
	Desk  *Desk
	Alone bool // the terminal has no user to ask
	Live  func(agent.Live)
	Event func()
}

// Session is a session that this process works on. The caller must close it.
type Session struct {
	Task  session.Task
	Rules policy.Config

	repo *gitops.Mirror
	log  *logOf
	by   gitops.Signature // the committer
	term *terminal.Terminal
	end  session.Outcome // of the last run

	begun  bool
	person bool // there is a user to ask
	idle   bool // the session is done, and the wish adds nothing

	watch *Watch // nil without a browser
	keys  *terminal.Editor
	typed func(ctx context.Context, line string) error
	added atomic.Int64           // messages since the beginning of the run
	call  atomic.Pointer[func()] // ends the running call; nil without one

	clones map[string]string // of other repositories, by name
	others []work.Other

	published string // last commit of a session that goes on; "" for a new one
}

// Open begins a session, or continues one.
func Open(ctx context.Context, term *terminal.Terminal, w Wish) (s *Session, err error) {
	s = &Session{
		person: w.Person,
		term:   term,
		Task: session.Task{
			Session: w.Session,
			Text:    w.Text,
			Images:  w.Images,
			Context: w.Context,
			Branch:  w.Branch,
			Clone:   w.Clone,
		},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	var before *StoredRun
	if w.Session != "" {
		if before, err = Read(w.Session); err != nil {
			return s, err
		}
		s.published = before.State.Published
		s.here(ctx, &w, before)
	}
	if err := s.findOthers(w, before); err != nil {
		return s, err
	}
	s.Task.Clone.Path = cmp.Or(w.Repo, ".")
	if s.repo, err = openClone(s.Task.Clone.Path, before); err != nil {
		return s, err
	}
	tree, err := WorkTreeOf(ctx, s.Task.Clone.Path)
	switch {
	case err == nil:
		s.Task.Clone.Path = tree.dir
	case before != nil, errors.Is(err, errBare):
	case errors.Is(err, errNoGit):
		term.Say(
			"! git is not installed here, so changes that are not committed are not looked for: the work begins at the last commit.",
		)
	default:
		term.Say(
			"! git does not work here, so changes that are not committed are not looked for: the work begins at the last commit. %s",
			untrusted.EscapeLine(strings.Join(strings.Fields(err.Error()), " ")),
		)
	}
	settings, by := tree.settings(ctx)
	s.repo.Follow(settings)
	s.by = by
	if before == nil {
		return s, s.begin(ctx, w, tree)
	}
	if at := tree.checkedOut(ctx, before.State.Branch); at != "" { //control:run-not-checked-out
		return s, door.Usage(
			"the session's branch %s is checked out in %s, and its files would not follow: check out another one there first, for example with `git switch -`",
			before.State.Branch,
			at,
		)
	}
	return s, s.continueRun(ctx, w, before)
}

// here selects the clone of a continued session, and tells the user if it is another one.
func (s *Session) here(ctx context.Context, w *Wish, before *StoredRun) {
	own := before.State.Task.Clone.Path
	if w.Repo != "" || own == "" {
		return
	}
	w.Repo = own
	if at, err := WorkTreeOf(ctx, "."); err == nil && at.dir != own {
		s.term.Say("Session %s works in %s, and not in this clone.", w.Session, own)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func openClone(path string, before *StoredRun) (*gitops.Mirror, error) {
	repo, err := gitops.OpenLocal(path)
	switch {
	case err != nil && before != nil && path == before.State.Task.Clone.Path:
		return nil, door.Usage(
			"the clone of session %s cannot be opened; where it is now, say with --repo DIR: %w",
			before.ID,
			err,
		)
	case err != nil && !isDir(path):
		return nil, door.Usage("%s is no directory; name the clone to work in with --repo DIR", path)
	case errors.Is(err, gitops.ErrNotFound) && path == ".":
		return nil, door.Usage("this directory is not in a git repository; name the clone to work in with --repo DIR")
	case errors.Is(err, gitops.ErrNotFound):
		return nil, door.Usage("%s is not in a git repository; name the clone to work in with --repo DIR", path)
	case err != nil:
		return nil, door.UsageError{Err: err}
	}
	return repo, nil
}

// begin creates a new session: its first commit, its rules, its branch and its log.
func (s *Session) begin(ctx context.Context, w Wish, tree WorkTree) error {
	head, err := s.repo.Resolve(ctx, "HEAD")
	if errors.Is(err, gitops.ErrNotFound) {
		return door.Usage(
			"%s has no commit yet; make a first one, for example with `git commit --allow-empty -m start`",
			s.Task.Clone.Path,
		)
	}
	if err != nil {
		return fmt.Errorf("find the commit to work from: %w", err)
	}
	if err := s.checkFree(ctx, w.Branch, tree); err != nil {
		return err
	}
	if s.Rules, err = s.rules(ctx, head); err != nil {
		return err
	}
	if w.With.Model == "" && s.Rules.Model == "" && w.Pick != nil {
		if w.With.Model, err = w.Pick(ctx); err != nil {
			return err
		}
		s.term.Say("The only model of the server is taken: %s", untrusted.EscapeLine(w.With.Model))
	}
	with, note, err := door.Choose(s.Rules, w.With)
	if err != nil {
		return err
	}
	if note != "" {
		s.term.Say("%s", note)
	}
	s.Task.Mode, s.Task.Model, s.Task.Turns = with.Mode, with.Model, with.Turns
	if s.Task.Base, err = s.base(ctx, w, tree, head); err != nil {
		return err
	}
	if w.Check != nil {
		if err := w.Check(ctx, s.Task.Model); err != nil {
			return err
		}
	}
	s.Task.Session = session.NewID()
	if err := s.reserve(ctx, s.Rules.Branch); err != nil {
		return err
	}
	if s.Task.Base != head {
		if err := work.KeepBase(ctx, s.repo, s.Task.Session, s.Task.Base); err != nil {
			return err
		}
	}
	s.log, err = openRuns(s.Task.Session)
	return err
}

// rules returns the rules of the repository; there is no server to add its own.
func (s *Session) rules(ctx context.Context, at string) (policy.Config, error) {
	cfg, err := work.ReadConfig(ctx, s.repo, at)
	return cfg.WithDefaults(), err
}

// continueRun continues a session. New text becomes a message.
func (s *Session) continueRun(ctx context.Context, w Wish, before *StoredRun) error {
	if w.Branch != "" {
		return door.Usage("--branch goes with a new task: the session has one")
	}
	if len(w.Images) > 0 && w.Text == "" {
		return door.Usage("--picture needs --task, which says its purpose")
	}
	head, err := s.repo.Resolve(ctx, before.State.Task.Base)
	if errors.Is(err, gitops.ErrNotFound) {
		return door.Usage(
			"%s does not have the commit %.10s that session %s began with; its clone is %s (say with --repo where it is now)",
			s.Task.Clone.Path,
			before.State.Task.Base,
			before.ID,
			cmp.Or(before.State.Task.Clone.Path, "not known"),
		)
	}
	if err != nil {
		return err
	}
	if now, err := s.repo.Resolve(ctx, "HEAD"); err == nil {
		head = now
	}
	if s.Rules, err = s.rules(ctx, head); err != nil {
		return err
	}
	if s.log, err = openRuns(w.Session); err != nil {
		return err
	}
	return s.addMessage(ctx, w)
}

// addMessage records the user's message to an existing session.
func (s *Session) addMessage(ctx context.Context, w Wish) error {
	events, err := s.log.Events(ctx, 0)
	if err != nil {
		return err
	}
	if len(events) == 0 { // its process died before the first event
		return door.Usage("session %s did not begin; run its task again", s.Task.Session)
	}
	s.Task.Text = w.Text
	path := s.Task.Clone.Path
	defer func() { s.Task.Clone.Path = path }()
	said, err := door.ContinueSession(s.Rules, events, &s.Task, w.With)
	if err != nil {
		return err
	}
	said.Images, said.Context = w.Images, w.Context
	state, err := session.Fold(events)
	if err != nil {
		return err
	}
	s.idle = w.TakeBack == nil && w.Text == "" && state.Finished() && state.Outcome.Status != session.StatusPlanned
	switch {
	case s.idle: // also after steps were taken back, which the model did not hear of
		return nil
	case w.TakeBack == nil:
		if err := s.adopt(ctx, state, w.Text); err != nil {
			return err
		}
		return s.log.Append(ctx, session.NewEvent(session.TypeMessage, 0, said))
	}
	return s.log.Append(ctx, state.WithTakeBack(said, session.Place{}, *w.TakeBack)...)
}

// adopt has a session with a new task go on from the present commit of its branch.
func (s *Session) adopt(ctx context.Context, state *session.State, asked string) error {
	if asked == "" {
		return nil
	}
	events, files, err := work.Adopt(ctx, s.repo, state)
	if err != nil || len(events) == 0 {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	s.term.Say(
		"The branch %s was changed since (%s): the work goes on from what it has now.",
		state.Branch,
		cmp.Or(firstFiles(names), "no files"),
	)
	return s.log.Append(ctx, events...)
}

// maxShown is the size in bytes of a change up to which it is shown.
const maxShown = 256 << 10

// Engine is an engine with the name of its workspace.
type Engine struct {
	*work.Engine
	Workspace string
}

// Show shows the session in a browser from now on.
func (s *Session) Show(w *Watch) { s.watch = w }

// Listen takes the lines that are typed while the session works. do takes each; without
// it, a line is a message to the session.
func (s *Session) Listen(e *terminal.Editor, do func(ctx context.Context, line string) error) {
	s.keys, s.typed = e, do
	if do == nil {
		s.typed = func(ctx context.Context, line string) error { return s.Interject(ctx, Wish{Text: line}) }
	}
}

// Interject records a message to the session at work. The model reads it before its next
// turn; an end that it does not know of is none.
func (s *Session) Interject(ctx context.Context, w Wish) error {
	s.added.Add(1)
	m := session.Message{Text: w.Text, Images: w.Images, Context: w.Context}
	return s.log.Append(ctx, session.NewEvent(session.TypeMessage, 0, m))
}

// endCall is the line that ends the running call of a tool.
const endCall = "/skip"

// Skip ends the running call of a tool; the session goes on. It returns false if none is running.
func (s *Session) Skip() bool {
	end := s.call.Load()
	if end != nil {
		(*end)()
	}
	return end != nil
}

// listen begins to take lines, until the returned function is called.
func (s *Session) listen(ctx context.Context) (stop func()) {
	if s.keys == nil {
		return func() {}
	}
	end := s.term.Listen(s.keys, func(line string) {
		s.term.Say("> %s", untrusted.EscapeLine(line))
		do := s.typed
		if line == endCall {
			do = func(context.Context, string) error {
				if !s.Skip() {
					return door.Usage("no call of a tool is running; Ctrl-C ends the work")
				}
				return nil
			}
		}
		if err := do(ctx, line); err != nil {
			s.term.Say("! %s", untrusted.EscapeLine(err.Error()))
		}
	})
	silent := context.AfterFunc(ctx, func() { s.term.Say("Stopping. Ctrl-C again ends it at once.") })
	return sync.OnceFunc(func() { silent(); end() })
}

// Log returns the session's log.
func (s *Session) Log() session.Log { return s.log }

// shown returns the places that show the session.
func (s *Session) shown() (agent.Approver, work.Shown) {
	to := work.Shown{OnEvent: s.term.Event, OnLive: s.term.Live, OnOutput: s.term.Printed, OnSetup: s.term.Setup}
	to.OnCall = func(end func()) {
		s.call.Store(nil)
		if end != nil {
			s.call.Store(&end)
		}
	}
	if s.watch == nil {
		return s.term, to
	}
	to.OnEvent = func(e session.Event) { s.term.Event(e); s.watch.Event() }
	to.OnLive = func(l agent.Live) { s.term.Live(l); s.watch.Live(l) }
	if s.watch.Alone {
		return both{nil, s.watch.Desk}, to
	}
	return both{s.term, s.watch.Desk}, to
}

// Work runs the session until it ends or parks, prints its events, and returns its
// outcome.
func (s *Session) Work(ctx context.Context, e Engine) (session.Outcome, error) {
	before, err := s.log.Events(ctx, 0)
	if err != nil {
		return s.end, err
	}
	if !s.begun {
		s.term.Header(s.Task, e.Workspace)
	}
	s.begun = true
	s.term.Patches(func(commit, parent string) string {
		text, _, err := s.repo.Diff(ctx, parent, commit, gitops.DiffOptions{MaxBytes: maxShown})
		if err != nil {
			return "" // only a picture: the branch has the change
		}
		return text
	})
	s.term.Begin(before)
	defer s.term.End()
	state, err := s.run(ctx, e)
	s.term.End()
	if err != nil {
		return s.end, s.worded(err)
	}
	if s.idle {
		s.end.Turns, s.end.Wish = 0, "" // those of the run before
	}
	s.published, s.Task.Branch = state.Published, state.Branch
	if s.end.Status == session.StatusInterrupted { // it recorded no end
		s.end.Files, s.end.Commit = state.Files, state.Published
	}
	s.term.LeftOut(state.LeftOut)
	s.term.Outcome(s.Task, s.end)
	return s.end, nil
}

// worded adds to an error how to go on.
func (s *Session) worded(err error) error {
	resume := terminal.Command("resume", s.Task.Session)
	if errors.Is(err, workspace.ErrGone) { //control:workspace-gone-in-words
		return fmt.Errorf("session %s: %w: it was killed, or used up its memory. What was saved is kept; "+
			"`%s` goes on in a new one", s.Task.Session, workspace.ErrGone, resume)
	}
	return fmt.Errorf("session %s: %w (go on with `%s`)", s.Task.Session, err, resume)
}

// run has the engine work until it has answered all messages, or parks, and returns the
// state.
func (s *Session) run(ctx context.Context, e Engine) (state *session.State, err error) {
	stop := s.listen(ctx)
	defer func() { stop() }()
	approver, shown := s.shown()
	if err := s.openOthers(ctx); err != nil {
		return nil, err
	}
	for {
		s.added.Store(0)
		s.end, err = e.Run(ctx, work.Job{
			Task:     s.Task,
			RulesAt:  s.Task.Base,
			Log:      s.log,
			Repo:     s.repo,
			Others:   s.others,
			Name:     filepath.Base(s.Task.Clone.Path),
			Approver: approver,
			Commits:  work.Commits{Author: agentFor(s.by), Committer: s.by},
			Shown:    shown,
		})
		if err != nil {
			return nil, err
		}
		stop()
		events, err := s.log.Events(context.WithoutCancel(ctx), 0)
		if err != nil {
			return nil, err
		}
		state, err = session.Fold(events)
		late := err == nil && state.Unanswered() && s.added.Load() > 0
		if !late || ctx.Err() != nil {
			return state, err
		}
		stop = s.listen(ctx)
	}
}

// Succeeded reports whether a run was successful.
func Succeeded(out session.Outcome) bool {
	if out.Wish != "" {
		return out.Wish != session.Keep
	}
	return out.Status.Succeeded()
}

// agentFor returns the agent's signature on behalf of the user.
func agentFor(by gitops.Signature) gitops.Signature {
	name := by.Name
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	if name == "" {
		return gitops.Signature{Name: "Handrail", Email: "handrail@localhost"}
	}
	return gitops.Signature{Name: "Handrail for " + name, Email: "handrail@localhost"}
}

// Close releases the session's resources. It deletes a branch without new commits, unless
// the session can continue.
func (s *Session) Close(ctx context.Context) (err error) {
	if !s.end.Status.Parked() {
		err = s.release(ctx)
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	for _, o := range s.others {
		err = errors.Join(err, o.Repo.Close())
	}
	if s.repo != nil {
		err = errors.Join(err, s.repo.Close())
	}
	return err
}
