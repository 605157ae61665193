package bwrap

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// setup runs in a mount namespace of its own before bubblewrap: it brings the
// directories of the workspace to where the user inside can reach them, lays
// the overlay, enters the control groups, and gives root up. Its arguments
// are the stage directory, how to lay, lower, upper, work, for root the control
// groups' name, memory and processes, more commands, and what to execute.
const setup = `set -e
stage=$1 how=$2 lower=$3 upper=$4 work=$5 group=$6 memory=$7 pids=$8 more=$9
shift 9
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=64k stage "$stage"
mkdir "$stage/tree" "$stage/base" "$stage/upper" "$stage/state"
case $how in
overlay) mount -t overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$work,redirect_dir=off,metacopy=off" overlay "$stage/tree" ;;
useroverlay) mount -t overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$work,userxattr" overlay "$stage/tree" ;;
copy) mount --bind "$upper" "$stage/tree" ;;
esac
[ -z "$lower" ] || mount --bind "$lower" "$stage/base"
[ "$how" = check ] || { mount --bind "$upper" "$stage/upper"; mount --bind "$upper/.." "$stage/state"; }
eval "$more"
enter() { { mkdir "$1" && echo "$3" >"$1/$2" && echo $$ >"$1/cgroup.procs"; } 2>/dev/null || :; }
if [ -n "$group" ]; then
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
enter "/sys/fs/cgroup/$group" memory.max "$memory"
{ echo "$pids" >"/sys/fs/cgroup/$group/pids.max"; } 2>/dev/null || :
else
enter "/sys/fs/cgroup/memory/$group" memory.limit_in_bytes "$memory"
enter "/sys/fs/cgroup/pids/$group" pids.max "$pids"
fi
fi
exec "$@"
`

// spare is how many threads the tool host may have beyond the limit of
// processes.
const spare = 64

// stage is one sandbox before it runs.
type stage struct {
	engine *Engine
	spec   workspace.Spec
	layers workspace.Layers
	check  bool
}

// command builds the sandbox's command line.
func (s stage) command(ctx context.Context) (*exec.Cmd, error) {
	at, err := s.mountPoint()
	if err != nil {
		return nil, err
	}
	tool := s.engine.tools
	limits := s.spec.Limits.WithDefaults()
	args := []string{"-c", setup, "stage", at}
	args = append(args, s.mounts()...)
	args = append(args, s.group(), itoa(limits.MemoryBytes), itoa(limits.Pids+spare), s.binds(at),
		tool["prlimit"], "--data="+itoa(limits.MemoryBytes), "--core=0")
	root := os.Geteuid() == 0
	uid, gid := workspace.Owner()
	if root {
		args = append(args, tool["setpriv"], "--reuid", itoa(int64(uid)), "--regid", itoa(int64(gid)), "--clear-groups")
	}
	args = append(args, tool["bwrap"])
	if s.check {
		args = append(args, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/",
			"--proc", "/proc", "--dev", "/dev", "--", tool["bwrap"], "--version")
	} else {
		args = append(args, s.sandbox(at)...)
	}
	cmd := exec.CommandContext(ctx, tool["sh"], args...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	if !root {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	return cmd, nil
}

// mounts returns the arguments that say how to lay the workspace's directories.
func (s stage) mounts() []string {
	l := s.layers
	switch {
	case s.check:
		return []string{"check", "", "", ""}
	case l.Upper == "":
		return []string{"copy", l.Base, l.Tree, ""}
	case os.Geteuid() == 0:
		return []string{"overlay", l.Base, l.Upper, l.Work}
	}
	return []string{"useroverlay", l.Base, l.Upper, l.Work}
}

// binds returns the commands that mount the binary and the toolchains on the stage,
// since the user inside may not reach their own directories.
func (s stage) binds(at string) string {
	if s.check {
		return ""
	}
	lines := []string{"touch " + quote(at+"/handrail"), "mount --bind " + quote(s.engine.cfg.Binary) + " " + quote(at+"/handrail")}
	for i, dir := range s.engine.cfg.Toolchains {
		to := quote(s.toolchain(at, i))
		lines = append(lines, "mkdir "+to, "mount --bind "+quote(dir)+" "+to)
	}
	return strings.Join(lines, "\n")
}

func (s stage) toolchain(at string, i int) string { return at + "/toolchain" + itoa(int64(i)) }

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// mountPoint returns a directory to mount the stage on. The stage hides what is
// there, so nothing that the sandbox needs may be in it.
func (s stage) mountPoint() (string, error) {
	need := []string{s.spec.State, s.spec.Source, s.engine.cfg.Binary}
	need = append(need, s.engine.cfg.Toolchains...)
	for _, tool := range s.engine.tools {
		need = append(need, tool)
	}
	for _, dir := range []string{"/mnt", "/media", "/srv", "/opt", "/home"} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if !slices.ContainsFunc(need, func(p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }) {
			return dir, nil
		}
	}
	return "", errors.New("none of /mnt, /media, /srv, /opt and /home is free for the sandbox's mounts: make an empty /mnt")
}

// sandbox returns the command line of bubblewrap.
func (s stage) sandbox(at string) []string {
	uid, gid := workspace.Owner()
	a := []string{"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1",
		"--cap-drop", "ALL", "--clearenv", "--hostname", "workspace", "--uid", itoa(int64(uid)), "--gid", itoa(int64(gid))}
	if s.spec.Network {
		a = append(a, "--share-net", "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(dir); err == nil {
			a = append(a, "--symlink", target, dir)
		} else {
			a = append(a, "--ro-bind-try", dir, dir)
		}
	}
	a = append(a, "--ro-bind", "/usr", "/usr")
	for _, p := range []string{"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ca-certificates", "nsswitch.conf", "protocols", "services", "localtime", "mime.types", "java-17-openjdk", "python3"} {
		a = append(a, "--ro-bind-try", "/etc/"+p, "/etc/"+p)
	}
	for _, p := range []string{"passwd", "group", "hosts"} {
		a = append(a, "--ro-bind", at+"/state/etc/"+p, "/etc/"+p)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev", "--size", itoa(1<<30), "--tmpfs", "/tmp", "--dir", "/run", "--dir", "/var/tmp",
		"--bind", at+"/tree", "/workspace", "--bind", at+"/state/cache", "/cache", "--ro-bind", at+"/handrail", "/handrail/handrail")
	for i, dir := range s.engine.cfg.Toolchains {
		a = append(a, "--ro-bind", s.toolchain(at, i), dir)
	}
	// Set inside, the limit counts only what runs in this sandbox.
	host := []string{s.engine.tools["prlimit"], "--nproc=" + itoa(s.spec.Limits.WithDefaults().Pids) + ":", "/handrail/handrail", "toolhost", "--init", "--name", s.spec.Name, "--command", s.spec.Limits.WithDefaults().Command.String()}
	if s.layers.Base != "" {
		a = append(a, "--ro-bind", at+"/base", "/handrail/base")
		host = append(host, "--base", "/handrail/base")
	}
	if s.layers.Upper != "" {
		a = append(a, "--ro-bind", at+"/upper", "/handrail/upper")
		host = append(host, "--upper", "/handrail/upper")
	}
	a = append(a, "--remount-ro", "/", "--chdir", "/workspace")
	for _, kv := range workspace.Environ(s.environment(), s.spec.Env) {
		name, value, _ := strings.Cut(kv, "=")
		a = append(a, "--setenv", name, value)
	}
	return append(append(a, "--"), append(host, "/workspace")...)
}

func (s stage) environment() map[string]string {
	env := map[string]string{"HOME": "/cache/home", "TMPDIR": "/tmp", "USER": "agent", "XDG_CACHE_HOME": "/cache",
		"GOCACHE": "/cache/go-build", "GOPATH": "/cache/go"}
	maps.Copy(env, s.engine.cfg.Env)
	return env
}

func (s stage) group() string {
	if os.Geteuid() != 0 || s.check {
		return ""
	}
	return "handrail-" + s.spec.Session + "-" + filepath.Base(filepath.Dir(s.spec.State)) + "-" + filepath.Base(s.spec.State)
}

// dropCgroups removes the sandbox's empty control groups; there are none
// where the system did not allow them.
func (s stage) dropCgroups() {
	if s.group() == "" {
		return
	}
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		for range 50 { // the kernel lets go of the last process a moment after it was waited for
			err := os.Remove(filepath.Join(dir, s.group()))
			if err == nil || !errors.Is(err, syscall.EBUSY) {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}
