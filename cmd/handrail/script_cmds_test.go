package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// want checks how a command of a story is used.
func want(ts *testscript.TestScript, neg bool, args []string, names ...string) {
	if neg || len(args) != len(names) {
		ts.Fatalf("usage: %s", strings.Join(names, " "))
	}
}

func scriptGit(ts *testscript.TestScript, dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Test", "-c", "user.email=test@example.invalid"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func scriptBranchless(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "DIR", "PATTERN")
	if out := scriptGit(ts, ts.MkAbs(args[0]), "branch", "--list", args[1]); out != "" {
		ts.Fatalf("there are branches: %s", out)
	}
}

func scriptSessionID(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args)
	found, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "handrail", "sessions", "*.jsonl"))
	ts.Check(err)
	if m := regexp.MustCompile(`"session":"(\w+)"`).FindStringSubmatch(ts.ReadFile("stdout")); len(found) == 0 && m != nil {
		ts.Setenv("SESSION", m[1])
		return
	}
	if len(found) == 0 {
		ts.Fatalf("there is no session")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return modified(ts, a).Compare(modified(ts, b)) })
	ts.Setenv("SESSION", strings.TrimSuffix(filepath.Base(newest), ".jsonl"))
}

func modified(ts *testscript.TestScript, file string) time.Time {
	info, err := os.Stat(file)
	ts.Check(err)
	return info.ModTime()
}

func scriptPermalink(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "DIR", "REV", "FILE")
	id := scriptGit(ts, ts.MkAbs(args[0]), "rev-parse", args[1])
	ts.Setenv("LINK", "https://github.com/example/r/blob/"+id+"/"+args[2])
}

func scriptSubmodule(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "DIR", "NAME")
	dir := ts.MkAbs(args[0])
	scriptGit(ts, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+","+args[1])
	scriptGit(ts, dir, "commit", "-q", "-m", "submodule")
}

func scriptBinary(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "FILE")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("\x7fELF\x00\x01\x02\x00\xff\xfe bytes"), 0o600))
}

func scriptGoModule(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "MODULE", "DIR")
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", args[0])
	out, err := cmd.Output()
	if err != nil {
		ts.Fatalf("find module %s: %v", args[0], err)
	}
	to := ts.MkAbs(args[1])
	ts.Check(os.CopyFS(to, os.DirFS(strings.TrimSpace(string(out)))))
	ts.Check(filepath.WalkDir(to, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(p, 0o755) // what the module cache holds is read-only
	}))
	// The flags of this test, so that the standard library is not compiled for the story alone.
	env, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "CGO_ENABLED", "GOFLAGS").Output()
	ts.Check(err)
	of := strings.Split(string(env), "\n")
	// Handrail's own runs of the tests as well.
	ts.Setenv("GOCACHE", of[1])
	ts.Setenv("GOFLAGS", strings.TrimSpace(of[3]+" -mod=mod -vet=off"))
	ts.Setenv("CGO_ENABLED", of[2])
	script := fmt.Sprintf("GOCACHE='%s' CGO_ENABLED='%s' GOFLAGS='%s' GOPROXY=off exec '%s/bin/go' test -vet=off ./...\n", of[1], of[2], of[3], of[0])
	ts.Check(os.WriteFile(filepath.Join(to, "check.sh"), []byte(script), 0o600))
}
