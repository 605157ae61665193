// The origin of the program: its version and commit.

package config

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Info is the contract of `handrail version --json`.
type Info struct {
	Version  string `json:"version"` // "dev" if none is recorded
	Commit   string `json:"commit"`  // full hash; "" if unknown
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild reads the linker's record: the module's version for an installed program, the
// commit for a program built from a checkout.
func ReadBuild() Info {
	v := Info{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// Found is [ReadBuild], but if no commit is recorded, it asks git for that of the
// checkout in which the program was compiled. A commit newer than the program does not
// count.
func Found(ctx context.Context) Info {
	v := ReadBuild()
	_, source, _, ok := runtime.Caller(0)
	if v.Commit != "" || !ok || !filepath.IsAbs(source) { // -trimpath records no path
		return v
	}
	if self, err := os.Executable(); err == nil {
		v.checkout(ctx, filepath.Dir(source), self)
	}
	return v
}

// ForContainers returns the Linux program for containers: this one, or the one beside it
// in a release for another system.
func ForContainers(self string) string {
	if runtime.GOOS == "linux" {
		return self
	}
	return filepath.Join(filepath.Dir(self), "linux", "handrail")
}

// checkout sets the commit of the checkout around dir, unless it is newer than program.
func (v *Info) checkout(ctx context.Context, dir, program string) {
	built, err := os.Stat(program)
	if err != nil {
		return
	}
	out, err := git(ctx, dir, "log", "-1", "--format=%H %ct")
	commit, at, _ := strings.Cut(strings.TrimSpace(out), " ")
	seconds, bad := strconv.ParseInt(at, 10, 64)
	if err != nil || bad != nil || time.Unix(seconds, 0).After(built.ModTime()) {
		return
	}
	changes, err := git(ctx, dir, "status", "--porcelain", "--", ":/")
	v.Commit, v.Modified = commit, err != nil || changes != ""
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(
		ctx,
		"git",
		append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...).Output()
	return string(out), err
}
