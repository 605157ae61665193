package work

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/deps"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// needs are the packages that a repository lists, and whether its workspace has them.
type needs struct {
	managers []*deps.Manager
	layered  bool // a layer below the workspace may have them
	known    bool // the workspace has no packages of its own: a sandbox, or a standard image
}

// rootFiles are the files at the root of a repository, and of its directory requirements.
type rootFiles struct {
	names []string
	read  func(name string) string
}

// maxManifest is the maximum number of bytes to read from a manifest.
const maxManifest = 256 << 10

func filesAtRoot(ctx context.Context, files project.Files) (rootFiles, error) {
	list, err := files.List(ctx, ".", false, maxRootFiles)
	if err != nil {
		return rootFiles{}, fmt.Errorf("look for manifests: %w", err)
	}
	r := rootFiles{read: func(name string) string {
		data, _, err := files.ReadAll(ctx, name, maxManifest)
		if err != nil { // missing or unreadable
			return ""
		}
		return string(data)
	}}
	below, err := files.List(ctx, "requirements", false, maxRootFiles)
	if err == nil { // most repositories have none
		list.Entries = append(list.Entries, below.Entries...)
	}
	for _, e := range list.Entries {
		r.names = append(r.names, e.Path)
	}
	return r, nil
}

const maxRootFiles = 5000

// Needs returns the package managers whose packages a repository lists.
func Needs(ctx context.Context, files project.Files) ([]*deps.Manager, error) {
	r, err := filesAtRoot(ctx, files)
	if err != nil {
		return nil, err
	}
	return deps.Needed(r.names, r.read), nil
}

// ofClone returns a layer with the packages of the user's clone, if they are to be used.
func (r *settingUp) ofClone(ctx context.Context) (l heldLayer, err error) {
	own, at := r.cfg.SetUps.Own, r.base()
	if own == nil || at == "" || r.cfg.Workspace.Name() == "local" {
		return heldLayer{}, nil
	}
	need, err := Needs(ctx, commitFiles{repo: r.j.Repo, commit: at})
	if err != nil {
		return heldLayer{}, err
	}
	var from []string
	if l.dir, l.drop, from, err = own(ctx, need); err != nil || l.dir == "" {
		return heldLayer{}, err
	}
	l.digest = "clone"
	text := "The packages of this clone are in the workspace, read-only below its files: " + strings.Join(from, ", ") + "."
	return l, r.tell(ctx, session.Note{Text: text + "\nDo not install them again.", Layer: l.digest})
}

// unprepared decides about a repository without a set-up: one is proposed, or it is noted
// that packages are missing.
func (r *settingUp) unprepared(ctx context.Context) (l heldLayer, waits *session.Outcome, err error) {
	at := r.base()
	if at == "" || !isWalled(r.cfg.Workspace.Name(), r.cfg.Rules.Workspace.Network) {
		return heldLayer{}, nil, nil
	}
	files, err := filesAtRoot(ctx, commitFiles{repo: r.j.Repo, commit: at})
	if err != nil {
		return heldLayer{}, nil, err
	}
	need := deps.Needed(files.names, files.read)
	if len(need) == 0 {
		return heldLayer{}, nil, nil
	}
	names := deps.Names(need)
	proposed, ok := r.cfg.Rules.Proposal(deps.Propose(need, files.names, files.read))
	if !ok || !r.cfg.SetUps.Propose {
		why := fmt.Sprintf("The packages of %s are missing, and the workspace has no network.", names)
		if r.cfg.SetUps.Hint != "" {
			why += " " + r.cfg.SetUps.Hint
		}
		return heldLayer{}, nil, r.noteMissing(ctx, why)
	}
	r.set = setUp{SetUp: proposed, proposed: names}
	return r.layer(ctx)
}

// base returns the commit whose files decide about the set-up.
func (r *settingUp) base() string {
	if r.j.RulesAt != "" {
		return r.j.RulesAt
	}
	return r.j.Task.Base
}

// asConfig returns a proposed set-up as lines of the repository's configuration.
func (s setUp) asConfig() string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "#   %s: %s\n", key, value) }
	list := func(key string, values []string) {
		if len(values) > 0 {
			line(key, "["+untrusted.EscapeLine(strings.Join(values, ", "))+"]")
		}
	}
	b.WriteString("# setup:\n#   commands:\n")
	for _, c := range s.Commands {
		fmt.Fprintf(&b, "#   - %q\n", c)
	}
	list("files", s.Files)
	list("caches", s.Caches)
	line("network", s.Network)
	list("hosts", s.Hosts)
	list("presets", s.Presets)
	return b.String()
}

// needsOf returns the needs of a job's files in a workspace.
func (e *Engine) needsOf(ctx context.Context, ws place, image session.Image) (needs, error) {
	n := needs{layered: ws.layer != ""}
	if !isWalled(ws.Engine(), e.cfg.Rules.Workspace.Network) {
		return n, nil
	}
	engine := ws.Engine()
	n.known = engine == "bwrap" || engine == "docker" && image.Guess && e.cfg.Rules.Workspace.Image == ""
	var err error
	n.managers, err = Needs(ctx, ws.Workspace)
	return n, err
}

// refuse returns why a command cannot succeed without a network, "" if it may.
func (n needs) refuse(command string) string {
	if n.layered || !n.known {
		return ""
	}
	line, m := deps.FindInstall(command, n.managers)
	if m == nil { //control:no-network-install
		return ""
	}
	return fmt.Sprintf("%s was not run: the workspace has no network, and no packages of %s in a cache.\n"+
		"Do not try it again, or in another way. Work with the programs that are here; to add a package, edit its manifest. "+
		"At the end say which packages are needed: a maintainer has them installed before sessions by `setup:` in .github/agent.yml.",
		untrusted.EscapeLine(line), m.Name)
}

// lacks returns a line about the packages that a failed command did not find, "" if it
// shows nothing of the kind.
func (n needs) lacks(res workspace.CommandResult) string {
	if res.Exit == 0 || n.managers == nil {
		return ""
	}
	lack, ok := deps.FindLack(n.managers, res.Output)
	switch {
	case ok && lack.Package != "":
		return fmt.Sprintf("[Missing: %s, a package of %s. %s]", untrusted.EscapeLine(lack.Package), lack.Manager.Name, n.advice())
	case ok:
		return fmt.Sprintf("[Missing: packages of %s. %s]", lack.Manager.Name, n.advice())
	case deps.IsRefused(res.Output):
		return "[The workspace has no network: the command did not reach a host.]"
	}
	return ""
}

// advice tells the model how to go on without a package.
func (n needs) advice() string {
	if n.layered {
		return "The set-up did not install it, and nothing can be installed now."
	}
	return "Nothing can be installed now: this is no mistake in the code. Go on without, and say at the end that the tests could not run."
}
