package docker

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Labels of the containers, and of the images that are built.
const (
	labelSession = "handrail.session"
	labelBuilt   = "handrail.built"
)

// spare is the number of threads for the tool host beyond the limit of processes.
const spare = 64

// period is the period of the CPU quota in microseconds.
const period = 100_000

// plan is one container before its creation.
type plan struct {
	engine *Engine
	spec   workspace.Spec
	layers workspace.Layers
	image  map[string]string
	shows  *workspace.Machine // nil if nothing of this machine is shown
}

func (p plan) config() *container.Config {
	uid, gid := workspace.Owner()
	host := append([]string{"/handrail/handrail"}, p.spec.Toolhost(false)...)
	if p.layers.Base != "" {
		host = append(host, "--base", "/handrail/base")
	}
	if p.layers.Upper != "" {
		host = append(host, "--upper", "/handrail/upper")
	}
	if p.layers.CacheBase != "" {
		host = append(host, "--cache", workspace.CacheUpperInside)
	}
	env := map[string]string{}
	maps.Copy(env, p.image)
	maps.Copy(env, map[string]string{"HOME": "/cache/home", "TMPDIR": "/tmp", "USER": "agent", "XDG_CACHE_HOME": "/cache",
		"GOCACHE": "/cache/go-build", "GOPATH": "/cache/go", "CARGO_HOME": "/cache/home/.cargo"})
	maps.Copy(env, p.engine.cfg.Env)
	return &container.Config{
		Image: p.spec.Image, User: fmt.Sprintf("%d:%d", uid, gid), Hostname: "workspace",
		Entrypoint: append(host, "/workspace"), Cmd: []string{}, WorkingDir: "/workspace",
		Env:    p.spec.Environ(env),
		Labels: map[string]string{labelSession: p.spec.Session},
		// StdinOnce ends the input if this process dies.
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func (p plan) host() *container.HostConfig {
	limits := p.spec.Limits.WithDefaults()
	network, dns, search := container.NetworkMode("none"), []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, []string{"."}
	if p.spec.Network {
		network, dns, search = "bridge", nil, nil
	}
	init, pids := false, limits.Pids+spare
	tmp, shm, varTmp := limits.Scratch()
	memory := func(options string, size int64) string {
		return fmt.Sprintf("rw,nosuid,nodev,mode=1777,%ssize=%d,nr_inodes=%d", options, size, workspace.ScratchFiles)
	}
	tmpfs := map[string]string{"/tmp": memory("exec,", tmp), "/dev/shm": memory("noexec,", shm),
		"/var/tmp": memory("", varTmp), "/run": memory("noexec,", varTmp/4)}
	if p.shows != nil { //control:runner-stays-out
		for _, dir := range p.shows.Hidden {
			tmpfs[dir] = "rw,nosuid,nodev,noexec,mode=555,size=64k"
		}
	}
	return &container.HostConfig{
		AutoRemove: true, ReadonlyRootfs: true, NetworkMode: network, Init: &init,
		DNS: dns, DNSSearch: search, // without a network nothing says which servers and names the machine's has
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		LogConfig: container.LogConfig{Type: "none"},
		Tmpfs:     tmpfs,
		Mounts:    p.mounts(),
		Resources: container.Resources{
			Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, PidsLimit: &pids,
			CPUPeriod: period, CPUQuota: int64(limits.CPUs * period), // the daemon refuses NanoCPUs above the number of CPUs

		},
	}
}

func (p plan) mounts() []mount.Mount {
	l := p.layers
	bind := func(from, to string, ro bool) mount.Mount {
		return mount.Mount{Type: mount.TypeBind, Source: from, Target: to, ReadOnly: ro}
	}
	ms := []mount.Mount{bind(p.engine.cfg.Binary, "/handrail/handrail", true)}
	if p.spec.Git != "" {
		ms = append(ms, bind(p.spec.Git, workspace.GitInside, true)) //control:past-is-read-only
	}
	if p.spec.LSP != "" {
		ms = append(ms, bind(p.spec.LSP, workspace.LSPInside, true)) //control:installed-servers-are-read-only-in-docker
	}
	if p.shows != nil {
		ms = append(ms, mounts(p.shows)...)
	}
	// An overlay without an upper directory is read-only by itself. The daemon refuses an
	// unnamed volume that is marked read-only.
	overlay := func(to, options string) mount.Mount {
		return mount.Mount{Type: mount.TypeVolume, Target: to,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{labelSession: p.spec.Session},
				DriverConfig: &mount.Driver{
					Name:    "local",
					Options: map[string]string{"type": "overlay", "device": "overlay", "o": options},
				}}}
	}
	const alone = ",redirect_dir=off,metacopy=off"
	lower := l.Base
	if p.spec.Layer != "" {
		ms = append(ms, bind(filepath.Join(p.spec.Layer, workspace.LayerTree), workspace.LayerInside, true)) //control:layer-is-read-only-in-docker
	}
	if l.CacheBase == "" {
		ms = append(ms, bind(l.Cache, workspace.CacheInside, false))
	} else {
		lower += ":" + l.Under
		ms = append(ms, bind(l.Cache, workspace.CacheUpperInside, true), //control:caches-of-one-session
			overlay(workspace.CacheInside, "lowerdir="+l.CacheBase+",upperdir="+l.Cache+",workdir="+l.CacheWork+alone))
	}
	switch {
	case l.Base == "":
	case l.Base != p.spec.Source: // several directories
		ms = append(ms, overlay("/handrail/base", "ro,lowerdir="+l.Base))
	default:
		ms = append(ms, bind(l.Base, "/handrail/base", true))
	}
	others := p.spec.OtherSources()
	for i, o := range p.spec.Others {
		ms = append(ms, bind(others[i], "/workspace/"+o.Path(), !o.Write)) //control:other-repository-read-only-in-docker
	}
	if l.Upper == "" {
		return append(ms, bind(l.Tree, "/workspace", false))
	}
	return append(ms, bind(l.Upper, "/handrail/upper", true),
		overlay("/workspace", "lowerdir="+lower+",upperdir="+l.Upper+",workdir="+l.Work+alone))
}
