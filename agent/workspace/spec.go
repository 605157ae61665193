package workspace

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check returns an error if the specification is invalid for every engine.
func (s Spec) Check() error {
	if ok, err := regexp.MatchString(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`, s.Session); err != nil || !ok {
		return fmt.Errorf("open workspace: session %q: use 1 to 63 letters, digits and \"-\"", s.Session)
	}
	if !filepath.IsAbs(s.State) || filepath.Clean(s.State) == "/" {
		return fmt.Errorf("open workspace: state directory %q: it must be an absolute path of its own", s.State)
	}
	for _, dir := range append(s.OtherSources(), s.Source, s.Over, s.Git, s.Layer, s.LSP) {
		if dir != "" && !filepath.IsAbs(dir) {
			return fmt.Errorf("open workspace: source %q: it must be an absolute path", dir)
		}
	}
	name := regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$`)
	for _, o := range s.Others {
		if !name.MatchString(o.Name) || path.Clean(o.Name) != o.Name {
			return fmt.Errorf("open workspace: %q is no name of a repository", o.Name)
		}
	}
	if s.Network && s.Egress != nil {
		return errors.New("open workspace: where everything is reached, nothing can be let through by name")
	}
	if s.Over+s.Layer != "" && s.Source == "" {
		return errors.New("open workspace: there is no source to lay a directory over or below")
	}
	if strings.ContainsAny(strings.Join(s.OtherSources(), "")+s.Source+s.Over+s.Git+s.Layer+s.LSP+s.State, "\n\x00") {
		return errors.New("open workspace: source or state has a line break in its path")
	}
	for name, value := range s.Env {
		if !envName(name) || strings.ContainsRune(value, 0) {
			return fmt.Errorf("open workspace: variable %q is not a valid name, or its value has a NUL byte", name)
		}
	}
	return nil
}

// OtherSources returns the directories with the files of the other repositories: the
// sources, and the copies below State of those that may be changed.
func (s Spec) OtherSources() (dirs []string) {
	for i, o := range s.Others {
		dir := o.Source
		if o.Write {
			dir = filepath.Join(s.State, "other"+strconv.Itoa(i))
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// Writable returns the names of the other repositories that may be changed.
func (s Spec) Writable() (names []string) {
	for _, o := range s.Others {
		if o.Write {
			names = append(names, o.Name)
		}
	}
	return names
}

// GitInside is the read-only mount point of [Spec.Git] in a walled workspace.
const GitInside = "/handrail/git"

// LSPInside is the read-only mount point of [Spec.LSP] in a walled workspace.
const LSPInside = "/handrail/lsp"

// Mount points in a walled workspace: the caches and, with [Spec.Layer], the set-up's
// tree and the upper layer of the caches.
const (
	CacheInside      = "/cache"
	LayerInside      = "/handrail/layer"
	CacheUpperInside = "/handrail/cache"
)

// Release removes the state directory, unless Keep is set.
func (s Spec) Release() error {
	if s.Keep {
		return nil
	}
	return RemoveTree(s.State)
}

// Toolhost returns the arguments of a workspace's tool host, without its root. hold
// makes the tool host itself enforce the limits on processes.
func (s Spec) Toolhost(hold bool) []string {
	l := s.Limits.WithDefaults()
	args := []string{
		"toolhost", "--init", "--name", s.Name, "--command",
		l.Command.String(),
		"--disk",
		strconv.FormatInt(l.DiskBytes, 10),
	}
	if s.Git != "" {
		args = append(args, "--git", GitInside)
	}
	if s.Layer != "" {
		args = append(args, "--layer", LayerInside)
	}
	if s.LSP != "" {
		args = append(args, "--lsp", LSPInside)
	}
	for _, name := range s.Writable() {
		args = append(args, "--write", name)
	}
	if hold {
		args = append(
			args,
			"--hold",
			"--memory",
			strconv.FormatInt(l.MemoryBytes, 10),
			"--pids",
			strconv.FormatInt(l.Pids, 10),
			"--cpus",
			strconv.FormatFloat(l.CPUs, 'f', -1, 64),
		)
	}
	return args
}

func envName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00\n ") }

// WithDefaults replaces zero limits with those of [DefaultLimits].
func (l Limits) WithDefaults() Limits {
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = DefaultLimits.MemoryBytes
	}
	if l.Pids <= 0 {
		l.Pids = DefaultLimits.Pids
	}
	if l.CPUs <= 0 {
		l.CPUs = DefaultLimits.CPUs
	}
	if l.DiskBytes <= 0 {
		l.DiskBytes = DefaultLimits.DiskBytes
	}
	if l.Command <= 0 {
		l.Command = DefaultLimits.Command
	}
	return l
}

// Scratch returns the sizes in bytes of the tmpfs at /tmp, /dev/shm and /var/tmp. Their
// content counts as memory, so their sum stays well below that limit to leave room for
// commands.
func (l Limits) Scratch() (tmp, shm, varTmp int64) {
	l = l.WithDefaults()
	return min(1<<30, l.MemoryBytes/4), min(512<<20, l.MemoryBytes/8), min(64<<20, l.MemoryBytes/32) //control:scratch-size
}

// ScratchFiles is the maximum number of files in each of them.
const ScratchFiles = 100_000

// Environ returns the complete environment inside: common defaults, overridden by base,
// then by Env.
func (s Spec) Environ(base map[string]string) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG": "C.UTF-8", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat",
		"GIT_TERMINAL_PROMPT": "0", "DEBIAN_FRONTEND": "noninteractive", "CI": "true",
	}
	if !s.Network { // without a lock file cargo takes the packages that are there; a way out revokes it
		env["CARGO_NET_OFFLINE"] = "true"
	}
	maps.Copy(env, base)
	maps.Copy(env, s.Env)
	if home := env["HOME"]; home != "" { // last, so that it hides no program of the machine
		env["PATH"] += ":" + home + "/.local/bin"
	}
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
