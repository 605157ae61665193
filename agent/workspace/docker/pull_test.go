package docker_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/docker"
	"github.com/handrail-bot/handrail/agent/workspace/docker/dockertest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// pulled is a registry with one image, which is not on this machine before the test nor
// after it.
type pulled struct {
	*dockertest.Registry
	t            *testing.T
	engine       *docker.Engine
	name, digest string
}

func newPulled(t *testing.T, cfg docker.Config) pulled {
	t.Helper()
	p := pulled{Registry: dockertest.New(t), t: t, engine: engine(t, cfg)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.digest, p.name = p.Put(t, "acme/tool:1", dockertest.Layer(t, "bash", self))
	t.Cleanup(func() { p.forget(p.name) })
	return p
}

func (p pulled) forget(names ...string) {
	for _, name := range names {
		_ = exec.CommandContext(context.WithoutCancel(p.t.Context()), "docker", "rmi", "-f", name).Run() // it may not have come
	}
}

// open opens a workspace, and returns what it says there, and what was told of the pull.
func (p pulled) open(ctx context.Context, session, image string) (said string, told []string, err error) {
	return p.opens(ctx, session, image, func() {})
}

// opens is open that calls first when it was first told of the pull.
func (p pulled) opens(ctx context.Context, session, image string, first func()) (said string, told []string, err error) {
	var mu sync.Mutex
	ws, err := p.engine.Open(ctx, workspace.Spec{Session: session, State: filepath.Join(p.t.TempDir(), "state"), Image: image, Pull: true, Tell: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		if told = append(told, s); len(told) == 1 {
			first()
		}
	}})
	if err != nil {
		return "", told, err
	}
	res, err := ws.Run(ctx, workspace.Command{Line: "echo made for $MADE_FOR"}, nil)
	mu.Lock()
	defer mu.Unlock()
	return res.Output, told, errors.Join(err, ws.Close(ctx))
}

// An image that is missing is pulled where that is allowed, by its name or its digest,
// and said so.
func TestPull(t *testing.T) {
	longtest.Leave(t)
	p := newPulled(t, docker.Config{})
	byDigest := p.Address + "/acme/tool@" + p.digest
	for _, image := range []string{p.name, byDigest} {
		_, err := p.engine.Open(t.Context(), workspace.Spec{Session: "t", State: filepath.Join(t.TempDir(), "state"), Image: image})
		if !errors.Is(err, workspace.ErrNoImage) || !strings.Contains(err.Error(), `run "docker pull `+image+`"`) {
			t.Errorf("%s: where nothing is pulled: %v", image, err)
		}
		said, told, err := p.open(t.Context(), "t", image)
		if err != nil || said != "made for acme/tool:1\n" {
			t.Errorf("%s: it says %q, %v", image, said, err)
		}
		if len(told) < 2 || told[0] != "pulling image "+image || !strings.Contains(strings.Join(told, "\n"), " layers") {
			t.Errorf("%s: told %q", image, told)
		}
		if _, told, err = p.open(t.Context(), "t", image); err != nil || told != nil {
			t.Errorf("%s: once it is there: told %q, %v", image, told, err)
		}
		p.forget(p.name, byDigest)
	}
}

// What cannot be pulled says why, and what to do.
func TestPullFails(t *testing.T) {
	p := newPulled(t, docker.Config{})
	other := p.Address + "/acme/tool@sha256:" + strings.Repeat("0", 64)
	fails := func(image, want string) {
		t.Helper()
		_, _, err := p.open(t.Context(), "t", image)
		if !errors.Is(err, workspace.ErrNoImage) || !strings.Contains(err.Error(), "pull image "+image) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", image, err, want)
		}
	}
	fails(p.Address+"/acme/tool:2", "its registry does not have it")
	fails(other, "its registry does not have it")
	fails("127.0.0.1:1/acme/tool:1", `run "docker pull 127.0.0.1:1/acme/tool:1" where the daemon runs`)
	p.Login("acme", "words")
	fails(p.name, `run "docker login `+p.Address+`" as the user that runs Handrail`)
	_, _, err := p.open(t.Context(), "t", workspace.DefaultImage+"-not")
	if !errors.Is(err, workspace.ErrNoImage) {
		t.Error(err)
	}
}

// Who has little patience waits no longer for a registry that does not answer.
func TestPullUnanswered(t *testing.T) {
	e := engine(t, docker.Config{})
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	image := silent.Addr().String() + "/acme/tool:1"
	_, err = e.Programs(t.Context(), workspace.Spec{Image: image, Pull: true, Patience: 50 * time.Millisecond})
	if !errors.Is(err, workspace.ErrNoImage) || !strings.Contains(err.Error(), "pull image "+image+": its registry did not answer within 50ms") {
		t.Error(err)
	}
}

// A registry is told who one is as docker's own configuration says it.
func TestPullWithLogin(t *testing.T) {
	longtest.Leave(t)
	helper := t.TempDir()
	script := "#!/bin/sh\nread name\n[ \"$name\" = \"$(cat \"${0%/*}/knows\")\" ] || { echo credentials not found in native keychain; exit 1; }\necho '{\"Username\":\"acme\",\"Secret\":\"words\"}'\n"
	if err := os.WriteFile(filepath.Join(helper, "docker-credential-tests"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", helper+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	p := newPulled(t, docker.Config{Logins: docker.Logins(dir)})
	p.Login("acme", "words")
	if err := os.WriteFile(filepath.Join(helper, "knows"), []byte(p.Address), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := func(words string) string { return base64.StdEncoding.EncodeToString([]byte(words)) }
	for _, tt := range []struct{ name, config, want string }{
		{"nobody", `{"auths": {}}`, "docker login"},
		{"another registry", fmt.Sprintf(`{"auths": {"127.0.0.2:5000": {"auth": %q}}}`, plain("acme:words")), "docker login"},
		{"wrong password", fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, p.Address, plain("acme:word")), "docker login"},
		{"in the file", fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, p.Address, plain("acme:words")), ""},
		{"with a program", `{"credsStore": "tests", "auths": {"` + p.Address + `": {}}}`, ""},
		{"with a program for this registry", fmt.Sprintf(`{"credHelpers": {%q: "tests"}}`, p.Address), ""},
		{"no program", `{"credsStore": "tests-not"}`, "docker-credential-tests-not"},
		{"a path", `{"credsStore": "../tests"}`, "no name of a program"},
		{"not JSON", `auths`, "config.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
			said, _, err := p.open(t.Context(), "t", p.name)
			p.forget(p.name)
			if tt.want == "" && (err != nil || said != "made for acme/tool:1\n") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("it says %q, %v, want %q", said, err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "words") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// An image that several want is pulled once, and goes on as long as one of them waits.
func TestPullOnce(t *testing.T) {
	p := newPulled(t, docker.Config{})
	held := p.Hold()
	defer held.Release()
	first, stop := context.WithCancelCause(t.Context())
	type end struct {
		said string
		err  error
	}
	ends := make([]chan end, 3)
	var want sync.WaitGroup // until all of them want the image
	want.Add(len(ends))
	for i := range ends {
		ends[i] = make(chan end, 1)
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		go func() {
			wants := sync.OnceFunc(want.Done)
			said, _, err := p.opens(ctx, fmt.Sprintf("t%d", i), p.name, wants)
			wants() // also where it failed
			ends[i] <- end{said, err}
		}()
	}
	<-held.Came
	want.Wait()
	why := errors.New("the session was stopped")
	stop(why)
	if e := <-ends[0]; !errors.Is(e.err, why) {
		t.Errorf("who was stopped: %v", e.err)
	}
	held.Release()
	for _, c := range ends[1:] {
		if e := <-c; e.err != nil || e.said != "made for acme/tool:1\n" {
			t.Errorf("it says %q, %v", e.said, e.err)
		}
	}
	if n := p.Sent(); n != 2 {
		t.Errorf("%d parts were sent, want the configuration and one layer", n)
	}
}

// A pull ends with the last of those who want it, and can be begun anew.
func TestPullIsStopped(t *testing.T) {
	p := newPulled(t, docker.Config{})
	held := p.Hold()
	defer held.Release()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.open(ctx, "t", p.name)
		ended <- err
	}()
	<-held.Came
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-held.Gone:
	case <-time.After(10 * time.Minute): // a busy daemon takes its time
		t.Fatal("the daemon goes on")
	}
	held.Release()
	if said, _, err := p.open(t.Context(), "t", p.name); err != nil || said != "made for acme/tool:1\n" {
		t.Errorf("it says %q, %v", said, err)
	}
}
