package docker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// refuses is an egress that says so.
type refuses struct{}

func (refuses) Refused() []string { return nil }

func (refuses) Serve(_ context.Context, conn net.Conn) {
	_, _ = conn.Write([]byte("refused\n")) // the test reads it
	_ = conn.Close()
}

// An image is built from the approved text and the files of a directory, whatever Dockerfile lies there. Its
// commands have no network, or that of a workspace.
func TestBuild(t *testing.T) {
	longtest.Leave(t)
	e := engine(t, docker.Config{})
	dir := t.TempDir()
	for name, text := range map[string]string{".handrail-dockerfile": "FROM scratch\n", "Dockerfile": "FROM scratch\n", "sub/a": "of the files\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	docker, err := client.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = docker.Close() })
	var told []string
	build := func(name, text string, b workspace.Build) (string, error) {
		t.Helper()
		b.Image = fmt.Sprintf("handrail-built:test-%d-%d-%s", os.Getpid(), time.Now().UnixNano(), name)
		b.Text, b.Files = "FROM "+image+"\n"+text, dir
		b.Dir = cmp.Or(b.Dir, ".")
		b.Tell = func(line string) { told = append(told, line) }
		t.Cleanup(func() {
			_, _ = docker.ImageRemove(context.WithoutCancel(t.Context()), b.Image, client.ImageRemoveOptions{Force: true}) // missing if it failed
		})
		return b.Image, e.Build(t.Context(), b)
	}
	name, err := build("whole", "ARG A\nCOPY sub /opt/sub\nRUN test -z \"$(ls /sys/class/net | grep -v lo)\" && echo \"$A\" >>/opt/sub/a\n", workspace.Build{Args: map[string]string{"A": "an argument"}})
	if err != nil {
		t.Fatal(err)
	}
	if has, err := e.HasImage(t.Context(), name); !has || err != nil {
		t.Errorf("the image is there: %t, %v", has, err)
	}
	if has, err := e.HasImage(t.Context(), name+"-not"); has || err != nil {
		t.Errorf("another image is there: %t, %v", has, err)
	}
	ws, err := e.Open(t.Context(), workspace.Spec{Session: "built", Image: name, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	res, err := ws.Run(t.Context(), workspace.Command{Line: "cat /opt/sub/a"}, nil)
	if err != nil || res.Output != "of the files\nan argument\n" {
		t.Errorf("the image has %q, %v", res.Output, err)
	}
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(strings.Join(told, "\n"), "building the image: COPY sub /opt/sub") {
		t.Errorf("told: %q", told)
	}
	_, err = build("broken", "RUN echo a word && false\n", workspace.Build{})
	if !errors.Is(err, workspace.ErrBuild) || !strings.Contains(err.Error(), "a word") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err = build("unreadable", "FETCH all\n", workspace.Build{}); !errors.Is(err, workspace.ErrBuild) || !strings.Contains(err.Error(), "FETCH") {
		t.Errorf("an unknown instruction: %v", err)
	}
	if _, err = build("without", "", workspace.Build{Dir: "missing"}); !errors.Is(err, workspace.ErrBuild) {
		t.Errorf("without its directory: %v", err)
	}
	if _, err = build("alone", "", workspace.Build{Beside: "nobody"}); err == nil {
		t.Error("it was built in the network of a workspace that there is not")
	}
	trigger, err := build("trigger", "ONBUILD ADD http://127.0.0.1:1/x /x\nONBUILD RUN touch /ran\n", workspace.Build{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = build("triggered", "FROM "+trigger+"\n", workspace.Build{From: []string{image, trigger}})
	if !errors.Is(err, workspace.ErrBuild) || !strings.Contains(err.Error(), "ONBUILD ADD http://127.0.0.1:1/x") {
		t.Errorf("from an image with instructions for builds from it: %v", err)
	}
	if _, err = build("untriggered", "", workspace.Build{From: []string{image}}); err != nil {
		t.Errorf("from an image without any: %v", err)
	}
	beside, err := e.Open(t.Context(), workspace.Spec{Session: "beside", Image: image, Egress: refuses{}, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = build("beside", "RUN bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; echo hello >&3; read -r said <&3; test \"$said\" = refused'\n", workspace.Build{Beside: "beside"})
	if err := errors.Join(err, beside.Close(t.Context())); err != nil {
		t.Errorf("in the network of a workspace: %v", err)
	}
}
