package work

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// builder is an engine with images.
type builder struct {
	copies
	has    map[string]bool
	builds []workspace.Build
	files  []string // that a build could copy
	opened []string // images of workspaces
	fails  error
}

func (*builder) Images() bool                   { return true }
func (*builder) OnMachine(context.Context) bool { return false }

func (b *builder) HasImage(_ context.Context, name string) (bool, error) { return b.has[name], nil }

func (b *builder) Programs(_ context.Context, spec workspace.Spec) (string, error) {
	if !b.has[spec.Image] && !spec.Pull {
		return "", fmt.Errorf("find image %s: %w", spec.Image, workspace.ErrNoImage)
	}
	return "id of " + spec.Image, nil
}

func (b *builder) Build(_ context.Context, what workspace.Build) error {
	list, err := os.ReadDir(filepath.Join(what.Files, what.Dir))
	if err != nil {
		return err
	}
	b.files = nil
	for _, f := range list {
		b.files = append(b.files, f.Name())
	}
	b.builds = append(b.builds, what)
	if b.fails == nil {
		b.has[what.Image] = true
	}
	return b.fails
}

func (b *builder) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	if !b.has[spec.Image] {
		return nil, fmt.Errorf("open %s: %w", spec.Image, workspace.ErrNoImage)
	}
	b.opened = append(b.opened, spec.Image)
	return b.copies.Open(ctx, spec)
}

// building is a trial in which the base branch has a Dockerfile.
type building struct {
	*setUpTrial
	engineHas *builder
}

func newBuilding(t *testing.T, dockerfile string) *building {
	t.Helper()
	b := &building{newSetUpTrial(t), &builder{has: map[string]bool{"debian:12": true, "golang:1.26": true}}}
	b.base = b.commit(map[string]string{"Dockerfile": dockerfile})
	return b
}

func recipeOf(ctx context.Context, files project.Files) (*project.Recipe, error) {
	text, _, err := files.ReadAll(ctx, "Dockerfile", 1000)
	if err != nil {
		return nil, err
	}
	r := &project.Recipe{Of: ".devcontainer.json", File: "Dockerfile", Text: string(text), Context: ".", Line: "-f Dockerfile ."}
	_, base, _ := strings.Cut(string(text), "FROM ")
	base, _, _ = strings.Cut(base, "\n")
	r.Bases, r.Fetches = []string{base}, strings.Contains(string(text), "ADD http")
	return r, nil
}

func (b *building) prepare(j Job) (session.Image, heldLayer, []string) {
	b.t.Helper()
	e := b.engine()
	e.cfg.Workspace, e.cfg.Recipe = b.engineHas, recipeOf
	e.cfg.Image = func(context.Context, project.Files, func(string) bool) (session.Image, error) {
		return session.Image{Name: "golang:1.26", Why: "it fits", Guess: true}, nil
	}
	at, err := stateOf(b.t.Context(), j.Log, j.Task)
	if err != nil {
		b.t.Fatal(err)
	}
	l, waits, err := e.prepare(b.t.Context(), &j, at)
	if err != nil || waits != nil {
		b.t.Fatalf("%+v, %v", waits, err)
	}
	b.t.Cleanup(l.end)
	return j.image, l, told(at)
}

// An image is built as it was approved, once for all sessions, on the base branch; another Dockerfile, or another
// file that decides about the set-up, is asked about anew.
func TestImageIsBuiltAsApproved(t *testing.T) {
	longtest.Leave(t)
	const text = "FROM debian:12\nRUN make it\n"
	b := newBuilding(t, text)
	image, l, _ := b.prepare(b.job())
	if !strings.HasPrefix(image.Name, "handrail-built:") || l.dir == "" || len(b.engineHas.builds) != 1 || b.engineHas.opened[0] != image.Name {
		t.Fatalf("%+v, %+v, %+v", image, l, b.engineHas)
	}
	got := b.engineHas.builds[0]
	if got.Text != text || got.Network || got.Beside != "" || !strings.Contains(fmt.Sprint(b.engineHas.files), "install.sh") || strings.Contains(fmt.Sprint(b.engineHas.files), ".env") {
		t.Errorf("%+v of %q", got, b.engineHas.files)
	}
	if shown := b.people.asked[0].Display; !strings.HasPrefix(shown, "docker build -f Dockerfile .\nsh ./install.sh\n") || !strings.Contains(shown, "\n#   FROM debian:12\n#   RUN make it\n") {
		t.Errorf("it is asked about as %q", shown)
	}
	j := b.job()
	j.Task.Base = b.commit(map[string]string{"Dockerfile": "FROM evil:1\n"})
	if again, _, _ := b.prepare(j); again.Name != image.Name || len(b.engineHas.builds) != 1 || len(b.people.asked) != 1 {
		t.Errorf("later sessions have %+v, asked %d times", again, len(b.people.asked))
	}
	for n, change := range []map[string]string{{"Dockerfile": text + "RUN more\n"}, {"deps.lock": "two\n"}} {
		b.base = b.commit(change)
		if other, _, _ := b.prepare(b.job()); other.Name == image.Name || len(b.people.asked) != n+2 {
			t.Errorf("%v: %+v, asked %d times", change, other, len(b.people.asked))
		}
	}
}

// The commands of a build have the network of the set-up and no other.
func TestNetworkOfABuild(t *testing.T) {
	longtest.Leave(t)
	for _, network := range []string{"allowlist", "open"} {
		b := newBuilding(t, "FROM debian:12\n")
		b.rules.SetUp.Network, b.rules.SetUp.Presets = network, []string{"go"}
		if network == "open" {
			b.rules.SetUp.Presets = nil
		}
		if image, _, said := b.prepare(b.job()); !strings.HasPrefix(image.Name, "handrail-built:") {
			t.Fatalf("%s: %+v %q", network, image, said)
		}
		got := b.engineHas.builds[0]
		if got.Network != (network == "open") || (got.Beside != "") != (network == "allowlist") || (got.Args["https_proxy"] != "") != (network == "allowlist") {
			t.Errorf("%s: %+v", network, got)
		}
		if network == "allowlist" && b.engineHas.opened[0] != "debian:12" {
			t.Errorf("the list of hosts is that of a workspace on %q", b.engineHas.opened)
		}
	}
}

// An image that is refused, forbidden or cannot be built leaves the session with the one that fits.
func TestImageIsNotBuilt(t *testing.T) {
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		dockerfile string
		change     func(*building)
		builds     int
		said       string
	}{
		"denied":         {"FROM debian:12\n", func(b *building) { b.people.says = policy.Denied }, 0, "kim denied it"},
		"by the server":  {"FROM debian:12\n", func(b *building) { b.rules.Workspace.Build = "never" }, 0, ""},
		"another image":  {"FROM debian:12\n", func(b *building) { b.rules.Workspace.Images = []string{"golang:*"} }, 0, "does not let repositories choose the image debian:12"},
		"not there":      {"FROM acme.example/dev:1\n", func(*building) {}, 0, "acme.example/dev:1"},
		"past the list":  {"FROM debian:12\nADD https://a.example/x /x\n", func(*building) {}, 0, "ADD fetches files"},
		"a broken build": {"FROM debian:12\nRUN false\n", func(b *building) { b.engineHas.fails = fmt.Errorf("%w: token %s", workspace.ErrBuild, canary) }, 1, "the image cannot be built: token"},
		"named":          {"FROM debian:12\n", func(b *building) { b.rules.Workspace.Image = "golang:1.26" }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuilding(t, tt.dockerfile)
			tt.change(b)
			j := b.job()
			for range 2 {
				image, _, said := b.prepare(j)
				if image.Name != "golang:1.26" || len(b.engineHas.builds) != tt.builds || !strings.Contains(strings.Join(said, "\n"), tt.said) || strings.Contains(strings.Join(said, "\n"), canary) {
					t.Errorf("%+v, %d builds, %q", image, len(b.engineHas.builds), said)
				}
			}
		})
	}
}
