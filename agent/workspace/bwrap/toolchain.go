package bwrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// standardPath is where every workspace looks for programs.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// private are directories of which nothing is shown in a workspace, whoever owns it, and
// those that a workspace has of its own.
var private = [...]string{"root", "home", "tmp", "var", "etc", "proc", "sys", "dev", "run", "boot", "mnt", "media", "srv",
	"workspace", "cache", "handrail", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// findToolchains takes the directories of Path that workspaces may see into their PATH,
// and what of them is outside of /usr into the toolchains.
func (e *Engine) findToolchains() {
	standard := filepath.SplitList(standardPath)
	path := []string{}
	for _, dir := range filepath.SplitList(e.cfg.Path) {
		dir = filepath.Clean(dir)
		if slices.Contains(standard, dir) || slices.Contains(path, dir) {
			continue
		}
		root, err := e.admit(dir)
		if err != nil {
			if e.cfg.Log != nil {
				e.cfg.Log.Info("programs are not shown in workspaces", "dir", dir, "why", err)
			}
			continue
		}
		path = append(path, dir)
		if root != "" && !slices.Contains(e.cfg.Toolchains, root) {
			e.cfg.Toolchains = append(e.cfg.Toolchains, root)
		}
	}
	if len(path) > 0 {
		env := map[string]string{"PATH": strings.Join(append(path, standardPath), ":")}
		for k, v := range e.cfg.Env {
			env[k] = v
		}
		e.cfg.Env = env
	}
}

// admit returns the directory to show for a directory of programs, "" where it is in
// /usr, or why it is not shown: it must be out of reach for everybody but root, and hold
// nothing that not everybody may read.
func (e *Engine) admit(dir string) (root string, err error) {
	if !filepath.IsAbs(dir) {
		return "", errors.New("it is no absolute path")
	}
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case err != nil:
		return "", errors.New("it is not there")
	case within(dir, "/usr") && within(real, "/usr"):
		return "", nil
	}
	root = dir
	if base := filepath.Base(dir); (base == "bin" || base == "sbin") && strings.Count(dir, "/") > 2 {
		root = filepath.Dir(dir)
	}
	if real, err = filepath.EvalSymlinks(root); err != nil {
		return "", errors.New("it is not there")
	}
	for _, at := range [...]string{root, real} {
		top, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		if top == "" || slices.Contains(private[:], top) { //control:private-stays-out
			return "", fmt.Errorf("/%s is private", top)
		}
		for up := at; ; up = filepath.Dir(up) {
			if err := everybodys(up, nil); err != nil {
				return "", err
			}
			if up == "/" {
				break
			}
		}
		if within(e.cfg.Binary, at) {
			return "", errors.New("this server is in it")
		}
	}
	return root, filepath.WalkDir(real, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return everybodys(at, d)
	})
}

// everybodys returns an error for what others than root may write, or not everybody
// read.
func everybodys(at string, d fs.DirEntry) error {
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("look at %s: %w", at, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 || info.Mode().Perm()&0o022 != 0 { //control:writable-stays-out
		return fmt.Errorf("others than root may write %s", at)
	}
	if info.Mode().Perm()&0o004 == 0 || d != nil && !d.IsDir() && !info.Mode().IsRegular() { //control:secret-stays-out
		return fmt.Errorf("not everybody may read %s", at)
	}
	return nil
}

func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// toolchains are those of the engine that hold nothing of this session.
func (s stage) toolchains() []string {
	return slices.DeleteFunc(slices.Clone(s.engine.cfg.Toolchains), func(dir string) bool {
		return within(s.spec.State, dir) || within(s.spec.Source, dir) || within(dir, s.spec.State) || within(dir, s.spec.Source)
	})
}
