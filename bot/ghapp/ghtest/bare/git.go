// Package bare manages a bare repository on disk through the git program. Pushes to it
// obey GitHub's rules.
package bare

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

// Dir is a bare repository on disk.
type Dir struct {
	Path  string
	known *sync.Map // cached output of Fixed, by arguments
}

// Command returns a git command that ignores the machine's git configuration.
func Command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") }),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com", "LC_ALL=C")
	return cmd
}

// Run runs git in the repository and returns its standard output.
func (d Dir) Run(stdin []byte, args ...string) (string, error) {
	cmd := Command(d.Path, args...)
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

// RunCached runs a command that reads objects by full id only. Its output never changes, so
// it is cached.
func (d Dir) RunCached(args ...string) (string, error) {
	key := strings.Join(args, "\x00")
	if out, ok := d.known.Load(key); ok {
		return out.(string), nil
	}
	out, err := d.Run(nil, args...)
	if err == nil {
		d.known.Store(key, out)
	}
	return out, err
}

// Line is Run with the surrounding white space of the output removed.
func (d Dir) Line(args ...string) (string, error) {
	out, err := d.Run(nil, args...)
	return strings.TrimSpace(out), err
}

// preReceive is a hook that enforces GitHub's push rules. The server passes the rules
// for the push in the environment.
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

// repoConfig is git's default configuration of a bare repository, plus the settings for
// serving in the way of GitHub.
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

// Init creates an empty bare repository that is served in the way of GitHub.
func Init(dir, branch string) (Dir, error) {
	for _, sub := range []string{"hooks", "objects", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o755); err != nil {
			return Dir{}, fmt.Errorf("create repository: %w", err)
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
			return Dir{}, fmt.Errorf("create repository: %w", err)
		}
	}
	return Dir{dir, &sync.Map{}}, nil
}

// Change is a commit to create.
type Change struct {
	Branch, Parent string // Parent is empty for a first commit
	Author         string
	Message        string
	Files          map[string]string
	Remove         []string
}

// Commit creates the commit, moves the branch and returns the commit's id.
func (d Dir) Commit(c Change, when int64) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit refs/heads/%s\n", c.Branch)
	who := fmt.Sprintf("%s <%s@users.noreply.github.com> %d +0000", c.Author, c.Author, when)
	fmt.Fprintf(&b, "author %s\ncommitter %s\ndata %d\n%s\n", who, who, len(c.Message), c.Message)
	if c.Parent != "" {
		fmt.Fprintf(&b, "from %s\n", c.Parent)
	}
	for _, p := range c.Remove {
		fmt.Fprintf(&b, "D %s\n", p)
	}
	names := make([]string, 0, len(c.Files))
	for p := range c.Files {
		if p == "" || strings.ContainsAny(p, "\n\"") || strings.HasPrefix(p, "/") {
			return "", fmt.Errorf("commit files: path %q cannot be stored", p)
		}
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		mode := "100644"
		if strings.HasPrefix(c.Files[p], "#!") {
			mode = "100755"
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, p, len(c.Files[p]), c.Files[p])
	}
	if _, err := d.Run(b.Bytes(), "fast-import", "--quiet", "--force", "--date-format=raw"); err != nil {
		return "", err
	}
	return d.commitAt("refs/heads/" + c.Branch)
}

// Resolve returns the commit of a branch, tag, full ref or id, or "" if there is none.
func (d Dir) Resolve(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return ""
	}
	names := []string{ref, "refs/heads/" + ref, "refs/tags/" + ref}
	if isHex(ref) && len(ref) == 40 { // GitHub has no branch or tag with such a name
		names = names[:1]
	}
	for _, name := range names {
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
func (d Dir) commitAt(name string) (string, error) {
	ask := d.Line
	if isHex(name) && len(name) == 40 {
		ask = d.RunCached
	} else if sha := d.inFile(name); sha != "" {
		return sha, nil
	}
	sha, err := ask("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(sha), err
}

// inFile returns the commit of a branch that has a file of its own, as it usually has, or "". That is
// faster than git.
func (d Dir) inFile(name string) string {
	if !strings.HasPrefix(name, "refs/heads/") || !fs.ValidPath(name) {
		return ""
	}
	sha, err := os.ReadFile(filepath.Join(d.Path, filepath.FromSlash(name)))
	if err != nil || len(sha) != 41 || strings.Trim(string(sha[:40]), "0123456789abcdef") != "" {
		return ""
	}
	return string(sha[:40])
}

func isHex(s string) bool {
	return len(s) >= 7 && len(s) <= 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// Branch returns the commit of a branch, or "" if there is none.
func (d Dir) Branch(name string) string { return d.Resolve("refs/heads/" + name) }

// Count returns the number of commits in a range of ids.
func (d Dir) Count(rng string) (int, error) {
	out, err := d.RunCached("rev-list", "--count", rng)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Mergeable reports whether two commits merge without a conflict.
func (d Dir) Mergeable(base, head string) bool {
	_, err := d.RunCached("merge-tree", "--write-tree", base, head)
	return err == nil
}

// Heads returns the branches and their commits.
func (d Dir) Heads() map[string]string {
	if heads, ok := d.looseHeads(); ok {
		return heads
	}
	out, err := d.Line("for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads")
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

// looseHeads reads the branches' own files, which is faster than git. It reports false if
// some may be elsewhere or change now.
func (d Dir) looseHeads() (map[string]string, bool) {
	if _, err := os.Lstat(filepath.Join(d.Path, "packed-refs")); !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	heads := map[string]string{}
	root := os.DirFS(filepath.Join(d.Path, "refs", "heads"))
	err := fs.WalkDir(root, ".", func(name string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return err
		}
		if strings.HasSuffix(name, ".lock") { // no branch has this end
			return nil
		}
		sha, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if len(sha) != 41 || !isHex(string(sha[:40])) {
			return fs.ErrInvalid
		}
		heads[name] = string(sha[:40])
		return nil
	})
	return heads, err == nil
}

// DiffFile is one file of a comparison.
type DiffFile struct {
	Name, Previous, Status, SHA, Patch string
	Add, Del                           int
}

// DiffFiles compares head with the merge base of base and head. Both are full ids.
func (d Dir) DiffFiles(base, head string) ([]DiffFile, error) {
	rng := base + "..." + head
	raw, err := d.RunCached("diff", "--raw", "--abbrev=40", "-M", "-z", rng)
	if err != nil || raw == "" {
		return nil, err
	}
	text, err := d.RunCached("diff", "-M", rng)
	if err != nil {
		return nil, err
	}
	patches := strings.Split("\n"+text, "\ndiff --git ")[1:] // in the order of the raw list; no content line has this prefix
	var files []DiffFile
	fields := strings.Split(strings.TrimRight(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(fields[i]) // :mode mode sha sha status
		if len(meta) >= 5 && meta[4] == "T" && len(patches) > 0 {
			patches = patches[1:] // a type change has two patches: a removal and an addition
		}
		if len(meta) < 5 || len(patches) == 0 {
			return nil, errors.New("read diff: unexpected line from git")
		}
		f := DiffFile{Name: fields[i+1], SHA: meta[3]}
		switch meta[4][0] {
		case 'A':
			f.Status = "added"
		case 'D':
			f.Status, f.SHA = "removed", meta[2]
		case 'R':
			f.Status, f.Previous = "renamed", f.Name
			i++
			f.Name = fields[i+1]
		default:
			f.Status = "modified"
		}
		f.read(patches[0])
		patches = patches[1:]
		files = append(files, f)
	}
	return files, nil
}

// read extracts the hunks, which GitHub shows, and the line counts from a file's patch.
func (f *DiffFile) read(patch string) {
	if i := strings.Index(patch, "\n@@ "); i >= 0 {
		f.Patch = strings.TrimSuffix(patch[i+1:], "\n")
	}
	for l := range strings.SplitSeq(f.Patch, "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			f.Add++
		case strings.HasPrefix(l, "-"):
			f.Del++
		}
	}
}
