package local

// The user's checked out files are read and changed with the installed git.
// Their owner, the committer, the uncommitted changes and the ignored files depend on
// settings that only git knows; if git is missing, the error says so. It is not for a
// tree that another user can write.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/gitops"
)

// errNoGit means that git is not installed on this machine.
var errNoGit = errors.New("git is not installed")

// errBare means that a clone has no checked out files.
var errBare = errors.New(
	"this clone is bare, it has no files: take the branch, or pipe `handrail diff` into `git apply` where files are",
)

// WorkTree is the checked out files of a clone.
type WorkTree struct {
	dir  string
	info string // directory of the clone's own ignore and attributes files
}

// WorkTreeOf returns the tree at dir or above it.
func WorkTreeOf(ctx context.Context, dir string) (WorkTree, error) {
	at := WorkTree{dir: dir}
	list, err := at.git(
		ctx, nil, "rev-parse", "--show-toplevel", "--git-path", "info/exclude", "--git-path", "info/attributes",
	)
	if err != nil && strings.Contains(err.Error(), "must be run in a work tree") {
		err = errBare
	}
	if err != nil {
		return WorkTree{}, err
	}
	const exclude, attributes = "/exclude\n", "/attributes\n"
	i := strings.LastIndex(list, exclude) // names of directories may have line ends
	if i < 0 {
		return WorkTree{}, fmt.Errorf("git rev-parse: it says %q", list)
	}
	own := strings.TrimSuffix(list[i+len(exclude):], attributes)
	info, err := filepath.Abs(at.path(own))
	return WorkTree{strings.TrimSuffix(list[:i], "\n"+own), info}, err
}

// always are settings of each command: no programs of the repository, plain names, and no
// refusal of ends of lines that git would convert.
var always = [...]string{
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "core.safecrlf=false",
}

// elsewhere are the variables that point git to another repository, or to parts of one.
var elsewhere = [...]string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
}

// git runs a git command, without programs that the repository configures.
func (t WorkTree) git(ctx context.Context, in io.Reader, args ...string) (string, error) {
	return t.with(ctx, in, nil, args...)
}

func (t WorkTree) with(ctx context.Context, in io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(
		ctx,
		"git",
		slices.Concat([]string{"-C", t.dir}, always[:], args)...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	for _, v := range os.Environ() { // in a git hook these variables point to another repository
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(elsewhere[:], name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")...)
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errNoGit
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.String(), err
}

// changed returns the paths with uncommitted changes, untracked files included. Ignored
// files, and the files of submodules, are left out.
func (t WorkTree) changed(ctx context.Context) ([]string, error) {
	text, err := t.git(
		ctx, nil, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty",
	)
	var out []string
	for entry := range strings.SplitSeq(text, "\x00") {
		if len(entry) > 3 {
			out = append(out, entry[3:])
		}
	}
	return out, err
}

// snapshot commits the changes of [Tree.Changed] on top of head, and returns the commit. It
// leaves the branch and the index alone, and uses one of its own in the directory dir.
// Repositories inside that are no submodules are left out and returned.
func (t WorkTree) snapshot(
	ctx context.Context,
	dir, head string,
	by gitops.Signature,
) (commit string, left []string, err error) {
	others, err := t.git(ctx, nil, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return "", nil, err
	}
	add := []string{"add", "--all"}
	if t.isSet(ctx, "core.sparseCheckout") {
		add = append(add, "--sparse")
	}
	add = append(add, "--", ".")
	for name := range strings.SplitSeq(others, "\x00") {
		if name, ok := strings.CutSuffix(name, "/"); ok {
			left, add = append(left, name), append(add, ":(exclude,literal)"+name)
		}
	}
	env := []string{
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_AUTHOR_NAME=" + by.Name, "GIT_AUTHOR_EMAIL=" + by.Email,
		"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email,
	}
	steps := [][]string{add, {"write-tree"}}
	switch copied, err := t.copyIndex(ctx, filepath.Join(dir, "index")); {
	case err != nil:
		return "", nil, err
	case !copied: //control:owners-index-counts
		steps = slices.Insert(steps, 0, []string{"read-tree", head})
	}
	tree := ""
	for _, args := range steps {
		if tree, err = t.with(ctx, nil, env, args...); err != nil {
			return "", nil, err
		}
	}
	commit, err = t.with(
		ctx,
		nil,
		env,
		"commit-tree",
		strings.TrimSpace(tree),
		"-p",
		head,
		"-m",
		"Changes that were not committed",
	)
	return strings.TrimSpace(commit), left, err
}

// copyIndex copies the index, which knows the files whose changes the owner keeps from git
// ("git update-index --skip-worktree"). It reports false if there is none. Its time tells git
// which files may have changed since.
func (t WorkTree) copyIndex(ctx context.Context, to string) (bool, error) {
	at, err := t.git(ctx, nil, "rev-parse", "--git-path", "index")
	if err != nil {
		return false, err
	}
	from := t.path(strings.TrimSuffix(at, "\n"))
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	data, rerr := os.ReadFile(from)
	if err = errors.Join(err, rerr); err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return false, fmt.Errorf("copy index: %w", err)
	}
	return true, nil
}

// path returns the absolute path of a file that git names.
func (t WorkTree) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.dir, name)
}

// maxSettings is the number of bytes to read of a file of settings.
const maxSettings = 1 << 20

// settings returns the settings by which git would commit here: the owner's ignore and
// attributes files, those in the repository, core.autocrlf and core.ignoreCase; and the committer, the zero
// value if git knows no name or no address. Without a tree the committer alone is known; unreadable files
// count as empty, as for git.
func (t WorkTree) settings(ctx context.Context) (s gitops.Settings, by gitops.Signature) {
	set := t.values(ctx, `^(user\.(name|email)|core\.(excludesfile|attributesfile|autocrlf|ignorecase)|`+filterKeys+`)$`)
	by = gitops.Signature{Name: strings.TrimSpace(set["user.name"]), Email: strings.TrimSpace(set["user.email"])}
	if by.Name == "" || by.Email == "" {
		by = gitops.Signature{}
	}
	if t.dir == "" {
		return s, by
	}
	s.Ignored = t.owned(ctx, set, "core.excludesfile", "ignore") + "\n" + t.read(filepath.Join(t.info, "exclude"))
	s.Below = t.owned(ctx, set, "core.attributesfile", "attributes")
	s.Above = t.read(filepath.Join(t.info, "attributes"))
	ends := set["core.autocrlf"]
	s.AutoCRLF = strings.EqualFold(ends, "input") || isTrue(ends)
	s.Caseless = isTrue(set["core.ignorecase"])
	s.Filters = slices.Compact(slices.Sorted(maps.Values(filters(set))))
	return s, by
}

// values returns the settings whose keys match a pattern of git, the last one of each key. A
// key that stands without a value is "true", as for git.
func (t WorkTree) values(ctx context.Context, keys string) map[string]string {
	list, _ := t.git(ctx, nil, "config", "-z", "--get-regexp", keys) // git fails if no key is set
	out := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		if !ok {
			value = "true"
		}
		out[key] = value
	}
	return out
}

// isTrue reports whether git reads a value as true.
func isTrue(value string) bool {
	n, err := strconv.Atoi(value)
	return slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(value)) || err == nil && n != 0
}

// isSet reports whether a key of git's settings is true.
func (t WorkTree) isSet(ctx context.Context, key string) bool {
	text, _ := t.git(ctx, nil, "config", "--type=bool", "--get", key) // git fails if the key is not set
	return strings.TrimSpace(text) == "true"
}

// owned returns the content of a file that a key of git's settings names; name is its usual
// name in git's directory below the user's settings.
func (t WorkTree) owned(ctx context.Context, set map[string]string, key, name string) string {
	if at, ok := set[key]; ok {
		if strings.HasPrefix(at, "~") || strings.HasPrefix(at, "%") { // git knows what that means
			at, _ = t.git(ctx, nil, "config", "--type=path", "--get", key)
			at = strings.TrimSuffix(at, "\n")
		}
		if at == "" {
			return ""
		}
		return t.read(at)
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return ""
	}
	return t.read(filepath.Join(dir, "git", name))
}

func (t WorkTree) read(name string) string {
	name = t.path(name)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return ""
	}
	return string(data)
}

// defaultBranch returns the default branch of the remote origin, as recorded in this clone. It
// is empty if unknown.
func (t WorkTree) defaultBranch(ctx context.Context) string {
	name, err := t.git(ctx, nil, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(name), "origin/")
}

// conflict means that a patch does not fit the files. Nothing was changed. Sparse means that
// it has files outside of a sparse checkout.
type conflict struct {
	Said   []string
	Sparse bool
}

// Error implements error.
func (c *conflict) Error() string { return strings.Join(c.Said, "; ") }

// apply applies a patch to the files, or reverts it if back. If the files have other
// changes in the same places, nothing changes and the error is a [Conflict].
//
// Git compares a file as its filters would commit it. A patch may have files that no filter
// ran on, so one that does not fit is tried without them, as a whole and then file by file.
func (t WorkTree) apply(ctx context.Context, patch string, back bool) error {
	args := []string{"apply", "--whitespace=nowarn"}
	if back {
		args = append(args, "--reverse")
	}
	_, err := t.git(ctx, strings.NewReader(patch), args...)
	if err != nil && ctx.Err() == nil {
		if off := t.withoutFilters(ctx); len(off) > 0 { //control:unfiltered-is-taken-back
			if _, again := t.git(ctx, strings.NewReader(patch), append(slices.Clone(off), args...)...); again == nil {
				return nil
			}
			if done, again := t.applyFiles(ctx, patch, args, off); done {
				return again
			}
		}
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err
	}
	c := &conflict{}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if _, said, ok := strings.Cut(line, "error: "); ok && !strings.HasPrefix(said, "patch failed") {
			c.Said = append(c.Said, said)
		}
	}
	missing := func(said string) bool { return strings.HasSuffix(said, ": No such file or directory") }
	c.Sparse = slices.ContainsFunc(c.Said, missing) && t.isSet(ctx, "core.sparseCheckout")
	return c
}

// applyFiles applies a patch of which some files fit with filters and the others without; off are the
// arguments that turn filters off. It reports false, and changes nothing, if a file fits in neither way.
func (t WorkTree) applyFiles(ctx context.Context, patch string, args, off []string) (done bool, err error) {
	ways := [2][]string{args, append(slices.Clone(off), args...)}
	var parts [2]string
	for _, file := range filesOf(patch) {
		fits := slices.IndexFunc(ways[:], func(way []string) bool {
			_, err := t.git(ctx, strings.NewReader(file), append(slices.Clone(way), "--check")...)
			return err == nil
		})
		if fits < 0 {
			return false, nil
		}
		parts[fits] += file
	}
	for i, part := range parts { //control:filters-file-by-file
		if part != "" {
			_, each := t.git(ctx, strings.NewReader(part), ways[i]...)
			err = errors.Join(err, each)
		}
	}
	return true, err
}

// filesOf splits a patch of git into those of its files.
func filesOf(patch string) (out []string) {
	const head = "diff --git "
	for i, file := range strings.Split(patch, "\n"+head) {
		if i > 0 {
			out[i-1] += "\n"
			file = head + file
		}
		out = append(out, file)
	}
	return out
}

// withoutFilters returns the arguments of git that turn off all filters of contents to
// commit; none if there are no filters.
func (t WorkTree) withoutFilters(ctx context.Context) (off []string) {
	for key, name := range filters(t.values(ctx, "^"+filterKeys+"$")) {
		if strings.Contains(key, "=") { // not possible as an argument
			continue
		}
		off = append(off, "-c", key+"=", "-c", "filter."+name+".required=false")
	}
	return off
}

// filterKeys matches the settings of filters of contents to commit.
const filterKeys = `filter\..*\.(clean|process)`

// filters returns the keys among settings that set filters of contents to commit, with their names.
func filters(set map[string]string) map[string]string {
	out := map[string]string{}
	for key := range set {
		name, filter := strings.CutPrefix(key, "filter.")
		if i := strings.LastIndexByte(name, '.'); filter && i > 0 {
			out[key] = name[:i]
		}
	}
	return out
}

// checkedOut returns the directory in which a branch of this clone is checked out. It is
// empty if there is none.
func (t WorkTree) checkedOut(ctx context.Context, branch string) string {
	list, err := t.git(ctx, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return ""
	}
	dir := ""
	for line := range strings.SplitSeq(list, "\x00") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line == "branch refs/heads/"+branch {
			return dir
		}
	}
	return ""
}
