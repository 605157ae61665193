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

// standardPath is the end of every workspace's PATH.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// privateDirs are top-level directories that are never shown, regardless of their owner,
// and those that a workspace provides itself.
const privateDirs = "//root/home/tmp/var/etc/proc/sys/dev/run/boot/mnt/media/srv/workspace/cache/handrail/bin/sbin/lib/lib32/lib64/libx32/"

// findToolchains builds the PATH of workspaces from the configured toolchains and the
// visible directories of Path. It records those outside of /usr as toolchains.
func (e *Engine) findToolchains() error {
	e.toolchains = slices.Clone(e.cfg.Shows.Dirs)
	for _, dir := range e.cfg.Toolchains {
		if err := e.addToolchain(filepath.Clean(dir)); err != nil { //control:named-toolchain
			return fmt.Errorf(
				"show toolchain %s: %w: name the directory of one toolchain that only root can write and all users may read, such as /opt/node-20 (chown -R root:root, chmod -R go-w,a+rX)",
				dir,
				err,
			)
		}
	}
	for _, dir := range filepath.SplitList(e.cfg.Path) {
		if slices.ContainsFunc(e.cfg.Shows.Dirs, func(shown string) bool { return within(filepath.Clean(dir), shown) }) {
			e.path += dir + ":"
			continue
		}
		root, err := e.admit(filepath.Clean(dir))
		if err == nil {
			e.path += dir + ":"
		} else if e.cfg.Log != nil {
			e.cfg.Log.Debug("programs are not shown in workspaces", "dir", dir, "why", err)
		}
		if err == nil && root != "" && !slices.Contains(e.toolchains, root) {
			e.toolchains = append(e.toolchains, root)
		}
	}
	e.path += standardPath
	return nil
}

// addToolchain adds a toolchain, given as its directory or as that of its programs.
func (e *Engine) addToolchain(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	bin := dir
	if at, err := os.Stat(filepath.Join(dir, "bin")); err == nil && at.IsDir() {
		bin = filepath.Join(dir, "bin")
	}
	root, err := e.admit(bin)
	if err != nil {
		return err
	}
	if root != "" && !slices.Contains(e.toolchains, root) {
		e.toolchains = append(e.toolchains, root)
	}
	e.path += bin + ":"
	return nil
}

// admit returns the directory to show for a directory of programs, or "" if it is in
// /usr. It is an error if users other than root can write to the tree or its parents,
// or if some of it is not world-readable.
func (e *Engine) admit(dir string) (root string, err error) {
	if root = dir; strings.HasSuffix(dir, "bin") && strings.Count(dir, "/") > 2 {
		root = filepath.Dir(dir)
	}
	actual, err := filepath.EvalSymlinks(root)
	if err != nil || within(root, "/usr") && within(actual, "/usr") {
		return "", err
	}
	for _, at := range [...]string{root, actual} {
		top, _, _ := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		if !filepath.IsAbs(at) || strings.Contains(privateDirs, "/"+top+"/") || within(e.cfg.Binary, at) { //control:private-stays-out
			return "", errors.New("it is private")
		}
		for ; at != "/"; at = filepath.Dir(at) {
			if err := checkShared(at); err != nil {
				return "", err
			}
		}
	}
	return root, filepath.WalkDir(actual, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		return checkShared(at)
	})
}

// checkShared returns an error unless at is world-readable and writable only by root.
func checkShared(at string) error {
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("look at %s: %w", at, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 || info.Mode().Perm()&0o022 != 0 { //control:writable-stays-out
		return fmt.Errorf("users other than root may write %s", at)
	}
	if info.Mode().Perm()&0o004 == 0 || !info.IsDir() && !info.Mode().IsRegular() { //control:secret-stays-out
		return fmt.Errorf("not all users may read %s", at)
	}
	return nil
}

func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// visibleToolchains returns the toolchains that contain no directory of this session.
func (s stage) visibleToolchains() []string {
	return slices.DeleteFunc(
		slices.Clone(s.engine.toolchains),
		func(dir string) bool { return within(s.spec.State, dir) || within(s.spec.Source, dir) },
	)
}
