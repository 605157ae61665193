package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	if workspacetest.Toolhost(os.Environ()) {
		return
	}
	goleak.VerifyTestMain(m)
}

// named is an engine that can or cannot be used.
type named struct {
	name string
	err  error
}

func (n named) Name() string                { return n.name }
func (n named) Check(context.Context) error { return n.err }
func (n named) Open(context.Context, workspace.Spec) (*workspace.Workspace, error) {
	return nil, errors.ErrUnsupported
}

func TestChoose(t *testing.T) {
	broken := errors.New("install it")
	for _, tt := range []struct {
		name    string
		engines []workspace.Engine
		want    string
	}{
		{"the first that works", []workspace.Engine{named{"docker", nil}, named{"bwrap", nil}}, "docker"},
		{"the next one", []workspace.Engine{named{"docker", broken}, nil, named{"bwrap", nil}}, "bwrap"},
		{"never local", []workspace.Engine{named{"docker", broken}, named{"local", nil}}, ""},
		{"none", nil, ""},
	} {
		e, err := workspace.Choose(t.Context(), tt.engines...)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s: %s was chosen", tt.name, e.Name())
		case tt.want != "" && (err != nil || e.Name() != tt.want):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		case len(tt.engines) > 0 && tt.want == "" && !errors.Is(err, broken):
			t.Errorf("%s: %v does not say what docker lacks", tt.name, err)
		}
	}
}

func engines(b *testing.B) map[string]workspacetest.Subject {
	b.Helper()
	bin, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	l, err := local.New(local.Config{Env: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	w, err := bwrap.New(b.Context(), bwrap.Config{Binary: bin})
	if err != nil {
		b.Fatal(err)
	}
	d, err := docker.New(docker.Config{Binary: bin, Image: "handrail-workspace:local"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return map[string]workspacetest.Subject{"local": {Engine: l}, "bwrap": {Engine: w, Wall: true}, "docker": {Engine: d, Wall: true}}
}

// large makes a base of n files that belongs to the workspaces' user.
func large(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d/f%d.go", i%50, i/50%20, i))
		if i < 1000 {
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(at, fmt.Appendf(nil, "package p\n\nconst n%d = %d\n", i, i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := workspace.Give(b.Context(), dir); err != nil {
		b.Fatal(err)
	}
	return dir
}

func BenchmarkOpen50000(b *testing.B) {
	source := large(b, 50_000)
	for name, s := range engines(b) {
		b.Run(name, func(b *testing.B) {
			workspacetest.Need(b, s.Engine, "")
			n := 0
			for b.Loop() {
				n++
				spec := workspace.Spec{Session: "bench", Source: source, State: filepath.Join(b.TempDir(), fmt.Sprint(n))}
				ws, err := s.Engine.Open(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := ws.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// searches are patterns by what is known of their matches, each found in a few lines.
var searches = []struct{ kind, pattern string }{
	{"literal", "n49999"}, {"folded", "(?i)N4999[0-9]"}, {"alternation", "n49999|n49998"}, {"literal and class", `n4999[0-9] = \d+`}, {"class", `[49]{4}[0-9]`},
}

func BenchmarkInside(b *testing.B) {
	source := large(b, 50_000)
	lines := make([]byte, 0, 64<<10)
	for i := range 1000 {
		lines = fmt.Appendf(lines, "line %d of a file that is read again and again\n", i)
	}
	var paths []string // as many as are asked for at the most
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("d%02d/e%02d/f%d.go", i%50, i/50%20, i))
	}
	for name, s := range engines(b) {
		b.Run(name, func(b *testing.B) {
			workspacetest.Need(b, s.Engine, "")
			ws := workspacetest.OpenSpec(b, s, workspace.Spec{Source: source})
			ctx := b.Context()
			if err := ws.Write(ctx, "d00/lines.txt", lines); err != nil {
				b.Fatal(err)
			}
			for i := range 5 {
				if err := ws.Write(ctx, fmt.Sprintf("d00/five%d.txt", i), lines); err != nil {
					b.Fatal(err)
				}
			}
			do := func(name string, f func() error) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if err := f(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			do("read1000lines", func() error { _, err := ws.Read(ctx, "d00/lines.txt"); return err })
			do("read5files", func() error {
				for i := range 5 {
					if _, err := ws.Read(ctx, fmt.Sprintf("d00/five%d.txt", i)); err != nil {
						return err
					}
				}
				return nil
			})
			do("runTrue", func() error { _, err := ws.Run(ctx, workspace.Command{Line: "true"}, nil); return err })
			do("outline", func() error { _, err := ws.Outline(ctx, workspace.OutlineQuery{Path: "d00"}); return err })
			do("used", func() error { _, err := ws.Used(ctx, paths, 120*time.Millisecond, 60); return err })
			do("changes", func() error { _, err := ws.Changes(ctx); return err })
			for _, s := range searches {
				do("search/"+s.kind, func() error {
					_, err := ws.Search(ctx, workspace.Query{Pattern: s.pattern, Regex: s.kind != "literal"})
					return err
				})
			}
			// Ripgrep on the same files: in an overlay it takes longer than on the source.
			if res, err := ws.Run(ctx, workspace.Command{Line: "command -v rg"}, nil); err != nil || res.Exit != 0 {
				return
			}
			for _, s := range searches {
				do("ripgrep/"+s.kind, func() error {
					_, err := ws.Run(ctx, workspace.Command{Line: "rg '" + s.pattern + "' ."}, nil)
					return err
				})
			}
		})
	}
	if rg, err := exec.LookPath("rg"); err == nil {
		for _, s := range searches {
			b.Run("ripgrep/"+s.kind, func(b *testing.B) {
				for b.Loop() {
					if err := exec.CommandContext(b.Context(), rg, s.pattern, source).Run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// The programs of this machine come with the parts of /etc that they need, and none that may have
// a password.
func TestEtcHasNoPasswords(t *testing.T) {
	for _, shown := range workspace.Etc() {
		for _, private := range []string{"/etc/maven/settings.xml", "/etc/shadow", "/etc/ssl/private"} {
			if shown == private || strings.HasPrefix(private, shown+"/") {
				t.Errorf("%s shows %s", shown, private)
			}
		}
	}
}
