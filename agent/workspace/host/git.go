package host

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"
)

// gitTime is how long the making of the throw-away repository may take. gitFiles is
// the largest tree that it is made for.
const (
	gitTime  = 20 * time.Second
	gitFiles = 60_000
)

// throwawayGit makes a repository inside the workspace, with the base as its only
// commit, before the first command that mentions git. It serves `git diff` and
// the like; nothing reads it back. Where git is missing or fails, the workspace
// has no repository.
func (h *host) throwawayGit(ctx context.Context, line string) {
	if h.gitMade || !strings.Contains(line, "git") {
		return
	}
	h.gitMade = true
	if _, err := h.root.Lstat(".git"); err == nil || len(h.base.files) > gitFiles {
		return
	}
	bin := ""
	for dir := range strings.SplitSeq(h.pathVar(), ":") {
		if info, err := os.Stat(path.Join(dir, "git")); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			bin = path.Join(dir, "git")
			break
		}
	}
	if bin == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	base := []string{"-c", "user.name=workspace", "-c", "user.email=workspace@localhost", "-c", "init.defaultBranch=main",
		"-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "core.fsync=none"}
	mark := rand.Text()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "."}, {"commit", "-q", "--allow-empty", "--no-verify", "-m", "base"}} {
		cmd := exec.CommandContext(ctx, bin, append(base, args...)...)
		cmd.Dir = h.cfg.Root
		cmd.Env = append(h.environment(mark), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+path.Join(h.cfg.Root, ".git"))
		if h.cfg.Base != "" && args[0] == "add" {
			cmd.Dir = h.cfg.Base
			cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+h.cfg.Base)
		}
		cmd.SysProcAttr = newSession()
		if err := h.procs.start(cmd, mark); err != nil {
			return
		}
		err := cmd.Wait()
		h.procs.forget(cmd.Process.Pid)
		if err != nil {
			h.log.Debug("make throw-away repository", "err", err)
			_ = h.root.RemoveAll(".git") // half of one is worse than none
			return
		}
	}
}
