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

// ReadAll implements project.Files. It follows a symlink to a visible file of the tree,
// because several agents often share one file of instructions. It follows no other symlink.
func (c commitFiles) ReadAll(ctx context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	kind, err := c.kind(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if kind == gitops.IsSymlink {
		data, err := c.repo.ReadFile(ctx, c.commit, name, limit)
		if err != nil {
			return nil, 0, err
		}
		target := path.Join(path.Dir(name), string(data))
		if kind, err = c.kind(ctx, target); err != nil {
			return nil, 0, fmt.Errorf("follow %s: %w", name, err)
		}
		if path.IsAbs(string(data)) || kind == gitops.IsSymlink {
			return nil, 0, fmt.Errorf("follow %s: %w", name, fs.ErrNotExist)
		}
		name = target
	}
	if kind == gitops.IsDir || kind == gitops.IsSubmodule {
		return nil, 0, fmt.Errorf("read %s: %w", name, workspace.ErrNotFile)
	}
	data, err := c.repo.ReadFile(ctx, c.commit, name, limit)
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return nil, 0, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	case errors.Is(err, gitops.ErrTooLarge):
		return nil, 0, fmt.Errorf("read %s: %w", name, workspace.ErrTooLarge)
	}
	return data, 0, err
}

// kind returns the kind of a path. The error wraps [fs.ErrNotExist] or
// [workspace.ErrIgnored] if the path is missing or hidden.
func (c commitFiles) kind(ctx context.Context, name string) (string, error) {
	name = path.Clean(name)
	if name == "." {
		return gitops.IsDir, nil
	}
	dir := path.Dir(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("find %s: %w", name, fs.ErrNotExist)
	}
	if above, err := c.kind(ctx, dir); err != nil || above != gitops.IsDir {
		return "", errors.Join(fmt.Errorf("find %s: %w", name, fs.ErrNotExist), err)
	}
	list, err := c.repo.List(ctx, c.commit, inTree(dir), false)
	if err != nil {
		return "", err
	}
	for _, e := range list {
		switch {
		case e.Path != name:
		case c.hides != nil && (c.hides(name) || e.Kind == gitops.IsDir && c.hides(name+"/")): //control:hidden-rules
			return "", fmt.Errorf("read %s: %w", name, workspace.ErrIgnored)
		default:
			return e.Kind, nil
		}
	}
	return "", fmt.Errorf("find %s: %w", name, fs.ErrNotExist)
}

// inTree returns git's name of a directory: the root is "".
func inTree(dir string) string {
	if dir = path.Clean(dir); dir != "." {
		return dir
	}
	return ""
}

// List implements project.Files.
func (c commitFiles) List(ctx context.Context, dir string, recursive bool, limit int) (workspace.Listing, error) {
	kind, err := c.kind(ctx, dir)
	if err == nil && kind != gitops.IsDir {
		err = fmt.Errorf("list %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return workspace.Listing{}, err
	}
	list, err := c.repo.List(ctx, c.commit, inTree(dir), recursive)
	if err != nil {
		return workspace.Listing{}, err
	}
	out := workspace.Listing{Base: "."}
	for _, e := range list {
		name := e.Path
		if e.Kind == gitops.IsDir || e.Kind == gitops.IsSubmodule {
			name += "/"
		}
		if c.hides != nil && c.hides(name) {
			continue
		}
		if len(out.Entries) == limit {
			out.Left++
			continue
		}
		out.Entries = append(out.Entries, workspace.Entry{Path: name})
	}
	return out, nil
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
func provide(ws place, j Job) func(context.Context, string, llm.Form) []session.Item {
	thread, _, _ := strings.Cut(j.Task.Thread, "#")
	return func(ctx context.Context, words string, form llm.Form) []session.Item {
		if form == llm.FormFiles {
			return project.View(ctx, words, ws)
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
