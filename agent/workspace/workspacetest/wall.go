package workspacetest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Canary is a value that tests put in place of secrets: in this process's environment and
// in a file that only its user can read.
const Canary = "canary-6f1d2c9b7e"

func closing(t *testing.T, s Subject) {
	state := filepath.Join(t.TempDir(), "state")
	ws, err := s.Engine.Open(t.Context(), workspace.Spec{Session: "closing", State: state, Image: s.Image})
	if err != nil {
		t.Fatal(err)
	}
	if ws.Engine() != s.Engine.Name() || !filepath.IsAbs(ws.Root()) {
		t.Errorf("engine %q, root %q", ws.Engine(), ws.Root())
	}
	if err := ws.Write(t.Context(), "a.txt", []byte("a")); err != nil {
		t.Errorf("write to a workspace without a source: %v", err)
	}
	mustRun(t, ws, "mkdir -p ro/deep && touch ro/deep/x && chmod 555 ro/deep ro")
	p, err := ws.Start(t.Context(), workspace.Program{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		first := true
		_, err := ws.Run(t.Context(), workspace.Command{Line: "echo begun; sleep 1000"}, func(string) {
			if first {
				close(begun)
			}
			first = false
		})
		running <- err
	}()
	<-begun
	began := time.Now()
	for range 2 {
		if err := ws.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("close took %s", d)
	}
	if err := <-running; !errors.Is(err, workspace.ErrGone) {
		t.Errorf("the command that was running: %v, want ErrGone", err)
	}
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, workspace.ErrGone) {
		t.Errorf("the program that was running: %v, want ErrGone", err)
	}
	if _, err := ws.Read(t.Context(), "a.txt"); !errors.Is(err, workspace.ErrGone) {
		t.Errorf("read after Close: %v, want ErrGone", err)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("the state directory is still there")
	}
	for _, spec := range []workspace.Spec{{Session: "a/b", State: state}, {Session: "", State: state}, {Session: "x", State: "relative"}, {Session: "x", State: "/"}} {
		if ws, err := s.Engine.Open(t.Context(), spec); err == nil {
			t.Errorf("open %+v: no error", spec)
			if err := ws.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// secrets searches from inside for values that must not be there.
func secrets(t *testing.T, s Subject) {
	hidden := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(hidden, []byte(Canary), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HANDRAIL_TEST_TOKEN", Canary)
	ws := Open(t, s, Tree{"a.txt": "a\n"})
	if out := mustRun(t, ws, "env; set; sh -c env"); strings.Contains(out, Canary) {
		t.Error("the environment has the canary")
	}
	if !s.Wall {
		return
	}
	out := mustRun(t, ws, "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; true")
	if strings.Contains(out, Canary) {
		t.Error("an environment in /proc has the canary")
	}
	for _, tt := range []struct{ name, line, want string }{
		{"file of the host", "cat '" + hidden + "' 2>/dev/null; cat /etc/shadow 2>/dev/null; echo end", "end\n"},
		{"sockets", "find / -xdev -type s 2>/dev/null; ls /var/run/docker.sock /run/docker.sock 2>/dev/null; true", ""},
		{"keys", "ls -d /root/.ssh /root/.docker /home/*/.ssh 2>/dev/null; true", ""},
		{"user", `[ "$(id -u)" != 0 ] && echo fine`, "fine\n"},
		{"capabilities", "grep -E '^Cap(Eff|Prm|Bnd)' /proc/self/status | grep -v '0000000000000000$'; true", ""},
		{"new privileges", "grep NoNewPrivs /proc/self/status | tr -d '[:blank:]'", "NoNewPrivs:1\n"},
		{"processes of the host", "n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; [ $n -lt 12 ] && echo few", "few\n"},
		{"write to the system", "for d in / /usr /etc /bin /var /sys /proc/sys; do touch $d/x 2>/dev/null && echo $d; done; true", ""},
		{"its own name", `: 3<>/dev/udp/localhost/9 && echo known`, "known\n"},
		{"names of the machine's network", "grep -v -e '^#' -e '^nameserver 127' -e '^search \\.$' -e '^options' /etc/resolv.conf 2>/dev/null; true", ""},
		{"network devices", "tail -n +3 /proc/net/dev | grep -v ' lo:' ; true", ""},
	} {
		if got := run(t, ws, tt.line).Output; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	reach(t, ws)
}

// reach tries to connect from inside: to the network, to services of this machine, and to
// services that hand out credentials, in every spelling of their addresses.
func reach(t *testing.T, ws *workspace.Workspace) {
	web := listen(t, "tcp", "127.0.0.1:0")
	name := "handrail-" + filepath.Base(filepath.Dir(t.TempDir()))
	listen(t, "unix", "@"+name)
	_, port, err := net.SplitHostPort(web)
	if err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string]string{
		"abstract socket of the host": "grep -F '" + name + "' /proc/net/unix; true",
		"sockets that are mounted":    "grep -E 'docker\\.sock|containerd\\.sock|/run/secrets|\\.docker|\\.ssh' /proc/self/mountinfo; true",
		"arguments with a credential": "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -E '[g]hs_|[P]RIVATE KEY|[c]" + Canary[1:] + "'; true",
		"files with credentials":      "cat /run/secrets/* /var/run/secrets/*/*/* ~/.docker/config.json ~/.netrc ~/.git-credentials ~/.aws/credentials 2>/dev/null; true",
		"a name":                      "timeout 5 getent hosts github.com; true",
	} {
		if got := run(t, ws, line).Output; got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	for _, addr := range []string{
		"169.254.169.254/80", "2852039166/80", "0xA9FEA9FE/80", "0251.0376.0251.0376/80", "169.254.43518/80", "::ffff:169.254.169.254/80", "fd00:ec2::254/80",
		"169.254.170.2/80", "100.100.100.200/80", "1.1.1.1/53", "172.17.0.1/22", "127.0.0.1/" + port, "localhost/" + port, "2130706433/" + port, "0/" + port,
	} {
		res, err := ws.Run(
			t.Context(),
			workspace.Command{Line: "exec 3<>/dev/tcp/" + addr + " && echo connected", Timeout: time.Minute},
			nil,
		)
		if err != nil || strings.Contains(res.Output, "connected") || res.TimedOut {
			t.Errorf("connect to %s: %+v, %v; want to be refused at once", addr, res, err)
		}
	}
}

// listen opens a service of the host that must not be reached, and returns
// its address.
func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
