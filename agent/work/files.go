package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/prompt"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// FilesAt returns the tree of a commit as [project.Files].
func FilesAt(repo *gitops.Mirror, commit string) project.Files {
	return commitFiles{repo: repo, commit: commit}
}

// commitFiles is the tree of a commit as [project.Files]. hides reports whether a path is
// hidden from the agent; nil hides nothing.
type commitFiles struct {
	repo   *gitops.Mirror
	commit string
	hides  func(name string) bool
}

// base is the tree of the job's base branch, as a prompt may show it.
func (j Job) base(ws place) project.Files {
	return commitFiles{repo: j.Repo, commit: j.RulesAt, hides: ws.rules.Hides}
}

// ReadAll implements project.Files. It follows symlinks to visible files of the tree, also
// those of directories, because several agents often share their instructions.
func (c commitFiles) ReadAll(ctx context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	at, kind, err := c.find(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if kind == gitops.IsDir || kind == gitops.IsSubmodule {
		return nil, 0, fmt.Errorf("read %s: %w", name, workspace.ErrNotFile)
	}
	data, err := c.repo.ReadFile(ctx, c.commit, at, limit)
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return nil, 0, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	case errors.Is(err, gitops.ErrTooLarge):
		return nil, 0, fmt.Errorf("read %s: %w", name, workspace.ErrTooLarge)
	}
	return data, 0, err
}

// find returns the place and the kind of a file or directory behind all symlinks. The error
// wraps [fs.ErrNotExist] if it is missing, also because a link leads out of the tree, and
// [workspace.ErrIgnored] if a path on the way to it is hidden.
func (c commitFiles) find(ctx context.Context, name string) (at, kind string, err error) {
	at, kind = ".", gitops.IsDir
	gone := fmt.Errorf("find %s: %w", name, fs.ErrNotExist)
	if path.IsAbs(name) {
		return "", "", gone
	}
	if c.hidden(path.Clean(name)) { //control:hidden-by-a-link
		return "", "", fmt.Errorf("read %s: %w", name, workspace.ErrIgnored)
	}
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		step := rest[0]
		rest = rest[1:]
		switch {
		case step == "" || step == ".":
			continue
		case kind != gitops.IsDir, step == ".." && at == ".":
			return "", "", gone
		case step == "..":
			at = path.Dir(at)
			continue
		}
		dir := at
		at = path.Join(dir, step)
		if kind, err = c.kind(ctx, dir, at); err != nil {
			return "", "", err
		}
		if kind != gitops.IsSymlink {
			continue
		}
		target, err := c.repo.ReadFile(ctx, c.commit, at, maxTarget)
		if links++; errors.Is(err, gitops.ErrTooLarge) || links > maxLinks {
			return "", "", gone
		}
		if err != nil {
			return "", "", err
		}
		if strings.HasPrefix(string(target), "/") { //control:link-stays-inside
			return "", "", gone
		}
		at, kind, rest = dir, gitops.IsDir, append(strings.Split(string(target), "/"), rest...)
	}
	return at, kind, nil
}

// maxTarget is the maximum length in bytes of a symlink's target.
const maxTarget = 4096

// kind returns the kind of an entry of a directory.
func (c commitFiles) kind(ctx context.Context, dir, name string) (string, error) {
	list, err := c.repo.List(ctx, c.commit, inTree(dir), false)
	if err != nil {
		return "", err
	}
	for _, e := range list {
		switch {
		case e.Path != name:
		case c.hidden(name) || e.Kind == gitops.IsDir && c.hidden(name+"/"): //control:hidden-rules
			return "", fmt.Errorf("read %s: %w", name, workspace.ErrIgnored)
		default:
			return e.Kind, nil
		}
	}
	return "", fmt.Errorf("find %s: %w", name, fs.ErrNotExist)
}

func (c commitFiles) hidden(name string) bool { return c.hides != nil && c.hides(name) }

// inTree returns git's name of a directory: the root is "".
func inTree(dir string) string {
	if dir = path.Clean(dir); dir != "." {
		return dir
	}
	return ""
}

// maxLinkedDirs is the maximum number of linked directories that one list enters.
const maxLinkedDirs = 50

// List implements project.Files. A recursive list has the files of the linked directories
// below dir under the names of the links, and follows no link in these.
func (c commitFiles) List(ctx context.Context, dir string, recursive bool, limit int) (workspace.Listing, error) {
	out := workspace.Listing{Base: "."}
	add := func(name string) {
		if len(out.Entries) == limit {
			out.Left++
			return
		}
		out.Entries = append(out.Entries, workspace.Entry{Path: name})
	}
	links := 0
	err := c.list(ctx, dir, recursive, func(name, kind string) error {
		if kind == gitops.IsSymlink {
			links++
		}
		if kind != gitops.IsSymlink || !recursive || links > maxLinkedDirs {
			add(name)
			return nil
		}
		err := c.list(ctx, name, true, func(name, _ string) error { add(name); return nil })
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrIgnored) { // no directory
			add(name)
			return nil
		}
		return err
	})
	if err != nil {
		return workspace.Listing{}, err
	}
	return out, nil
}

// list calls add for each visible entry of a directory, by the name that begins with dir.
func (c commitFiles) list(ctx context.Context, dir string, recursive bool, add func(name, kind string) error) error {
	at, kind, err := c.find(ctx, dir)
	if err == nil && kind != gitops.IsDir {
		err = fmt.Errorf("list %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	list, err := c.repo.List(ctx, c.commit, inTree(at), recursive)
	if err != nil {
		return err
	}
	for _, e := range list {
		end := ""
		if e.Kind == gitops.IsDir || e.Kind == gitops.IsSubmodule {
			end = "/"
		}
		name := path.Join(dir, strings.TrimPrefix(e.Path, at+"/")) + end
		if c.hidden(e.Path+end) || c.hidden(name) { //control:hidden-links
			continue
		}
		if err := add(name, e.Kind); err != nil {
			return err
		}
	}
	return nil
}

// Paths in a repository: of the configuration file, and of the MCP servers that it gives
// to any program.
const (
	configPath  = ".github/agent.yml"
	serversPath = ".mcp.json"
)

// ReadConfig returns the configuration of a repository at a commit of the base branch.
// It returns the zero value if the commit has none.
func ReadConfig(ctx context.Context, repo *gitops.Mirror, commit string) (policy.Config, error) {
	data, err := repo.ReadFile(ctx, commit, configPath, 1<<20)
	if err != nil && !errors.Is(err, gitops.ErrNotFound) {
		return policy.Config{}, fmt.Errorf("read %s: %w", configPath, err)
	}
	cfg, err := policy.ParseConfig(configPath, data)
	if err != nil {
		return cfg, err
	}
	data, err = repo.ReadFile(ctx, commit, serversPath, 1<<20)
	if err != nil && !errors.Is(err, gitops.ErrNotFound) {
		return policy.Config{}, fmt.Errorf("read %s: %w", serversPath, err)
	}
	return cfg.Proposing(data), nil //control:mcp-servers-are-proposals
}

// facts collects facts about the project at a commit, and about the machine of the
// workspace. base is the commit that the work began from.
func (e *Engine) facts(ctx context.Context, ws place, j Job, commit, base string) (project.Facts, error) {
	var from project.Files = ws.Workspace
	if j.Foreign && j.RulesAt != "" { //control:fork-facts
		from = j.base(ws)
	}
	facts, err := project.Discover(ctx, from)
	if err != nil {
		return facts, err
	}
	facts.SetTests(e.cfg.Rules.Test)
	if err := facts.Try(ctx, ws); err != nil ||
		from != project.Files(ws.Workspace) { // the file names of a fork are untrusted
		return facts, err
	}
	return facts, e.cfg.Bases.chart(ctx, &facts, ws, commit, base)
}

// projectWords sets the project's part of the prompt: facts from the files in work, and
// instructions from the base branch only.
func (e *Engine) projectWords(
	ctx context.Context,
	say *prompt.Builder,
	facts project.Facts,
	ws place,
	j Job,
) (err error) {
	base := j.Task.Base[:min(10, len(j.Task.Base))]
	say.Project, say.Runs, say.Charted = facts.About()+fmt.Sprintf("\n- Branch: %s, from commit %s", j.Task.Branch, base)+othersWords(j.Others), facts.Runs(), facts.Charted
	say.Network = networkWords(ws.Engine(), e.cfg.Rules.Workspace)
	if !j.Foreign { // the file names of a fork are untrusted
		say.Example.Path, say.Example.Line = facts.Example(ctx, ws, j.Task.Text)
	}
	if j.RulesAt != "" {
		say.Rules, err = (&project.Rules{Files: j.base(ws)}).Start(ctx)
	}
	return err
}

// instructions returns a function that reads instructions of the base branch, nil if it has
// none.
func (j Job) instructions(
	ctx context.Context,
	ws place,
) (func(context.Context, string) (project.Instructions, error), error) {
	if j.RulesAt == "" {
		return nil, nil
	}
	rules := &project.Rules{Files: j.base(ws)} //control:instructions-of-the-base
	all, err := rules.Fetch(ctx, "")
	if err != nil || len(all.Names) == 0 {
		return nil, err
	}
	var mu sync.Mutex // tools run at the same time
	return func(ctx context.Context, name string) (project.Instructions, error) {
		mu.Lock()
		defer mu.Unlock()
		return rules.Fetch(ctx, name)
	}, nil
}

// maxReached is the maximum number of reachable hosts to name.
const maxReached = 8

// networkWords describes the network access of commands; "" means unrestricted.
func networkWords(engine string, w policy.Workspace) string {
	hosts := w.Reaches()
	switch {
	case isWalled(engine, w.Network), w.Network == "allowlist" && len(hosts) == 0:
		return "The workspace has no network: nothing can be downloaded or installed." //control:network-is-told
	case w.Network != "allowlist":
		return ""
	case len(hosts) > maxReached:
		hosts = append(hosts[:maxReached:maxReached], fmt.Sprintf("%d more", len(hosts)-maxReached))
	}
	return "Of the network, commands reach only " + strings.Join(hosts, ", ") + "."
}

// provide returns a function that reads the references of a request: files as they are
// in the workspace, and links into the same repository at their commit.
func provide(ws place, j Job, tests []string) func(context.Context, string, llm.Form) []session.Item {
	thread, _, _ := strings.Cut(j.Task.Thread, "#")
	return func(ctx context.Context, words string, form llm.Form) []session.Item {
		if form == llm.FormFiles {
			return project.View(ctx, words, ws, tests)
		}
		return project.Resolve(
			ctx,
			words,
			project.Sources{Now: ws, At: func(ctx context.Context, repo, ref string) project.Files {
				known := thread != "" && strings.EqualFold(repo, thread)
				if !known && (thread != "" || !isCommitID(ref)) {
					return nil
				}
				commit, err := j.Repo.Resolve(ctx, ref)
				if err != nil {
					return nil
				}
				return linked{commitFiles{repo: j.Repo, commit: commit, hides: ws.rules.Hides}, ws}
			}},
		)
	}
}

// isCommitID reports whether ref is a commit's id. Branch names are refused: in another
// clone they may mean another commit.
func isCommitID(ref string) bool {
	return len(ref) == 40 && strings.Trim(ref, "0123456789abcdef") == ""
}

// linked is the tree of a link. Files that the project hides from the agent are hidden
// at every commit.
type linked struct {
	commitFiles
	now place
}

// ReadAll implements project.Files.
func (l linked) ReadAll(ctx context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	if _, _, err := l.now.ReadAll(ctx, name, 1); errors.Is(err, workspace.ErrIgnored) {
		return nil, 0, err
	}
	return l.commitFiles.ReadAll(ctx, name, limit)
}
