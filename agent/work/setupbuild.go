package work

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// setUpTime is the time limit for one command of a set-up.
const setUpTime = 30 * time.Minute

// maxReported is the maximum size in bytes of reported output.
const maxReported = 4000

// familyFile is the file in a layer that names the set-ups with which it shares caches.
const familyFile = "family"

func contentID(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// failedSetUp is the error of a failed set-up.
type failedSetUp struct{ why string }

func (f *failedSetUp) Error() string { return f.why }

// hasFailed reports whether the set-up failed in this session. It is not run again.
func (r *settingUp) hasFailed() bool {
	for _, m := range r.at.Timeline {
		if run, ok := m.(*session.ToolRun); ok && run.Title == r.title() && run.Result != nil && !run.Result.OK {
			return true
		}
	}
	return false
}

func (r *settingUp) title() string { return "Set up: " + r.set.words() }

// build runs the set-up and records the result. If another session is running it, build
// waits for that one.
func (r *settingUp) build(ctx context.Context) error {
	var began time.Time
	var done setUpResult
	err := r.cfg.SetUps.Layers.Make(ctx, r.set.action.Digest(), func(dir string) (err error) {
		began = time.Now()
		events := []*session.Event{
			session.NewEvent(session.TypeStarted, r.at.Turns, session.Started{Call: r.set.call, Title: r.title()}),
		}
		if q := r.request(r.set.action.Digest()); q == nil || !q.Approval.IsApproved() { // another session has the approval
			events = append([]*session.Event{session.NewEvent(session.TypeDecision, r.at.Turns, session.Decision{
				Call: r.set.call, Kind: policy.Execute, Verdict: policy.Allow, Rule: "setup", Reasons: []string{"it was approved before"}, Digest: r.set.action.Digest(),
			})}, events...)
		}
		if err := r.record(ctx, events...); err != nil {
			return err
		}
		done, err = r.fill(ctx, dir)
		return err
	})
	var failed *failedSetUp
	if err != nil && (ctx.Err() != nil || !errors.As(err, &failed)) {
		return err
	}
	if began.IsZero() { // another session did it
		return nil
	}
	res := session.Result{
		Call:    r.set.call,
		OK:      failed == nil,
		Content: "It is set up.",
		Millis:  time.Since(began).Milliseconds(),
	}
	if len(done.left) > 0 {
		res.Content += " Of what it did to files of the repository nothing is kept: " + strings.Join(done.left, ", ") + "."
	}
	if done.said != "" {
		res.Content += "\n\n" + done.said
	}
	if failed != nil {
		res.Content = failed.why
	}
	if err := r.record(ctx, session.NewEvent(session.TypeResult, r.at.Turns, res)); err != nil {
		return err
	}
	if failed != nil {
		return r.noteMissing(ctx, "The set-up of this repository failed: "+failed.why)
	}
	if len(done.left) > 0 {
		return r.tell(
			ctx,
			session.Note{
				Text: "The set-up changed files of the repository, which are left out: " + strings.Join(done.left, ", ") + ".",
			},
		)
	}
	return nil
}

// setUpResult is the result of a set-up besides its layer: names of changed files of the
// repository, and the end of the output.
type setUpResult struct {
	left []string
	said string
}

// fill makes a layer: it runs the commands in a fresh workspace on the base branch, and
// keeps their results.
func (r *settingUp) fill(ctx context.Context, dir string) (done setUpResult, err error) {
	if err := r.buildImage(ctx); err != nil {
		return done, err
	}
	layered, ok := r.cfg.Workspace.(workspace.Layered)
	want := gitops.BaseWant{Commit: r.set.commit, Rules: restrict(rulesOf("", r.set.hidden), r.cfg.Rules.Workspace), Layers: ok && layered.Layers()} //control:setup-of-the-base
	source, err := r.cfg.Bases.take(ctx, r.j.Repo, want)
	if err != nil {
		return done, err
	}
	defer source.Drop()
	w := r.cfg.Rules.Workspace
	limits := workspace.Limits{
		MemoryBytes: int64(w.Memory),
		Pids:        int64(w.Pids),
		CPUs:        w.CPUs,
		DiskBytes:   int64(w.Disk),
		Command:     setUpTime,
	}
	state := filepath.Join(dir, "state")
	begun, err := r.cfg.SetUps.Layers.Begin(
		ctx,
		filepath.Join(dir, "begun"),
		r.set.family,
		r.set.CacheDirs(),
		limits.WithDefaults().DiskBytes,
	)
	if err != nil {
		return done, err
	}
	spec := workspace.Spec{
		Session: "setup-" + r.set.action.Digest()[:16], Name: r.j.Name, Source: source.Source, Over: source.Over, Layer: begun, LSP: w.LSP, State: state, Keep: true, Image: r.set.image, Pull: r.cfg.Rules.Pulls(r.set.image), Tell: r.j.OnSetup,
		Limits: limits,
	}
	if err := r.setNetwork(&spec, r.set.reach, "setup.hosts"); err != nil { //control:setup-reaches
		return done, err
	}
	ws, err := r.cfg.Workspace.Open(ctx, spec)
	if err != nil {
		return done, err
	}
	r.opened.Add(1)
	defer r.opened.Add(-1)
	if done, err = r.run(ctx, ws); err == nil {
		r.warm(ctx, ws)
	}
	if err = errors.Join(err, ws.Close(context.WithoutCancel(ctx))); err != nil {
		return done, err
	}
	return done, r.keep(dir, state, begun, source)
}

// warm lets language servers make their indexes, which the layer keeps. One that fails costs a later session
// time and nothing else.
func (r *settingUp) warm(ctx context.Context, ws *workspace.Workspace) {
	found, err := ws.Languages(ctx, languageServers(r.cfg.Rules, nil))
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "language servers were not looked for", "err", err)
		return
	}
	if !slices.ContainsFunc(found, func(l workspace.Language) bool { return l.Index }) { //control:index-of-a-server
		return
	}
	if r.j.OnSetup != nil {
		r.j.OnSetup("making the indexes of language servers")
	}
	if made, err := ws.Warm(ctx); err != nil {
		r.cfg.Log.WarnContext(ctx, "language servers made no index", "err", err)
	} else if len(made) > 0 {
		r.cfg.Log.InfoContext(ctx, "language servers made their indexes", "servers", made)
	}
}

// keep turns the state directory of a workspace into a layer.
func (r *settingUp) keep(dir, state, begun string, source *gitops.Base) error {
	tree := filepath.Join(state, workspace.KeptUpper)
	if _, err := os.Lstat(tree); err != nil {
		tree = filepath.Join(state, workspace.KeptTree)
	}
	caches, err := r.cfg.SetUps.Layers.End(dir, begun, state)
	if err != nil {
		return err
	}
	t := trimmer{below: []string{source.Over, source.Source}, hides: r.set.hidden.Hides}
	if err := errors.Join(t.trim(tree), (&trimmer{}).trim(caches)); err != nil {
		return fmt.Errorf("take the layer of the set-up: %w", err)
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, familyFile), []byte(r.set.family), 0o600),
		os.Rename(tree, filepath.Join(dir, workspace.LayerTree)),
		os.Rename(caches, filepath.Join(dir, workspace.LayerCache)),
		workspace.RemoveTree(state),
	)
	if begun == "" {
		return err
	}
	return errors.Join(err, workspace.RemoveTree(begun))
}

// run runs the commands. A failing command is a [failedSetUp].
func (r *settingUp) run(ctx context.Context, ws *workspace.Workspace) (done setUpResult, err error) {
	show := r.j.live(r.cfg.Secrets.Redactor)
	var refused []string
	said := ""
	for _, line := range r.set.Commands {
		if r.j.OnSetup != nil {
			r.j.OnSetup("running " + line)
		}
		res, err := ws.Run(ctx, workspace.Command{Line: line, Timeout: setUpTime}, func(text string) {
			if show != nil {
				show(agent.Live{Call: r.set.call, Output: text})
			}
		})
		if err != nil {
			return done, err
		}
		refused = append(refused, res.Refused...)
		if res.Exit == 0 && !res.TimedOut && res.Ended == "" {
			said += "$ " + line + "\n" + res.Output + "\n"
			continue
		}
		return done, &failedSetUp{r.whyFailed(line, res, refused)}
	}
	found, err := ws.Changes(ctx)
	if err != nil {
		return done, err
	}
	for _, c := range found {
		if c.Kind == workspace.Modified || c.Kind == workspace.Deleted {
			done.left = append(done.left, quotePaths([]string{c.Path}))
		}
	}
	if more := len(done.left) - maxNamed; more > 0 {
		done.left = append(done.left[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	done.said = r.ending(said)
	return done, nil
}

// maxNamed is the maximum number of changed files to name.
const maxNamed = 10

// whyFailed describes how a command failed: the end of its output, and the refused
// network accesses of this and earlier commands.
func (r *settingUp) whyFailed(line string, res workspace.CommandResult, refused []string) string {
	how := fmt.Sprintf("ended with %d", res.Exit)
	switch {
	case res.TimedOut:
		how = fmt.Sprintf("did not end within %s", setUpTime)
	case res.Ended != "":
		how = "was ended: " + res.Ended
	}
	why := quotePaths([]string{line}) + " " + how + "."
	for _, what := range refused[:min(len(refused), maxNamed)] {
		what, _ = r.cfg.Secrets.Redactor.Redact(untrusted.EscapeLine(what))
		why += "\n[Network: " + what + "]"
	}
	return strings.TrimSpace(why + "\n" + r.ending(res.Output))
}

// ending returns the end of the commands' output, cleaned and redacted.
func (r *settingUp) ending(said string) string {
	said, _ = untrusted.CleanPlain(said)
	said, _ = r.cfg.Secrets.Redactor.Redact(said) //control:setup-output-redacted
	if said = strings.TrimSpace(said); len(said) > maxReported {
		_, said, _ = strings.Cut(said[len(said)-maxReported:], "\n")
		said = "…\n" + said
	}
	return said
}

// trimmer removes from a workspace's leftovers everything that does not belong in a
// layer: paths of the files below, hidden paths, and special files. It trusts nothing
// that it finds.
type trimmer struct {
	below []string // directories; "" is skipped
	hides func(name string) bool
	roots []*os.Root
}

func (t *trimmer) trim(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, b := range t.below {
		if b == "" {
			continue
		}
		below, err := os.OpenRoot(b)
		if err != nil {
			return err
		}
		defer func() { _ = below.Close() }()
		t.roots = append(t.roots, below)
	}
	_, err = t.dir(root, ".")
	return err
}

// dir trims a directory, and reports whether it is empty.
func (t *trimmer) dir(root *os.Root, at string) (empty bool, err error) {
	if err := root.Chmod(at, 0o755); err != nil { // make it readable and writable
		return false, err
	}
	list, err := fs.ReadDir(root.FS(), at)
	if err != nil {
		return false, err
	}
	left := 0
	for _, e := range list {
		kept, err := t.entry(root, path.Join(at, e.Name()), e)
		if err != nil {
			return false, err
		}
		if kept {
			left++
		}
	}
	return left == 0, nil
}

func (t *trimmer) entry(root *os.Root, name string, e fs.DirEntry) (kept bool, err error) {
	there, dirThere := t.isBelow(name)
	own := t.hides != nil // otherwise a cache
	hidden := name
	if e.IsDir() {
		hidden += "/"
	}
	switch {
	case own && (name == ".git" || agent.Scratch(hidden) || t.hides(hidden)): //control:setup-hidden-stays
		return false, root.RemoveAll(name)
	case e.IsDir() && (!there || dirThere):
		empty, err := t.dir(root, name)
		if err == nil && empty && there {
			return false, root.Remove(name)
		}
		return true, err
	case there: //control:setup-leaves-the-base
		return false, root.RemoveAll(name)
	case e.Type() == fs.ModeSymlink:
		return true, nil
	case !e.Type().IsRegular():
		return false, root.Remove(name)
	}
	info, err := e.Info()
	if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		err = root.Chmod(name, info.Mode().Perm())
	}
	return true, err
}

// isBelow reports whether a path exists in the files below, as a directory or not.
func (t *trimmer) isBelow(name string) (there, dir bool) {
	for _, root := range t.roots {
		info, err := root.Lstat(name)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeCharDevice != 0 { // deleted from the files below
			return false, false
		}
		return true, info.IsDir()
	}
	return false, false
}
