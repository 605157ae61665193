package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/testrun"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// maxTests bounds one run of the tests.
const maxTests = 5 * time.Minute

// maxTestOutput is the size in bytes of the end of a test run's output kept in the log.
const maxTestOutput = 6000

// verifies returns the commands that verify finished work: those of the configuration,
// or else the first known to the project.
func (e *Engine) verifies(facts project.Facts) []string {
	switch v := e.cfg.Rules.Verify; v {
	case "", "auto":
	case "off":
		return nil
	default:
		return []string{v}
	}
	lines := facts.Runnable()
	if len(e.cfg.Rules.Test) > 0 || len(lines) == 0 {
		return lines
	}
	return lines[:1]
}

// proving is the test runs of one stretch of work. The first run shares its caches,
// such as compiled packages, with the later ones: the same work built them.
type proving struct {
	layer  heldLayer
	caches string // "" before the first run
}

func (p *proving) run(
	e *Engine,
	j Job,
	at *session.State,
	saves *checkpoints,
) func(context.Context, string, []string) (session.Verified, error) {
	return func(ctx context.Context, commit string, lines []string) (session.Verified, error) {
		job, layer := j, p.layer // only the job of the first run stores caches
		job.Others = saves.withChanges(j.Others)
		keeps, ok := e.cfg.Workspace.(workspace.Layered)
		switch {
		case layer.dir != "" || !ok || !keeps.Layers():
		case p.caches != "":
			layer.dir = p.caches
		default:
			dir, err := e.cfg.Bases.store.Temp(e.cfg.Bases.dir, "tests-"+j.Task.Session)
			if err == nil {
				err = os.Mkdir(filepath.Join(dir, workspace.LayerTree), 0o755)
			}
			if err != nil {
				return session.Verified{}, fmt.Errorf("make a directory for caches: %w", err)
			}
			p.caches, job.caches = dir, dir
		}
		out, err := e.runTests(ctx, job, at, layer, commit, lines)
		if p.caches == "" {
			return out, err
		}
		return out, errors.Join(err, os.MkdirAll(filepath.Join(p.caches, workspace.LayerCache), 0o755)) // if none were saved
	}
}

func (p *proving) end() error {
	if p.caches == "" {
		return nil
	}
	return workspace.RemoveTree(p.caches)
}

// runTests runs commands on a commit in a separate workspace: the model's shell cannot
// affect them, and their leftovers are discarded.
func (e *Engine) runTests(
	ctx context.Context,
	j Job,
	at *session.State,
	layer heldLayer,
	commit string,
	lines []string,
) (out session.Verified, err error) {
	state := *at
	state.Saved = commit
	j.Task.Session += "-tests"
	j.OnSetup = nil
	ws, closeAll, err := e.open(ctx, j, &state, layer)
	if err != nil {
		return out, err
	}
	defer func() {
		if err := closeAll(context.WithoutCancel(ctx)); err != nil { // the result of the tests counts all the same
			e.cfg.Log.WarnContext(ctx, "workspace of the tests was not closed", "session", j.Task.Session, "err", err)
		}
	}()
	var said []string
	ran := 0
	for _, line := range lines {
		res, err := ws.Run(ctx, workspace.Command{Line: line, Cwd: ".", Timeout: maxTests}, nil)
		if err != nil {
			return out, fmt.Errorf("run %s: %w", line, err)
		}
		out.Millis += res.Duration.Milliseconds()
		said = append(said, res.Output)
		run := testrun.Of(line, res)
		if run.Says == session.TestsNone {
			out.Why = run.String()
			continue
		}
		ran++
		if out.Tests = run; run.Failed() {
			break
		}
	}
	if ran > 0 {
		out.Why = ""
	}
	if out.Tests != nil && !j.Foreign {
		e.cfg.Bases.learn(contentKey(ws, commit), func(k *known) { k.tests = out.Tests })
	}
	text := testrun.Own(strings.Join(said, "\n"))
	if out.Failed() { //control:failing-lines
		out.Lines = failingLines(ctx, ws.Workspace, text)
		out.Faults, out.Faulty = e.faults(ctx, j, ws.Workspace, text, at.Published, commit)
	}
	out.Output = session.LastLines(strings.TrimRight(text, "\n"), maxTestOutput)
	return out, nil
}

// Limits of the parts of failing tests that are shown with their output.
const (
	maxFailing      = 2       // parts
	maxFailingPlace = 20      // places in the output that are looked at
	maxFailingFile  = 1 << 20 // bytes of a file of tests
	maxFailingPart  = 500     // bytes of a part
	linesAbove      = 5
	linesBelow      = 1
)

// failingLines returns the lines of tests at which the output of a failed run points. Output often
// says only that true is not false.
func failingLines(ctx context.Context, ws *workspace.Workspace, output string) (parts []session.Item) {
	type span struct{ from, to int }
	shown := map[string][]span{}
	for i, at := range testrun.Places(output) {
		name := strings.TrimPrefix(at.Path, ws.Root()+"/")
		if i == maxFailingPlace || len(parts) == maxFailing {
			break
		}
		if !workspace.IsTest(name) || path.IsAbs(name) {
			continue
		}
		data, _, err := ws.ReadAll(ctx, name, maxFailingFile)
		if err != nil && !strings.Contains(name, "/") { // go test names a file without its directory
			name = onlyNamed(ctx, ws, name)
			data, _, err = ws.ReadAll(ctx, name, maxFailingFile)
		}
		lines := strings.Split(string(data), "\n")
		if err != nil || at.Line > len(lines) {
			continue
		}
		s := span{max(at.Line-1-linesAbove, 0), min(at.Line+linesBelow, len(lines))}
		if slices.ContainsFunc(shown[name], func(have span) bool { return s.from < have.to && have.from < s.to }) {
			continue
		}
		text := strings.Join(lines[s.from:s.to], "\n")
		if len(text) > maxFailingPart || !utf8.ValidString(text) {
			continue
		}
		shown[name] = append(shown[name], s)
		parts = append(parts, session.Item{Kind: session.ItemSelection, Name: fmt.Sprintf("%s:L%d-%d", name, s.from+1, s.to), Text: text})
	}
	return parts
}

// Limits of the lines that do not compile.
const (
	maxFaults     = 4
	maxFaultyFile = 16 << 10 // bytes of a file of them
)

// faults returns the lines of files that the commit changed at which compilers complain, and these
// files. The output could name any file, so those that are sensitive or unchanged are left out.
func (e *Engine) faults(
	ctx context.Context,
	j Job,
	ws *workspace.Workspace,
	output, since, commit string,
) (list []session.Fault, files []session.Item) {
	found := testrun.Faults(output)
	if len(found) == 0 || since == "" {
		return nil, nil
	}
	changes, err := wholeChanges(ctx, j.Repo, since, commit)
	if err != nil {
		e.cfg.Log.WarnContext(ctx, "changed files were not listed", "session", j.Task.Session, "err", err)
		return nil, nil
	}
	for _, f := range found {
		name := path.Clean(strings.TrimPrefix(f.Path, ws.Root()+"/"))
		if !strings.Contains(name, "/") && !changed(changes, name) { // go vet names a file without its directory
			name = onlyNamed(ctx, ws, name)
		}
		if f.Path = name; len(list) == maxFaults || workspace.IsTest(name) {
			continue
		}
		if !changed(changes, name) || e.cfg.Policy.Touches(name).Sensitive { //control:faults-of-changed-files
			continue
		}
		if !slices.ContainsFunc(files, func(it session.Item) bool { return it.Name == name }) {
			data, _, err := ws.ReadAll(ctx, name, maxFaultyFile)
			if err != nil || !utf8.Valid(data) {
				continue
			}
			files = append(files, session.Item{Kind: session.ItemFile, Name: name, Text: string(data)})
		}
		list = append(list, f)
	}
	return list, files
}

func changed(list []session.FileChange, name string) bool {
	return slices.ContainsFunc(list, func(c session.FileChange) bool { return c.Path == name })
}

// onlyNamed returns the path of the only file of a name, or the name.
func onlyNamed(ctx context.Context, ws *workspace.Workspace, name string) string {
	found, err := ws.Find(ctx, workspace.NameQuery{Pattern: name})
	if err != nil {
		return name
	}
	same := slices.DeleteFunc(found.Paths, func(p string) bool { return path.Base(p) != name })
	if len(same) != 1 {
		return name
	}
	return same[0]
}
