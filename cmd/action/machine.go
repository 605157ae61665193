package action

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// privateVariables are the variables that name the runner's private directories: the event, the
// outputs, checkouts with a token in their configuration.
var privateVariables = []string{
	"HOME", "RUNNER_TEMP", "RUNNER_WORKSPACE", "GITHUB_WORKSPACE", "GITHUB_EVENT_PATH", "GITHUB_OUTPUT",
	"GITHUB_ENV", "GITHUB_STEP_SUMMARY",
}

// system are directories that never count as a tool cache.
var system = strings.Fields(
	"/ /bin /boot /cache /dev /etc /handrail /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /tmp /usr /var /var/lib /var/tmp /workspace",
)

// Machine returns the directories that workspaces see besides /usr: /opt and the runner's
// tool cache, without the runner's private directories. environ is the environment of
// this process. It returns nil if the machine's programs do not run in workspaces.
func Machine(environ []string) *workspace.Machine {
	if runtime.GOOS != "linux" {
		return nil
	}
	env := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	private := privateDirs(env)
	m := &workspace.Machine{}
	if isDir("/opt") && !slices.Contains(private, "/opt") {
		m.Dirs = []string{"/opt"}
	}
	for _, name := range []string{"RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY"} {
		dir := filepath.Clean(env[name])
		target, err := filepath.EvalSymlinks(dir)
		if err != nil || !isDir(dir) || !filepath.IsAbs(dir) || slices.Contains(m.Dirs, dir) || within("/usr", dir) {
			continue
		}
		if !slices.ContainsFunc(append(private, system...), func(p string) bool { return within(target, p) || within(dir, p) }) { //control:tools-hold-no-token
			m.Dirs = append(m.Dirs, dir)
		}
	}
	shown := append([]string{"/usr"}, m.Dirs...)
	for _, dir := range private {
		if anyWithin(shown, dir) && !slices.Contains(shown, dir) {
			m.Hidden = append(m.Hidden, dir)
		}
	}
	m.Env = places(env, append(shown, "/bin", "/sbin"))
	return m
}

// places returns the variables with paths that are all visible in workspaces.
func places(env map[string]string, shown []string) map[string]string {
	out := map[string]string{}
	for name, value := range env {
		var there []string
		all := filepath.SplitList(value)
		for _, dir := range all {
			if filepath.IsAbs(dir) && anyWithin(shown, filepath.Clean(dir)) && isDir(dir) {
				there = append(there, dir)
			}
		}
		switch before, _, _ := strings.Cut(name, "_"); {
		case name == "PATH":
			out[name] = strings.Join(append(there, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ":")
		case slices.Contains([]string{"GITHUB", "RUNNER", "INPUT", "ACTIONS", "PWD", "OLDPWD", "HOME"}, before) || len(all) == 0 || len(there) < len(all):
		default:
			out[name] = value
		}
	}
	return out
}

// privateDirs returns the runner's private directories, with their symlinks and targets.
func privateDirs(env map[string]string) (out []string) {
	add := func(dir string) {
		target, err := filepath.EvalSymlinks(dir)
		for _, dir := range []string{filepath.Clean(dir), target} {
			if err == nil && filepath.IsAbs(dir) && isDir(dir) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	for _, name := range privateVariables {
		dir := env[name]
		if !isDir(dir) {
			dir = filepath.Dir(dir)
		}
		add(dir)
		if filepath.Base(dir) == "_temp" { // the parents hold checkouts and the runner's credentials
			add(filepath.Dir(dir))
			add(filepath.Dir(filepath.Dir(dir)))
		}
	}
	for _, places := range []string{"/opt/*", "/opt/*/*", "/usr/*", "/usr/local/*", "/usr/local/*/*"} {
		runners, _ := filepath.Glob(places + "/.credentials") // other runners of this machine
		for _, file := range runners {
			add(filepath.Dir(file))
		}
	}
	return out
}

func isDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

// within reports whether at is dir or below it.
func within(dir, at string) bool {
	return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

func anyWithin(dirs []string, at string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, at) })
}
