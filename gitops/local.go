package gitops

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// OpenLocal opens a user's clone, at path or above it. It reads and writes objects and
// refs there, and ignores the work tree, the index, hooks, filters and settings (but see
// [Mirror.Follow]), so it is safe on a clone in any state. It follows a linked work tree or a submodule
// (".git" is a file) to its repository. An unsupported format (sha256 ids, reftable,
// partial clones) is an error. The clone has no remote to fetch from or push to.
func OpenLocal(path string) (*Mirror, error) {
	gitDir, err := findGitDir(path)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	dir := gitDir
	common, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if err == nil {
		dir = resolveIn(gitDir, string(common))
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if err := checkFormat(dir); err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	m := newMirror(dir, gitDir)
	m.pool.UserClone = true
	return m, nil
}

// Settings are those of a clone's owner that decide about commits, and that no commit has.
type Settings struct {
	Ignored      string // patterns of gitignore(5), below those of the .gitignore files
	Above, Below string // lines of gitattributes(5) above and below those of the .gitattributes files
	AutoCRLF     bool   // texts are committed with LF, unless an attribute decides
	// Caseless means that the owner's files are on a disk that does not tell upper from lower
	// case. Patterns then match in either, and see [Commit.Alike].
	Caseless bool
	// Filters are the names of the filters that git runs on contents to commit. They are not
	// run here, see [Commit.Unfiltered].
	Filters []string
}

// Follow has commits follow the settings of the clone's owner. It must be called before any
// other use of m.
func (m *Mirror) Follow(s Settings) { m.settings = s }

// Settings returns the settings of [Mirror.Follow].
func (m *Mirror) Settings() Settings { return m.settings }

// findGitDir searches for a repository in path and its parents.
func findGitDir(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for {
		dot := filepath.Join(at, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir():
			return dot, nil
		case err == nil && info.Mode().IsRegular():
			return readGitFile(dot)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", err
		case isGitDir(at):
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("%s is not in a git repository: %w", path, ErrNotFound)
		}
		at = up
	}
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// readGitFile follows a ".git" file.
func readGitFile(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok || len(data) > 8192 {
		return "", fmt.Errorf(`%s has no "gitdir: " line`, file)
	}
	dir := resolveIn(filepath.Dir(file), target)
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return "", fmt.Errorf("%s points to %s, which is not a git directory", file, dir)
	}
	return dir, nil
}

func resolveIn(base, target string) string {
	target = strings.TrimRight(target, "\r\n")
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(base, target)
}

// checkFormat refuses repositories with an unsupported storage of objects or refs. Sparse
// checkouts and settings per work tree do not matter, because the work tree is never
// read.
func checkFormat(dir string) error {
	cfg, err := readConfig(dir)
	if err != nil {
		return err
	}
	for _, opt := range cfg.Section("extensions").Options {
		key, value := strings.ToLower(opt.Key), strings.ToLower(opt.Value)
		switch {
		case key == "noop", key == "preciousobjects", key == "worktreeconfig", key == "relativeworktrees":
		case key == "objectformat" && value == "sha1", key == "refstorage" && value == "files":
		case key == "partialclone":
			return fmt.Errorf("%w: it is a partial clone: clone it anew, without --filter", errUnsupported)
		case key == "objectformat":
			return fmt.Errorf(
				"%w: its commits have %s ids; only repositories with sha1 ids can be worked on",
				errUnsupported,
				value,
			)
		default:
			return fmt.Errorf("%w: extensions.%s = %q: make a plain clone", errUnsupported, opt.Key, opt.Value)
		}
	}
	for _, remote := range cfg.Section("remote").Subsections {
		if strings.EqualFold(remote.Option("promisor"), "true") {
			return fmt.Errorf(
				"%w: it is a partial clone, which lacks parts of its remote: %s",
				errUnsupported,
				fullCloneHint(remote.Name),
			)
		}
	}
	return nil
}

// readConfig reads the configuration of a repository; without the file it is empty.
func readConfig(dir string) (*config.Config, error) {
	cfg := config.New()
	f, err := os.Open(filepath.Join(dir, "config"))
	if errors.Is(err, os.ErrNotExist) {
		return cfg, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := config.NewDecoder(io.LimitReader(f, 4<<20)).Decode(cfg); err != nil {
		return nil, fmt.Errorf("read its config: %w", err)
	}
	return cfg, nil
}

// fullCloneHint explains how to make a partial clone a full one. It suggests no command if the
// name has characters that are special to a shell.
func fullCloneHint(remote string) string {
	how := "clone it anew, without --filter"
	if strings.Trim(remote, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return how
	}
	at := "git config --unset remote." + remote
	return how + ", or bring the rest: `git fetch --refetch --no-filter " + remote + " && " + at + ".promisor && " + at + ".partialclonefilter`"
}
