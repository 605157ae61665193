package bwrap

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/seccomp"
)

// setup runs in its own mount namespace before bubblewrap. It mounts the directories of
// the workspace within reach of the user inside, mounts the overlay, enters the control
// groups, and drops root. Its arguments are the stage directory, the kind of mount,
// lower, upper, work, the set-up layer, more commands, and the command to execute.
const setup = `set -e
stage=$1 how=$2 lower=$3 upper=$4 work=$5 layer=$6 more=$7
shift 7
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=64k stage "$stage"
mkdir "$stage/tree" "$stage/base" "$stage/upper" "$stage/state" "$stage/tmp" "$stage/shm" "$stage/vartmp" "$stage/cache" "$stage/layer"
case $how in
overlay) mount -t overlay -o "lowerdir=$lower${layer:+:$layer/tree},upperdir=$upper,workdir=$work,redirect_dir=off,metacopy=off" overlay "$stage/tree" ;;
useroverlay) mount -t overlay -o "lowerdir=$lower${layer:+:$layer/tree},upperdir=$upper,workdir=$work,userxattr" overlay "$stage/tree" ;;
copy) mount --bind "$upper" "$stage/tree" ;;
esac
case $how$lower in
copy | check) ;;
overlay*:*) mount -t overlay -o "ro,lowerdir=$lower" base "$stage/base" ;;
useroverlay*:*) mount -t overlay -o "ro,lowerdir=$lower,userxattr" base "$stage/base" ;;
*) mount --bind "$lower" "$stage/base" ;;
esac
[ "$how" = check ] || { mount --bind "$upper" "$stage/upper"; mount --bind "$upper/.." "$stage/state"; }
[ -z "$layer" ] || mount --bind "$layer/tree" "$stage/layer"
case $how$layer in
overlay/*) mount -t overlay -o "lowerdir=$layer/cache,upperdir=$upper/../cache,workdir=$upper/../cachework,redirect_dir=off,metacopy=off" cache "$stage/cache" ;;
useroverlay/*) mount -t overlay -o "lowerdir=$layer/cache,upperdir=$upper/../cache,workdir=$upper/../cachework,userxattr" cache "$stage/cache" ;;
esac
eval "$more"
exec "$@"
`

// hostMemory is the memory in bytes reserved for the tool host.
const hostMemory = 512 << 20

// stage is one sandbox before its start.
type stage struct {
	engine *Engine
	spec   workspace.Spec
	layers workspace.Layers
	check  bool
	group  group
	filter []string // arguments that load the system call filter
}

// command builds the sandbox's command line.
func (s stage) command(ctx context.Context) (*exec.Cmd, error) {
	at, err := s.mountPoint()
	if err != nil {
		return nil, err
	}
	filter, err := filterFile()
	switch {
	case err == nil:
		s.filter = []string{"--seccomp", "3"} //control:wall-filter
	case !errors.Is(err, seccomp.ErrUnknown): // Bounds reports it
		return nil, err
	}
	tool := s.engine.tools
	limits := s.spec.Limits.WithDefaults()
	args := []string{tool["sh"], "-c", setup, "stage", at}
	args = append(args, s.mounts()...)
	args = append(args, s.binds(at), tool["prlimit"], "--data="+itoa(limits.MemoryBytes+hostMemory), "--core=0")
	root := os.Geteuid() == 0
	uid, gid := workspace.Owner()
	if root {
		args = append(args, tool["setpriv"], "--reuid", itoa(int64(uid)), "--regid", itoa(int64(gid)), "--clear-groups")
	}
	args = append(args, tool["bwrap"])
	if s.check {
		args = append(args, s.filter...)
		args = append(
			args, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
			"--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--",
			tool["bwrap"],
			"--version",
		)
	} else {
		args = append(args, s.sandbox(at)...)
	}
	mounts := true
	if wrap := s.group.Wrap(); wrap != nil && !root {
		// systemd must see the real user; a user namespace would map it to another one.
		args, mounts = slices.Concat(wrap, []string{tool["unshare"], "--user", "--map-root-user", "--mount"}, args), false
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + standardPath, "LANG=C"}
	cmd.Dir = "/"
	cmd.SysProcAttr = detached(mounts, root)
	if filter != nil {
		cmd.ExtraFiles = []*os.File{filter}
	}
	return cmd, nil
}

// filterFile returns the system call filter as a readable file.
func filterFile() (*os.File, error) {
	filter, err := seccomp.Wall()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("hand over filter: %w", err)
	}
	// The filter fits into the pipe's buffer, so this does not block.
	if _, err := w.Write(filter); err != nil {
		return nil, errors.Join(fmt.Errorf("hand over filter: %w", err), r.Close(), w.Close())
	}
	if err := w.Close(); err != nil {
		return nil, errors.Join(fmt.Errorf("hand over filter: %w", err), r.Close())
	}
	return r, nil
}

// mounts returns the arguments of setup for the workspace's directories.
func (s stage) mounts() []string {
	l := s.layers
	switch {
	case s.check:
		return []string{"check", "", "", "", ""}
	case l.Upper == "":
		return []string{"copy", l.Base, l.Tree, "", s.spec.Layer}
	case os.Geteuid() == 0:
		return []string{"overlay", l.Base, l.Upper, l.Work, s.spec.Layer}
	}
	return []string{"useroverlay", l.Base, l.Upper, l.Work, s.spec.Layer}
}

// binds returns the commands that mount the binary and the toolchains on the stage,
// because the user inside may have no access to their directories.
func (s stage) binds(at string) string {
	if s.check {
		return ""
	}
	tmp, shm, varTmp := s.spec.Limits.Scratch()
	scratch := func(name, options string, size int64) string {
		return fmt.Sprintf(
			"scratch %s/%s tmpfs nosuid,nodev,mode=1777,%ssize=%d,nr_inodes=%d\n",
			at,
			name,
			options,
			size,
			workspace.ScratchFiles,
		)
	}
	table := quote(scratch("tmp", "", tmp) + scratch("shm", "noexec,", shm) + scratch("vartmp", "", varTmp))
	lines := []string{
		"printf %s " + table + " >" + quote(at+"/fstab"), "mount -a -T " + quote(at+"/fstab"), // one call: each start of mount costs milliseconds
		": >" + quote(at+"/handrail"), "mount --bind " + quote(s.engine.cfg.Binary) + " " + quote(at+"/handrail"),
	}
	if s.spec.Git != "" {
		lines = append(lines, "mkdir "+quote(at+"/git"), "mount --bind "+quote(s.spec.Git)+" "+quote(at+"/git"))
	}
	if s.spec.LSP != "" {
		lines = append(lines, "mkdir "+quote(at+"/lsp"), "mount --bind "+quote(s.spec.LSP)+" "+quote(at+"/lsp"))
	}
	for i, dir := range s.spec.OtherSources() {
		to := quote(other(at, i))
		lines = append(lines, "mkdir "+to, "mount --bind "+quote(dir)+" "+to)
	}
	for i, dir := range s.visibleToolchains() {
		to := quote(s.toolchain(at, i))
		lines = append(lines, "mkdir "+to, "mount --bind "+quote(dir)+" "+to)
	}
	for _, file := range s.group.Enter() {
		lines = append(lines, "echo $$ >"+quote(file)) //control:group-entered
	}
	return strings.Join(lines, "\n")
}

// other returns the place of an other repository on the stage.
func other(at string, i int) string { return at + "/other" + itoa(int64(i)) }

func (s stage) toolchain(at string, i int) string { return at + "/toolchain" + itoa(int64(i)) }

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// mountPoint returns a directory for mounting the stage. The stage hides its content,
// so the directory must not contain anything that the sandbox needs.
func (s stage) mountPoint() (string, error) {
	need := []string{s.spec.State, s.spec.Source, s.spec.Over, s.spec.Git, s.spec.Layer, s.spec.LSP, s.engine.cfg.Binary}
	need = append(append(need, s.spec.OtherSources()...), s.visibleToolchains()...)
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
	return "", errors.New(
		"none of /mnt, /media, /srv, /opt and /home is free for the sandbox's mounts: make an empty /mnt",
	)
}

// sandbox returns the command line of bubblewrap.
func (s stage) sandbox(at string) []string {
	uid, gid := workspace.Owner()
	a := append(slices.Clone(s.filter),
		"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1",
		"--cap-drop", "ALL", "--clearenv", "--hostname", "workspace",
		"--uid", itoa(int64(uid)), "--gid", itoa(int64(gid)))
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
	for _, p := range workspace.Etc() {
		a = append(a, "--ro-bind-try", p, p)
	}
	for _, p := range []string{"passwd", "group", "hosts"} {
		a = append(a, "--ro-bind", at+"/state/etc/"+p, "/etc/"+p)
	}
	a = append(a,
		"--proc", "/proc", "--dev", "/dev", "--bind", at+"/shm", "/dev/shm", "--remount-ro", "/dev",
		"--bind", at+"/tmp", "/tmp", "--bind", at+"/vartmp", "/var/tmp", "--dir", "/run",
		"--bind", at+"/tree", "/workspace", "--bind", at+s.cache(), workspace.CacheInside,
		"--ro-bind", at+"/handrail", "/handrail/handrail")
	for i, o := range s.spec.Others {
		mount := "--ro-bind"
		if o.Write {
			mount = "--bind"
		}
		a = append(a, mount, other(at, i), "/workspace/"+o.Path()) //control:other-repository-read-only
	}
	shown, hidden := s.visibleToolchains(), s.engine.cfg.Shows.Hidden
	places := slices.Concat(shown, hidden)
	slices.Sort(places) // parents first
	for _, dir := range places {
		if i := slices.Index(shown, dir); i >= 0 {
			a = append(a, "--ro-bind", s.toolchain(at, i), dir)
		} else {
			a = append(a, "--tmpfs", dir) //control:runner-stays-out-of-bwrap
		}
	}
	for _, dir := range hidden {
		a = append(a, "--remount-ro", dir)
	}
	// If set inside, the limit counts only the processes of this sandbox.
	host := []string{
		s.engine.tools["prlimit"],
		"--nproc=" + itoa(s.spec.Limits.WithDefaults().Pids) + ":",
		"/handrail/handrail",
	}
	host = append(host, s.spec.Toolhost(!s.engine.place.OK())...)
	if s.layers.Base != "" {
		a = append(a, "--ro-bind", at+"/base", "/handrail/base")
		host = append(host, "--base", "/handrail/base")
	}
	if s.spec.Git != "" {
		a = append(a, "--ro-bind", at+"/git", workspace.GitInside) //control:past-is-read-only-in-bwrap
	}
	if s.spec.Layer != "" {
		a = append(a, "--ro-bind", at+"/layer", workspace.LayerInside) //control:layer-is-read-only
	}
	if s.spec.LSP != "" {
		a = append(a, "--ro-bind", at+"/lsp", workspace.LSPInside) //control:installed-servers-are-read-only
	}
	if s.layers.CacheBase != "" {
		a = append(a, "--ro-bind", at+"/state/cache", workspace.CacheUpperInside)
		host = append(host, "--cache", workspace.CacheUpperInside)
	}
	if s.layers.Upper != "" {
		a = append(a, "--ro-bind", at+"/upper", "/handrail/upper")
		host = append(host, "--upper", "/handrail/upper")
	}
	a = append(a, "--remount-ro", "/", "--chdir", "/workspace")
	for _, kv := range s.spec.Environ(s.environment()) {
		name, value, _ := strings.Cut(kv, "=")
		a = append(a, "--setenv", name, value)
	}
	return append(append(a, "--"), append(host, "/workspace")...)
}

// cache returns the path of the caches on the stage.
func (s stage) cache() string {
	if s.layers.CacheBase != "" {
		return "/cache"
	}
	return "/state/cache"
}

func (s stage) environment() map[string]string {
	env := map[string]string{}
	maps.Copy(env, s.engine.cfg.Shows.Env)
	maps.Copy(env, map[string]string{"HOME": "/cache/home", "TMPDIR": "/tmp", "USER": "agent", "XDG_CACHE_HOME": "/cache",
		"GOCACHE": "/cache/go-build", "GOPATH": "/cache/go", "CARGO_HOME": "/cache/home/.cargo", "PATH": s.engine.path})
	return env
}

// groupName returns the name of the sandbox's control group.
func (s stage) groupName() string {
	at := sha256.Sum256([]byte(s.spec.State)) // another server on this machine may have a session of the same name
	return fmt.Sprintf("handrail-%s-%x", s.spec.Session, at[:6])
}
