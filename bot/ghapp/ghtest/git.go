package ghtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gitDir is a bare repository on disk, used through the git program.
type gitDir struct {
	path  string
	known *sync.Map // what fixed commands printed, by their arguments
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") }),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com", "LC_ALL=C")
	return cmd
}

func (d gitDir) run(stdin []byte, args ...string) (string, error) {
	cmd := gitCommand(d.path, args...)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run git %s: %w: %s", args[0], err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// fixed runs a command that reads objects by their full ids alone, so that it
// says the same for ever and git is asked once.
func (d gitDir) fixed(args ...string) (string, error) {
	key := strings.Join(args, "\x00")
	if out, ok := d.known.Load(key); ok {
		return out.(string), nil
	}
	out, err := d.run(nil, args...)
	if err == nil {
		d.known.Store(key, out)
	}
	return out, err
}

func (d gitDir) line(args ...string) (string, error) {
	out, err := d.run(nil, args...)
	return strings.TrimSpace(out), err
}

// preReceive refuses what GitHub's rules refuse. The server passes the rules
// of the one push in its environment.
const preReceive = `#!/bin/sh
zero=0000000000000000000000000000000000000000
rc=0
while read -r old new ref; do
  case " $GHTEST_PROTECTED " in *" $ref "*)
    echo "error: GH006: Protected branch update failed for $ref." >&2
    echo "error: Changes must be made through a pull request." >&2
    rc=1; continue;;
  esac
  case " $GHTEST_NOFORCE " in *" $ref "*|*" * "*)
    if [ "$new" = "$zero" ]; then
      echo "error: GH006: Cannot delete protected branch $ref." >&2; rc=1; continue
    fi
    if [ "$old" != "$zero" ] && ! git merge-base --is-ancestor "$old" "$new"; then
      echo "error: GH006: Cannot force-push to this branch $ref." >&2; rc=1; continue
    fi;;
  esac
  if [ "$GHTEST_WORKFLOWS" != 1 ] && [ "$new" != "$zero" ]; then
    if [ "$old" = "$zero" ]; then not=$(git for-each-ref --format='^%(objectname)' refs/heads); else not="^$old"; fi
    if [ -n "$(git log --format=%H -1 "$new" $not -- .github/workflows)" ]; then
      echo "error: refusing to allow a GitHub App to create or update workflow \` + "`" + `.github/workflows\` + "`" + ` without \` + "`" + `workflows\` + "`" + ` permission" >&2
      rc=1
    fi
  fi
done
exit $rc
`

// repoConfig is what git itself writes for a bare repository, and what makes
// it serve as GitHub does.
const repoConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logAllRefUpdates = false
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[receive]
	hideRefs = refs/pull
	autogc = false
[gc]
	auto = 0
`

// initRepo makes an empty bare repository that serves as GitHub's do.
func initRepo(dir, branch string) (gitDir, error) {
	for _, sub := range []string{"hooks", "objects", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o755); err != nil {
			return gitDir{}, fmt.Errorf("create repository: %w", err)
		}
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"HEAD", "ref: refs/heads/" + branch + "\n", 0o644},
		{"config", repoConfig, 0o644},
		{filepath.Join("hooks", "pre-receive"), preReceive, 0o755},
	} {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), f.mode); err != nil {
			return gitDir{}, fmt.Errorf("create repository: %w", err)
		}
	}
	return gitDir{dir, &sync.Map{}}, nil
}

// change is one commit to be made.
type change struct {
	branch, parent string // parent is empty for a first commit
	author         string
	message        string
	files          map[string]string
	remove         []string
}

// commit makes the commit and moves the branch. It returns the new commit.
func (d gitDir) commit(c change, when int64) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit refs/heads/%s\n", c.branch)
	who := fmt.Sprintf("%s <%s@users.noreply.github.com> %d +0000", c.author, c.author, when)
	fmt.Fprintf(&b, "author %s\ncommitter %s\ndata %d\n%s\n", who, who, len(c.message), c.message)
	if c.parent != "" {
		fmt.Fprintf(&b, "from %s\n", c.parent)
	}
	for _, p := range c.remove {
		fmt.Fprintf(&b, "D %s\n", p)
	}
	names := make([]string, 0, len(c.files))
	for p := range c.files {
		if p == "" || strings.ContainsAny(p, "\n\"") || strings.HasPrefix(p, "/") {
			return "", fmt.Errorf("commit files: path %q cannot be stored", p)
		}
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		mode := "100644"
		if strings.HasPrefix(c.files[p], "#!") {
			mode = "100755"
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, p, len(c.files[p]), c.files[p])
	}
	if _, err := d.run(b.Bytes(), "fast-import", "--quiet", "--force", "--date-format=raw"); err != nil {
		return "", err
	}
	return d.line("rev-parse", "refs/heads/"+c.branch)
}

// resolve returns the commit that a branch, tag, full ref or id names, or "".
func (d gitDir) resolve(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return ""
	}
	for _, name := range []string{ref, "refs/heads/" + ref, "refs/tags/" + ref} {
		if !strings.HasPrefix(name, "refs/") && !isHex(name) {
			continue
		}
		if sha, err := d.commitAt(name); err == nil {
			return sha
		}
	}
	return ""
}

// commitAt returns the commit of a full ref or an id.
func (d gitDir) commitAt(name string) (string, error) {
	ask := d.line
	if isHex(name) && len(name) == 40 {
		ask = d.fixed
	} else if strings.HasPrefix(name, "refs/heads/") && fs.ValidPath(name) {
		// A branch is a commit, and mostly a file of its own.
		if sha, err := os.ReadFile(filepath.Join(d.path, filepath.FromSlash(name))); err == nil && len(sha) == 41 {
			return string(sha[:40]), nil
		}
	}
	sha, err := ask("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(sha), err
}

func isHex(s string) bool {
	return len(s) >= 7 && len(s) <= 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func (d gitDir) branch(name string) string { return d.resolve("refs/heads/" + name) }

// count says how many commits are in a range of ids.
func (d gitDir) count(rng string) (int, error) {
	out, err := d.fixed("rev-list", "--count", rng)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

func (d gitDir) mergeable(base, head string) bool {
	_, err := d.fixed("merge-tree", "--write-tree", base, head)
	return err == nil
}

// heads returns the branches and their commits.
func (d gitDir) heads() map[string]string {
	out, err := d.line("for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads")
	heads := map[string]string{}
	if err != nil || out == "" {
		return heads
	}
	for _, l := range strings.Split(out, "\n") {
		name, sha, _ := strings.Cut(l, " ")
		heads[name] = sha
	}
	return heads
}

// diffFile is one file of a comparison.
type diffFile struct {
	name, previous, status, sha, patch string
	add, del                           int
}

// diffFiles compares head with its merge base with base, both given by id.
func (d gitDir) diffFiles(base, head string) ([]diffFile, error) {
	rng := base + "..." + head
	raw, err := d.fixed("diff", "--raw", "--abbrev=40", "-M", "-z", rng)
	if err != nil || raw == "" {
		return nil, err
	}
	text, err := d.fixed("diff", "-M", rng)
	if err != nil {
		return nil, err
	}
	patches := strings.Split("\n"+text, "\ndiff --git ")[1:] // in the order of the raw list; no line of content begins so
	var files []diffFile
	fields := strings.Split(strings.TrimRight(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(fields[i]) // :mode mode sha sha status
		if len(meta) >= 5 && meta[4] == "T" && len(patches) > 0 {
			patches = patches[1:] // of another type: one file goes, and one comes
		}
		if len(meta) < 5 || len(patches) == 0 {
			return nil, errors.New("read diff: unexpected line from git")
		}
		f := diffFile{name: fields[i+1], sha: meta[3]}
		switch meta[4][0] {
		case 'A':
			f.status = "added"
		case 'D':
			f.status, f.sha = "removed", meta[2]
		case 'R':
			f.status, f.previous = "renamed", f.name
			i++
			f.name = fields[i+1]
		default:
			f.status = "modified"
		}
		f.read(patches[0])
		patches = patches[1:]
		files = append(files, f)
	}
	return files, nil
}

// read takes what GitHub shows out of the patch of a file.
func (f *diffFile) read(patch string) {
	if i := strings.Index(patch, "\n@@ "); i >= 0 {
		f.patch = strings.TrimSuffix(patch[i+1:], "\n")
	}
	for l := range strings.SplitSeq(f.patch, "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			f.add++
		case strings.HasPrefix(l, "-"):
			f.del++
		}
	}
}
