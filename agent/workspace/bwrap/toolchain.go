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

// private are directories of which nothing is shown, whoever owns it, and those that a
// workspace has of its own.
const private = "//root/home/tmp/var/etc/proc/sys/dev/run/boot/mnt/media/srv/workspace/cache/handrail/bin/sbin/lib/lib32/lib64/libx32/"

// findToolchains takes the toolchains that are named, and what of Path workspaces may
// see, into their PATH, and what of that is outside of /usr into the toolchains.
func (e *Engine) findToolchains() error {
	e.toolchains = slices.Clone(e.cfg.Shows.Dirs)
	for _, dir := range e.cfg.Toolchains {
		if err := e.named(filepath.Clean(dir)); err != nil { //control:named-toolchain
			return fmt.Errorf("show toolchain %s: %w: name the directory of one toolchain that only root can write and everybody may read, such as /opt/node-20 (chown -R root:root, chmod -R go-w,a+rX)", dir, err)
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
			e.cfg.Log.Info("programs are not shown in workspaces", "dir", dir, "why", err)
		}
		if err == nil && root != "" && !slices.Contains(e.toolchains, root) {
			e.toolchains = append(e.toolchains, root)
		}
	}
	e.path += standardPath
	return nil
}

// named takes in a toolchain that is named by its directory, or by that of its programs.
func (e *Engine) named(dir string) error {
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

// admit returns the directory to show for one of programs, "" where it is in /usr, or
// why it is not shown: only root may write it and what is above it, and everybody read
// all of it.
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
		if !filepath.IsAbs(at) || strings.Contains(private, "/"+top+"/") || within(e.cfg.Binary, at) { //control:private-stays-out
			return "", errors.New("it is private")
		}
		for ; at != "/"; at = filepath.Dir(at) {
			if err := everybodys(at); err != nil {
				return "", err
			}
		}
	}
	return root, filepath.WalkDir(actual, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		return everybodys(at)
	})
}

// everybodys returns an error for what others than root may write or not everybody read.
func everybodys(at string) error {
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("look at %s: %w", at, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 || info.Mode().Perm()&0o022 != 0 { //control:writable-stays-out
		return fmt.Errorf("others than root may write %s", at)
	}
	if info.Mode().Perm()&0o004 == 0 || !info.IsDir() && !info.Mode().IsRegular() { //control:secret-stays-out
		return fmt.Errorf("not everybody may read %s", at)
	}
	return nil
}

func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// shown are the toolchains that hold nothing of this session.
func (s stage) shown() []string {
	return slices.DeleteFunc(slices.Clone(s.engine.toolchains), func(dir string) bool { return within(s.spec.State, dir) || within(s.spec.Source, dir) })
}
