package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// prepare sets the image of a job's workspace, and returns the layer below it. If it asks for a
// set-up, waits is the outcome of the run.
func (e *Engine) prepare(
	ctx context.Context,
	j *Job,
	at *session.State,
) (l heldLayer, waits *session.Outcome, err error) {
	var unread error
	if j.recipe, unread = e.recipe(ctx, *j); j.recipe == nil {
		if j.image, err = e.image(ctx, *j, at); err != nil {
			return l, nil, err
		}
	}
	if unread != nil {
		j.image.Notes = append(j.image.Notes, "no image is built: "+unread.Error())
	}
	l, waits, err = e.layerOf(ctx, *j, at)
	switch {
	case err != nil || waits != nil || j.recipe == nil:
	case l.image != "":
		j.image = session.Image{Name: l.image, Why: l.why}
	default: // it was not built
		if j.image, err = e.image(ctx, *j, at); err != nil {
			l.end()
		}
	}
	return l, waits, err
}

// recipe returns the recipe for the image of the base branch's development container; nil if
// none is to be built.
func (e *Engine) recipe(ctx context.Context, j Job) (*project.Recipe, error) {
	_, ok := e.cfg.Workspace.(workspace.Builder)
	at := cmp.Or(j.RulesAt, j.Task.Base)
	if !ok || at == "" || e.cfg.Recipe == nil || e.cfg.Rules.Workspace.Image != "" || !e.cfg.Rules.Builds() {
		return nil, nil
	}
	return e.cfg.Recipe(ctx, commitFiles{repo: j.Repo, commit: at}) //control:recipe-of-the-base
}

// buildsOn sets the image that a set-up builds, and returns the identity of its programs. The name also
// depends on the content of the set-up's files.
func (s *setUp) buildsOn(repo string) (programs string) {
	r := s.recipe
	facts := []string{repo, r.File, r.Text, r.Context, r.Target, fmt.Sprint(r.Args), s.network}
	programs = "built " + contentID([]byte(fmt.Sprintf("%q", facts))) //control:recipe-key
	key := contentID([]byte(fmt.Sprintf("%q", append(contents(s.named), programs))))
	s.image = policy.BuiltImages + ":" + key[:20]
	return programs
}

// displayRecipe returns a recipe as shown for approval, whole.
func displayRecipe(r *project.Recipe) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# %s, which %s names; its commands run as root of a container of their own:", untrusted.EscapeLine(r.File), untrusted.EscapeLine(r.Of))
	for line := range strings.Lines(r.Text) {
		b.WriteString("\n#   " + untrusted.EscapeLine(strings.TrimRight(line, "\r\n")))
	}
	return b.String()
}

// buildImage builds the image of the set-up, if it is missing. One that cannot be built is a
// [failedSetUp].
func (r *settingUp) buildImage(ctx context.Context) error {
	if r.set.recipe == nil {
		return nil
	}
	builder := r.cfg.Workspace.(workspace.Builder)
	if has, err := builder.HasImage(ctx, r.set.image); has || err != nil {
		return err
	}
	err := r.bases(ctx)
	if err != nil {
		return err
	}
	recipe, w := r.set.recipe, r.cfg.Rules.Workspace
	ctx, cancel := context.WithTimeoutCause(ctx, setUpTime, errBuildTime)
	defer cancel()
	source, err := r.cfg.Bases.take(ctx, r.j.Repo, gitops.BaseWant{Commit: r.set.commit, Rules: rulesOf("", r.set.hidden)})
	if err != nil {
		return err
	}
	defer source.Drop()
	b := workspace.Build{
		Image:   r.set.image,
		Text:    recipe.Text,
		From:    recipe.Bases,
		Files:   source.Source,
		Dir:     recipe.Context,
		Target:  recipe.Target,
		Args:    maps.Clone(recipe.Args),
		Network: r.set.reach.Network == "open",
		Limits:  workspace.Limits{MemoryBytes: int64(w.Memory), CPUs: w.CPUs},
		Tell:    r.j.OnSetup,
	}
	if r.set.reach.Network == "allowlist" && len(recipe.Bases) > 0 { // one from scratch has no command to run
		end, err := r.beside(ctx, &b, source)
		if err != nil {
			return err
		}
		defer end()
	}
	err = builder.Build(ctx, b)
	switch {
	case errors.Is(err, workspace.ErrBuild):
		return &failedSetUp{r.ending(err.Error())}
	case err != nil && errors.Is(context.Cause(ctx), errBuildTime):
		return &failedSetUp{errBuildTime.Error()}
	}
	return err
}

var errBuildTime = fmt.Errorf("the image was not built within %s", setUpTime)

// bases gets the images that the recipe begins with or copies from, as far as the server allows.
func (r *settingUp) bases(ctx context.Context) error {
	if r.set.recipe.Fetches && r.set.reach.Network != "open" { //control:recipe-fetches
		return &failedSetUp{"the image was not built: ADD fetches files past every list of hosts, which needs network: open"}
	}
	for _, name := range r.set.recipe.Bases {
		if !r.cfg.Rules.AllowsImage(name) { //control:recipe-bases-allowed
			return &failedSetUp{"the image was not built: the server does not let repositories choose the image " +
				untrusted.EscapeLine(name) + " (workspace.images)"}
		}
		engine, ok := r.cfg.Workspace.(workspace.Identified)
		if !ok {
			continue
		}
		_, err := engine.Programs(ctx, workspace.Spec{Image: name, Pull: r.cfg.Rules.Pulls(name), Tell: r.j.OnSetup})
		if errors.Is(err, workspace.ErrNoImage) {
			return &failedSetUp{"the image was not built: " + r.ending(err.Error())}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beside opens a workspace on the first image of the recipe, whose list of hosts the commands of the build have.
func (r *settingUp) beside(ctx context.Context, b *workspace.Build, source *gitops.Base) (end func(), err error) {
	state, err := r.cfg.Bases.store.Temp(r.cfg.Bases.dir, "build-"+r.set.action.Digest()[:16])
	if err != nil {
		return nil, err
	}
	spec := workspace.Spec{
		Session: "build-" + r.set.action.Digest()[:16],
		Name:    r.j.Name,
		Source:  source.Source,
		Over:    source.Over,
		State:   filepath.Join(state, "state"),
		Image:   r.set.recipe.Bases[0],
	}
	if err := r.setNetwork(&spec, r.set.reach, "setup.hosts"); err != nil {
		return nil, errors.Join(err, workspace.RemoveTree(state))
	}
	ws, err := r.cfg.Workspace.Open(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, workspace.RemoveTree(state))
	}
	b.Beside = spec.Session
	if b.Args == nil {
		b.Args = map[string]string{}
	}
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		b.Args[name] = "http://" + workspace.ProxyAddress
	}
	return func() {
		err := errors.Join(ws.Close(context.WithoutCancel(ctx)), workspace.RemoveTree(state))
		if err != nil {
			r.cfg.Log.WarnContext(ctx, "workspace beside a build was not closed", "err", err)
		}
	}, nil
}
