package bwrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/agent/workspace/workspacetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// says returns what a command says in a workspace on an engine with this PATH and these
// toolchains.
func says(t *testing.T, path, line string, toolchains ...string) string {
	t.Helper()
	ws := workspacetest.Open(t, workspacetest.Subject{Engine: engine(t, bwrap.Config{Path: path, Toolchains: toolchains}), Wall: true}, workspacetest.Tree{"a.txt": "a"})
	res, err := ws.Run(t.Context(), workspace.Command{Line: line}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Output
}

// The machine's Go is on the PATH of a workspace where it is on the server's. What
// users other than root may write is not.
func TestToolchainOnThePath(t *testing.T) {
	longtest.Leave(t)
	goProgram, err := exec.LookPath("go")
	if err != nil || !strings.HasPrefix(goProgram, "/usr/") {
		t.Skip("the machine's Go is not in /usr")
	}
	mine := filepath.Join(t.TempDir(), "bin")
	if err := os.MkdirAll(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, "mine"), []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := mine + ":" + filepath.Dir(goProgram) + ":bin:/:/root/bin:/proc/self/cwd"
	got := says(t, path, "go version; command -v mine; echo PATH $PATH; ls "+mine)
	want := "PATH " + filepath.Dir(goProgram) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/cache/home/.local/bin\n"
	if !strings.HasPrefix(got, "go version go") || !strings.Contains(got, want) || strings.Contains(got, "/mine") {
		t.Errorf("inside it says\n%s\nwant %s", got, want)
	}
}

// toolchains makes directories of programs in a mount namespace of its own.
const toolchains = `set -e
mount -t tmpfs -o mode=755 toolchains /opt
[ "$(stat -f -c %T /opt)" = tmpfs ]
cd /opt
for d in good open secret other far; do
  mkdir -p "$d/bin"
  printf '#!/bin/sh\necho %s runs\n' "$d" >"$d/bin/$d"
  chmod 755 "$d/bin/$d"
done
mount -t tmpfs -o mode=755 private /srv
mkdir -p /srv/tool/bin
ln -s good link
ln -s /root good/away
chmod 777 open/bin
mkdir -p secret/etc
echo token >secret/etc/token
chmod 600 secret/etc/token
chown 12345 other/bin/other
mkdir -p far/state
chmod 770 far/state
exec "$0" -test.run '^Test(NamedT|T)oolchainsInside$' -test.v
`

// What is outside of /usr is shown where everybody may read all of it and only root
// write it, and nothing else of the machine comes with it.
func TestToolchains(t *testing.T) {
	longtest.Leave(t)
	engine(t, bwrap.Config{})
	if os.Geteuid() != 0 {
		t.Skip("only root can make directories of root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", toolchains, self)
	cmd.Env = append(os.Environ(), "HANDRAIL_TEST_TOOLCHAINS=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestToolchainsInside") || !strings.Contains(string(out), "--- PASS: TestNamedToolchainsInside") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestToolchainsInside(t *testing.T) {
	if os.Getenv("HANDRAIL_TEST_TOOLCHAINS") == "" {
		t.Skip("TestToolchains runs it where there are toolchains")
	}
	path := "/opt/open/bin:/opt/secret/bin:/opt/other/bin:/opt/far/bin:/opt/link/bin:/opt/good/bin:/opt/none/bin:/srv/tool/bin:/opt:/opt/../tmp"
	got := says(t, path, `link=$(command -v good); echo "at $link"; good
for p in open secret other far; do command -v $p; done
ls /opt /opt/good /opt/link; cat /opt/secret/etc/token
echo x >/opt/good/bin/good; echo x >/opt/good/new; ls /opt/good/away/
echo PATH $PATH`)
	for _, want := range []string{"at /opt/link/bin/good\n", "good runs\n", "PATH /opt/link/bin:/opt/good/bin:/usr/local/sbin:"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(got, "token\n") || strings.Count(got, "Read-only file system") != 2 || !strings.Contains(got, "/opt/good/away/") {
		t.Error("something else came in, or something can be written")
	}
	for _, bad := range []string{"/opt/open", "/opt/other", "/opt/far", "secret\n"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s came in", bad)
		}
	}
	if t.Failed() {
		t.Logf("inside it says\n%s", got)
	}
}

// A toolchain that is named is there before the PATH of the server, by its directory or
// by that of its programs. One that may not be shown is an error that says what to do.
func TestNamedToolchainsInside(t *testing.T) {
	if os.Getenv("HANDRAIL_TEST_TOOLCHAINS") == "" {
		t.Skip("TestToolchains runs it where there are toolchains")
	}
	got := says(t, "/usr/bin", `good; command -v good; echo x >/opt/good/new; ls /opt; echo PATH $PATH`, "/opt/good/", "/opt/link/bin", "/usr")
	for _, want := range []string{"good runs\n/opt/good/bin/good\n", "Read-only file system", "\ngood\nlink\n", "PATH /opt/good/bin:/opt/link/bin:/usr/bin:/usr/bin:/usr/local/sbin:"} {
		if !strings.Contains(got, want) {
			t.Errorf("it says\n%s\nwant %s", got, want)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"/opt/open": "users other than root may write", "/opt/secret": "not all users may read", "/opt/other": "users other than root may write", "/opt/far": "users other than root may write",
		"/opt/none": "no such file", "/srv/tool": "it is private", "/opt": "users other than root may write", "/": "it is private", "/root": "it is private", "opt": "", "/opt/good/bin/good": "no directory",
		filepath.Dir(self): "it is private",
	} {
		_, err := bwrap.New(t.Context(), bwrap.Config{Binary: self, Toolchains: []string{dir}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "show toolchain "+dir) || !strings.Contains(err.Error(), "name the directory of one toolchain") {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}
