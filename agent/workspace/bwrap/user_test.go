package bwrap_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/bwrap"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// ordinary is a user that this machine does not have, so that nothing else of
// it runs.
const ordinary = 54321

// As an ordinary user, who may make no control groups, a session is held to the
// same limits.
func TestOrdinaryUser(t *testing.T) {
	longtest.Leave(t)
	if os.Geteuid() != 0 {
		t.Skip("NEEDS ROOT, to become another user: TestConformance tests this one")
	}
	engine(t, bwrap.Config{})
	dir, err := os.MkdirTemp("", "handrail-user-") //nolint:usetesting // the other user cannot enter what t.TempDir makes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workspace.RemoveTree(dir); err != nil {
			t.Error(err)
		}
	})
	for _, err := range []error{copyProgram(filepath.Join(dir, "bwrap.test")), os.Chown(dir, ordinary, ordinary), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run := "^(TestConformance|TestScope)$/^overlay$/^(together|quotas|limits|tampering|closing|set_up)$"
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bwrap.test"), "-test.run", run, "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir, "HANDRAIL_REQUIRE_ENGINES=" + os.Getenv("HANDRAIL_REQUIRE_ENGINES")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestConformance/overlay/quotas") {
		t.Fatalf("%v:\n%s", err, out)
	}
}

func copyProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
