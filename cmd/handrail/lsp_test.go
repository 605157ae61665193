package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

var installed = lsp.Server{Name: "basedpyright", Argv: []string{"server"}}

// madeServer is the state directory of an installation that made a program with a text.
func madeServer(t *testing.T, text string) (state, bin string) {
	t.Helper()
	state = t.TempDir()
	bin = filepath.Join(state, workspace.KeptTree, installedBelow, "bin")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "server"), []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
	return state, bin
}

// leftIn fails the test unless a directory of servers holds one, with a text, and nothing of installations.
func leftIn(t *testing.T, into, text string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(into, installed.Name, "bin", "server"))
	if err != nil || !strings.HasPrefix(string(got), text) {
		t.Errorf("the server is %.20q, %v", got, err)
	}
	list, err := os.ReadDir(into)
	if err != nil || len(list) != 2 || list[0].Name() != ".lock" || list[1].Name() != installed.Name {
		t.Errorf("the directory has %v, %v", list, err)
	}
}

// TestTakeServer: whatever an installation made, the earlier server stays or a whole one takes its place, with
// links as links, and no rights but those to read and to execute.
func TestTakeServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		make func(bin string) error
		want string // the error; "" if it is taken
	}{
		{"no program", func(bin string) error { return os.Remove(filepath.Join(bin, "server")) }, "it made no program server"},
		{"an empty one", func(bin string) error { return os.Truncate(filepath.Join(bin, "server"), 0) }, "that is empty"},
		{"no rights", func(bin string) error { return os.Chmod(filepath.Join(bin, "server"), 0o644) }, "that is empty, or not"},
		{"a link out", func(bin string) error {
			return errors.Join(os.Remove(filepath.Join(bin, "server")), os.Symlink("/bin/sh", filepath.Join(bin, "server")))
		}, "it made no program server"},
		{"a pipe", func(bin string) error { return syscall.Mkfifo(filepath.Join(bin, "pipe"), 0o644) }, "copy it"},
		{"rights of others, and links", func(bin string) error {
			return errors.Join(os.Chmod(filepath.Join(bin, "server"), 0o777|os.ModeSetuid|os.ModeSetgid),
				os.Symlink("/etc/shadow", filepath.Join(bin, "link")))
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "into")
			first, _ := madeServer(t, "first")
			if err := takeServer(t.Context(), first, into, installed); err != nil {
				t.Fatal(err)
			}
			state, bin := madeServer(t, "second")
			if err := test.make(bin); err != nil {
				t.Fatal(err)
			}
			err := takeServer(t.Context(), state, into, installed)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v", err)
				}
				leftIn(t, into, "first")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			leftIn(t, into, "second")
			info, err := os.Lstat(filepath.Join(into, installed.Name, "bin", "server"))
			if err != nil || info.Mode() != 0o755 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
			if to, err := os.Readlink(filepath.Join(into, installed.Name, "bin", "link")); err != nil || to != "/etc/shadow" {
				t.Errorf("the link is %q, %v", to, err)
			}
		})
	}
}

// TestTakeServerAfterAKill: the earlier server is put back, and nothing is left of killed installations.
func TestTakeServerAfterAKill(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	state, _ := madeServer(t, "first")
	if err := takeServer(t.Context(), state, into, installed); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(into, newMark+"1")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(into, newMark+"2", "new", "bin"), 0o755),
		os.Mkdir(left, 0o755),
		os.Rename(filepath.Join(into, installed.Name), filepath.Join(left, earlierMark+installed.Name)),
		sweepInstalls(into),
	); err != nil {
		t.Fatal(err)
	}
	leftIn(t, into, "first")
}

// TestTakeServersAtOnce: one of several installations at once is there in the end, whole, and none fails.
func TestTakeServersAtOnce(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		state, _ := madeServer(t, "whole")
		all.Go(func() {
			if err := takeServer(t.Context(), state, into, installed); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	leftIn(t, into, "whole")
}

// TestInstallLine: of a server in Go an older version is taken if the newest needs a newer Go, and only then.
func TestInstallLine(t *testing.T) {
	t.Parallel()
	known, err := knownServer("gopls")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ says, want string }{
		{"requires go >= 1.99 (running go 1.26)", "latest v0.30.0 v0.29.0 made"},
		{"404 Not Found", "latest"},
		{"", "latest made"},
	} {
		dir := t.TempDir()
		script := `go() {
case "$1 $2" in
"list -m") echo "$4 v0.1.0 v0.30.0-pre.1 v0.29.0 v0.30.0"; return ;;
esac
printf '%s ' "${2##*@}" >>asked
case $2 in *@v0.29.0) ;; *) [ -z "$says" ] || { echo "$says"; return 1; } ;; esac
printf made >>asked
}
`
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script+installLine(known))
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "says=" + test.says}
		out, err := cmd.CombinedOutput()
		asked, wrong := os.ReadFile(filepath.Join(dir, "asked"))
		if got := strings.TrimSpace(string(asked)); got != test.want || wrong != nil || (err == nil) != strings.HasSuffix(test.want, "made") {
			t.Errorf("with %q asked is %q, %v: %s", test.says, got, err, out)
		}
	}
}
