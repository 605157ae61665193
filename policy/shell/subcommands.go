package shell

import (
	"path"
	"slices"
	"strings"
)

// subCommand applies a line of the table and looks at what else the command
// asks for.
func (m *machine) subCommand(c command, r subRule, ops []arg) string {
	switch r.rule {
	case "packages", "package-run", "publish", "container", "container-push", "infrastructure", "infrastructure-delete", "remote-change", "remote-read", "remote-delete", "git-fetch":
		m.r.network = m.r.network || r.rule != "container"
	}
	switch r.rule {
	case "container":
		m.container(c, ops)
	case "infrastructure-delete":
		m.infrastructureDelete(c)
		return unknown
	case "package-config-go":
		m.goEnv(c)
		return unknown
	case "cloud-read":
		m.r.network = true
		return unknown
	case "auth-status":
		if c.has("t", "show-token") {
			m.r.hit("secret-read", c.line())
			return secret
		}
		return unknown
	case "package-config":
		m.packageConfig(c)
		return unknown
	case "packages", "package-run":
		m.packageSource(c)
		m.packageRun(c, r, ops)
	case "remote-change":
		m.remoteChange(c)
	case "git-fetch":
		m.released(c)
	case "infrastructure":
		m.afterDashes(c)
	}
	m.r.hit(r.rule, c.line())
	if r.rule == "secret-read" {
		return secret
	}
	return unknown
}

// released remembers the files of a release that are downloaded by name.
func (m *machine) released(c command) {
	if !c.exactly("release") || !c.exactly("download") {
		return
	}
	dir, _ := c.value("D", "dir")
	for _, options := range [][]string{{"O", "output"}, {"p", "pattern"}} {
		if file, ok := c.value(options...); ok && file != "-" {
			m.store(m.resolve(path.Join(dir, file)), remote, false)
		}
	}
}

// afterDashes follows the command that runs in a container of a cluster.
func (m *machine) afterDashes(c command) {
	for i, a := range c.args {
		if a.s == "--" && i+1 < len(c.args) && c.exactly("exec", "run", "debug") {
			m.exec(c.args[i+1:])
			return
		}
	}
}

// packageSource looks for packages from places nobody vouches for.
func (m *machine) packageSource(c command) {
	for i, a := range c.args {
		s := a.s
		next := ""
		if i+1 < len(c.args) {
			next = c.args[i+1].s
		}
		value := s
		if _, v, ok := strings.Cut(s, "="); ok {
			value = v
		}
		switch {
		case strings.HasPrefix(s, "--index-url"), strings.HasPrefix(s, "--extra-index-url"), strings.HasPrefix(s, "--registry"), strings.HasPrefix(s, "--find-links"), s == "--index", s == "-i" && c.name == "pip", s == "--source" && c.name != "dotnet", s == "--default-index":
			if value == s {
				value = next
			}
			if !strings.Contains(value, "pypi.org") && !strings.Contains(value, "registry.npmjs.org") && !strings.Contains(value, "download.pytorch.org") {
				m.r.hit("package-source", c.line())
			}
		case strings.HasPrefix(s, "--trusted-host"), s == "--git", s == "--allow-unauthenticated", s == "--allow-untrusted", s == "--force-yes", s == "--unsafe-perm":
			m.r.hit("package-source", c.line())
		case strings.HasPrefix(s, "git+"), strings.HasPrefix(s, "http://"), strings.HasPrefix(s, "https://"), strings.HasPrefix(s, "git://"), strings.HasPrefix(s, "git@"), strings.HasPrefix(s, "github:"):
			m.r.hit("package-source", c.line())
		}
	}
	for _, v := range []string{"script-shell", "node-options"} {
		if text, ok := c.value(v); ok {
			m.r.hit("program-runs", c.line())
			m.nested(text)
		}
	}
	if t, ok := c.value("target", "root", "prefix"); ok && placeOf(m.resolve(t)) >= placeStartup {
		m.write(m.resolve(t))
	}
}

// packageRun follows the command that a package runner is given.
func (m *machine) packageRun(c command, r subRule, ops []arg) {
	if r.rule != "package-run" && (len(ops) == 0 || !baseIs(ops[0].s, "exec", "x", "dlx")) {
		return
	}
	if v, ok := c.value("c", "call"); ok {
		m.nested(v)
	}
	rest := ops
	if len(rest) > 0 && baseIs(rest[0].s, "exec", "x", "dlx", "run") {
		rest = rest[1:]
	}
	if c.name == "yarn" && len(rest) == 1 {
		m.nested(rest[0].s)
		return
	}
	for i, a := range c.args {
		if len(rest) > 0 && a.s == rest[0].s {
			m.exec(c.args[i:])
			return
		}
	}
}

func (m *machine) packageConfig(c command) {
	line := c.line()
	switch {
	case strings.Contains(line, "script-shell"):
		m.r.hit("source-redirect", line)
		m.nested(strings.Join(c.rest(len(c.args)-1), " "))
	case strings.Contains(line, "registry") || strings.Contains(line, "index-url") || strings.Contains(line, "proxy") || strings.Contains(line, "strict-ssl") || strings.Contains(line, "script-shell") || strings.Contains(line, "trusted-host") || strings.Contains(line, "cafile"):
		m.r.hit("source-redirect", line)
	case argsSecret(c) || strings.Contains(line, "oken") || strings.Contains(line, "_auth"):
		m.r.hit("secret-stored", line)
	default:
		m.r.hit("package-setting", line)
	}
}

func (m *machine) goEnv(c command) {
	if !c.exactly("-w", "-u") {
		return
	}
	if strings.Contains(c.line(), "PROXY") || strings.Contains(c.line(), "SUMDB") || strings.Contains(c.line(), "INSECURE") || strings.Contains(c.line(), "toolexec") || strings.Contains(c.line(), "CC=") {
		m.r.hit("source-redirect", c.line())
		return
	}
	m.r.hit("package-setting", c.line())
}

// container follows the options of a container, and the command in it.
func (m *machine) container(c command, ops []arg) {
	for i, a := range c.args {
		s := a.s
		next := ""
		if i+1 < len(c.args) {
			next = c.args[i+1].s
		}
		opt, value, _ := strings.Cut(s, "=")
		if value == "" {
			value = next
		}
		switch opt {
		case "--privileged":
			if value != "false" {
				m.r.hit("container-escape", c.line())
			}
		case "--pid", "--net", "--network", "--ipc", "--uts", "--userns", "--cgroupns":
			if value == "host" {
				m.r.hit("container-escape", c.line())
			}
		case "--cap-add", "--security-opt", "--device", "--volumes-from":
			m.r.hit("container-escape", c.line())
		case "-v", "--volume", "--mount":
			m.containerMount(c, value)
		}
		if strings.HasPrefix(s, "-v") && len(s) > 2 && s[1] != '-' {
			m.containerMount(c, s[2:])
		} else if len(s) > 2 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, "v") {
			m.containerMount(c, next)
		}
	}
	if len(ops) > 0 && c.exactly("build", "bake") && c.has("push") {
		m.r.hit("container-push", c.line())
	}
	if len(ops) > 1 && baseIs(ops[0].s, "down", "compose") && c.has("v", "volumes") && c.exactly("down") {
		m.r.hit("container-destroy", c.line())
	}
	m.containerCommand(c)
}

func (m *machine) containerMount(c command, value string) {
	src, _, _ := strings.Cut(value, ":")
	for part := range strings.SplitSeq(value, ",") {
		for _, k := range []string{"source=", "src="} {
			if v, ok := strings.CutPrefix(part, k); ok {
				src = v
			}
		}
	}
	if strings.Contains(value, "docker.sock") || strings.Contains(value, "containerd.sock") || strings.Contains(value, "podman.sock") {
		m.r.hit("container-escape", c.line())
		return
	}
	if !strings.ContainsAny(src, "/~.") {
		return
	}
	switch placeOf(m.resolve(src)) {
	case placeVital, placeSystem, placeDevice, placeStartup:
		m.r.hit("container-escape", c.line())
	case placeHome, placeOutside:
		m.r.hit("container-mount", c.line())
	}
	if secretPath(m.resolve(src)) == Critical {
		m.r.hit("container-escape", c.line())
	}
}

// containerCommand follows what runs inside. It can harm what is mounted.
func (m *machine) containerCommand(c command) {
	for i, a := range c.args {
		name := programName(a.s)
		if i > 1 && (isShell(name) || dangerousName(name)) && a.s != "git" && a.s != "cp" && a.s != "kill" {
			saved := m.files
			m.files = map[string]string{}
			m.exec(c.args[i:])
			if outside, ok := c.fromOutside(i); ok {
				m.onlyCritical(outside, c.line())
			}
			m.files = saved
			return
		}
	}
}

// fromOutside is the command in a container, with the paths of what is
// mounted as they are on the machine.
func (c command) fromOutside(at int) ([]arg, bool) {
	out := slices.Clone(c.args[at:])
	found := false
	for _, a := range c.args[:at] {
		value := a.s
		for _, o := range []string{"--volume=", "--mount=", "-v"} {
			value = strings.TrimPrefix(value, o)
		}
		src, dst, ok := strings.Cut(value, ":")
		for part := range strings.SplitSeq(value, ",") {
			k, v, _ := strings.Cut(part, "=")
			switch k {
			case "source", "src":
				src = v
			case "target", "dst", "destination":
				dst, ok = v, true
			}
		}
		dst, _, _ = strings.Cut(dst, ":")
		if !ok || !strings.HasPrefix(src, "/") || len(dst) < 2 || dst[0] != '/' {
			continue
		}
		for i := range out {
			if strings.Contains(out[i].s, dst) {
				out[i].s, found = strings.ReplaceAll(out[i].s, dst, src), true
			}
		}
	}
	return out, found
}

func (m *machine) infrastructureDelete(c command) {
	m.r.network = true
	if hasWord("kubectl oc k microk8s.kubectl", c.name) {
		if c.exactly("--all", "-A", "--all-namespaces", "namespace", "ns", "namespaces", "pv", "pvc", "node", "nodes", "all", "crd", "persistentvolume", "persistentvolumeclaim") || strings.Contains(c.line(), "ns/") || strings.Contains(c.line(), "namespace/") {
			m.r.hit("infrastructure-destroy", c.line())
			return
		}
		m.r.hit("infrastructure", c.line())
		return
	}
	if c.exactly("destroy") {
		m.r.hit("infrastructure-destroy", c.line())
		return
	}
	m.r.hit("infrastructure", c.line())
}

// remoteChange looks at texts that are posted for others to read.
func (m *machine) remoteChange(c command) {
	if argsSecret(c) || m.given() && strings.Contains(m.stdin(), secret) {
		m.r.hit("secret-sent", c.line())
		return
	}
	if c.exactly("gist", "comment", "create", "upload", "edit") {
		m.sendsSecret(c, "")
	}
}

// cloud follows the clients of cloud providers and of remote interfaces.
func (m *machine) cloud(c command) (string, bool) {
	switch c.name {
	case "gh", "glab":
		if !c.exactly("api") {
			return "", false
		}
		m.r.network = true
		method, ok := c.value("X", "method")
		switch {
		case strings.EqualFold(method, "DELETE"):
			m.r.hit("remote-delete", c.line())
		case ok && !strings.EqualFold(method, "GET"), c.has("f", "F", "field", "raw-field", "input"):
			m.remoteChange(c)
			m.r.hit("remote-change", c.line())
		}
		return remote, true
	case "aws", "gcloud", "az", "gsutil", "s3cmd", "mc", "bq", "azcopy", "b2", "s5cmd":
		return m.cloudClient(c), true
	}
	return "", false
}

// stored is what a client prints of an object in cloud storage, after the
// file that it is copied to is remembered.
func (m *machine) stored(c command) string {
	for i, a := range c.args {
		if !strings.HasPrefix(a.s, "s3://") && !strings.HasPrefix(a.s, "gs://") {
			continue
		}
		if c.exactly("cat") || c.exactly("-") {
			return remote
		}
		if i+1 < len(c.args) && known(c.args[i+1].s) && !strings.Contains(c.args[i+1].s, "://") && !strings.HasPrefix(c.args[i+1].s, "-") {
			m.fetched(c.args[i+1].s, a.s)
		}
		break
	}
	return unknown
}

func (m *machine) cloudClient(c command) string {
	m.r.network = true
	line := " " + c.line() + " "
	reads := true
	for _, w := range strings.Fields(strings.ToLower(line)) {
		for _, v := range []string{"delete", "terminate", "rb", "rm", "destroy", "purge", "remove"} {
			if w == v || strings.HasPrefix(w, v+"-") {
				if strings.Contains(line, "recursive") || strings.Contains(line, "-r ") || w == "rb" || strings.HasPrefix(w, "delete-") || strings.HasPrefix(w, "terminate-") || w == "delete" {
					m.r.hit("infrastructure-destroy", c.line())
				}
				reads = false
			}
		}
		for _, v := range []string{"cp", "mv", "sync", "put", "create", "deploy", "update", "set", "run", "start", "stop", "apply", "attach", "modify", "push", "invoke", "import", "copy", "restore", "enable", "disable", "add", "submit", "ssh", "login", "reboot", "upload", "mb", "publish", "assume", "up", "scale", "resize", "rollback", "promote", "migrate", "release", "restart", "reset", "swap", "failover", "rotate", "grant", "revoke", "bind", "assign", "untag", "cancel", "approve", "reject", "send", "write", "replace", "patch", "register", "deregister", "associate", "disassociate", "detach", "authorize", "execute", "abort"} {
			if w == v || strings.HasPrefix(w, v+"-") {
				reads = false
			}
		}
	}
	if strings.Contains(line, "get-secret") || strings.Contains(line, "print-access") {
		m.r.hit("secret-read", c.line())
		return secret
	}
	if !reads {
		m.sendsSecret(c, "")
		m.r.hit("infrastructure", c.line())
	}
	return m.stored(c)
}
