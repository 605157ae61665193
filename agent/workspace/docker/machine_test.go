package docker_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
)

// A workspace without an image has this machine's programs and the toolchains that are
// shown, read-only, and nothing of what is hidden in them.
func TestMachine(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools/bin/hello": "#!/bin/sh\necho hello from $TOOLS\n", "tools/work/token": "ghs_token", "tools/work/_tool/bin/deep": "#!/bin/sh\necho deep\n", "beside/token": "ghs_token",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tools := filepath.Join(dir, "tools")
	path := tools + "/bin:" + tools + "/work/_tool/bin:/usr/bin:/bin"
	shows := workspace.Machine{
		Dirs: []string{tools, tools + "/work/_tool"}, Hidden: []string{tools + "/work"}, Env: map[string]string{"TOOLS": tools, "PATH": path},
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inBwrap, err := bwrap.New(t.Context(), bwrap.Config{Binary: self, Path: path, Shows: shows})
	if err != nil {
		t.Fatal(err)
	}
	inDocker, err := docker.New(docker.Config{Binary: self, Shows: &shows})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inDocker.Close() })
	for _, e := range []workspace.Engine{inDocker, inBwrap} {
		t.Run(e.Name(), func(t *testing.T) {
			workspacetest.Need(t, e, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
			ws := workspacetest.Open(t, workspacetest.Subject{Engine: e, Wall: true}, workspacetest.Tree{"a.txt": "a"})
			res, err := ws.Run(t.Context(), workspace.Command{Line: `hello; deep; git --version; id -un
cat $TOOLS/work/token $TOOLS/../beside/token
echo x >$TOOLS/bin/new; echo x >$TOOLS/work/new; echo x >/usr/new
ls $TOOLS/work; ls /root /home /var/run/docker.sock`}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"hello from " + tools, "deep\n", "git version", "agent\n", "_tool\n"} {
				if !strings.Contains(res.Output, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if strings.Contains(res.Output, "ghs_token") || strings.Count(res.Output, "No such file")+strings.Count(res.Output, "Read-only file system")+strings.Count(res.Output, "Permission denied")+strings.Count(res.Output, "cannot open directory") < 6 {
				t.Error("something else came in, or something can be written")
			}
			if t.Failed() {
				t.Logf("it says\n%s", res.Output)
			}
		})
	}
}

// A daemon that is only slow is not said to be elsewhere.
func TestSlowDaemon(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body) // only then the end of the other side is seen
			<-r.Context().Done()
		} else if strings.HasSuffix(r.URL.Path, "/json") {
			_, _ = io.WriteString(w, `{"Id": "sha256:1", "Config": {}}`) // the other side may be gone
		}
	}))
	defer srv.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := docker.New(docker.Config{Binary: program, Image: "toolchain:1", Host: "tcp://" + srv.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := e.Check(ctx); err == nil || !strings.Contains(err.Error(), "makes no container in time") {
		t.Errorf("checked: %v", err)
	}
}

// A daemon of another machine is not taken for one that sees this one's files.
func TestDaemonElsewhere(t *testing.T) {
	workspacetest.Need(t, engine(t, docker.Config{}), os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	e, err := docker.New(docker.Config{Binary: filepath.Join(t.TempDir(), "not-there"), Image: image})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "does not see the files") {
		t.Errorf("checked: %v", err)
	}
}
