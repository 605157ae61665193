package shell

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// engine is for the clients of container engines.
func engine(c *command, f *finding) string {
	if v, ok := c.Value("H", "host", "url"); ok && strings.Contains(v, "://") && !strings.HasPrefix(v, "unix:") {
		f.hit("container-control", c.line())
	}
	if c.Exactly("inspect") && c.says(".Env") {
		f.hit("environment-dump", c.line())
		return secret
	}
	return subcommands(c, f)
}

// cluster is for the clients of clusters.
func cluster(c *command, f *finding) string {
	if c.Exactly("config") && c.Has("raw") || c.Exactly("get") && (c.Exactly("secret", "secrets") || c.says(" secret/")) && c.Has("o", "output") {
		f.hit("secret-read", c.line())
		return secret
	}
	return subcommands(c, f)
}

// container follows the options of a container, and the command in it.
func container(c *command, f *finding, ops argv.List) {
	for i, a := range c.List {
		option, value, _ := strings.Cut(a.S, "=")
		if value == "" {
			value = c.At(i + 1)
		}
		short := len(a.S) > 2 && a.S[0] == '-' && a.S[1] != '-'
		switch {
		case option == "--privileged" && value != "false", in("container-namespaces", option) && value == "host", in("container-powers", option):
			f.hit("container-escape", c.line())
		case oneOf(option, "-v", "--volume", "--mount"):
			containerMount(c, f, value)
		case short && a.S[1] == 'v':
			containerMount(c, f, a.S[2:])
		case short && strings.HasSuffix(a.S, "v"):
			containerMount(c, f, c.At(i+1))
		}
	}
	if len(ops) > 0 && c.Exactly("build", "bake") && c.Has("push") {
		f.hit("container-push", c.line())
	}
	if len(ops) > 1 && oneOf(ops[0].S, "down", "compose") && c.Has("v", "volumes") && c.Exactly("down") {
		f.hit("container-destroy", c.line())
	}
	containerCommand(c)
}

// mountOf is the directory of the machine that is mounted, and where.
func mountOf(value string) (src, dst string, ok bool) {
	src, dst, ok = strings.Cut(value, ":")
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
	return src, dst, ok
}

func containerMount(c *command, f *finding, value string) {
	src, _, _ := mountOf(value)
	if strings.Contains(value, "docker.sock") || strings.Contains(value, "containerd.sock") || strings.Contains(value, "podman.sock") {
		f.hit("container-escape", c.line())
		return
	}
	if !strings.ContainsAny(src, "/~.") {
		return
	}
	p := c.resolve(src)
	switch zone.Of(p) {
	case zone.Vital, zone.System, zone.Device, zone.Startup:
		f.hit("container-escape", c.line())
	case zone.Home, zone.Outside:
		f.hit("container-mount", c.line())
	}
	if zone.SecretOf(p) == zone.MachineSecret {
		f.hit("container-escape", c.line())
	}
}

// containerCommand follows what runs inside. It can harm what is mounted.
func containerCommand(c *command) {
	for i, a := range c.List {
		if name := programName(a.S); i < 2 || !dangerous(name) || oneOf(a.S, "git", "cp", "kill") {
			continue
		}
		saved := c.content
		c.content = map[string]string{}
		c.exec(c.List[i:])
		if outside, ok := fromOutside(c.List, i); ok {
			c.onlyCritical(outside, c.line())
		}
		c.content = saved
		return
	}
}

// fromOutside is the command in a container, with the paths of what is
// mounted as they are on the machine.
func fromOutside(args argv.List, at int) (argv.List, bool) {
	out := slices.Clone(args[at:])
	found := false
	for _, a := range args[:at] {
		value := a.S
		for _, o := range []string{"--volume=", "--mount=", "-v"} {
			value = strings.TrimPrefix(value, o)
		}
		src, dst, ok := mountOf(value)
		if !ok || !strings.HasPrefix(src, "/") || len(dst) < 2 || dst[0] != '/' {
			continue
		}
		for i := range out {
			if strings.Contains(out[i].S, dst) {
				out[i].S, found = strings.ReplaceAll(out[i].S, dst, src), true
			}
		}
	}
	return out, found
}

func deleteInfrastructure(c *command, f *finding) {
	f.network = true
	destroys := c.Exactly("destroy")
	if c.is("kubectl", "oc", "k", "microk8s.kubectl") {
		destroys = c.Exactly(sortedKeys(tables().lists["cluster-vital"])...) || c.says("ns/", "namespace/")
	}
	if destroys {
		f.hit("infrastructure-destroy", c.line())
	} else {
		f.hit("infrastructure", c.line())
	}
}

// cloud is for the clients of cloud providers.
func cloud(c *command, f *finding) string {
	if out, ok := subcommand(c, f); ok || c.asksHelp() {
		return out
	}
	f.network = true
	line := " " + c.line() + " "
	reads := true
	for w := range strings.FieldsSeq(strings.ToLower(line)) {
		verb, _, dashed := strings.Cut(w, "-")
		if in("cloud-deletes", verb) {
			if reads = false; strings.Contains(line, "recursive") || strings.Contains(line, "-r ") || oneOf(w, "rb", "delete") || dashed && oneOf(verb, "delete", "terminate") {
				f.hit("infrastructure-destroy", c.line())
			}
		}
		reads = reads && !in("cloud-changes", verb)
	}
	if c.says("get-secret", "print-access") {
		f.hit("secret-read", c.line())
		return secret
	}
	if !reads {
		sendsSecret(c, f, "")
		f.hit("infrastructure", c.line())
	}
	return stored(c)
}

// stored is what a client prints of an object in cloud storage, after the
// file that it is copied to is remembered.
func stored(c *command) string {
	for i, a := range c.List {
		if !startsWith(a.S, "s3://", "gs://") {
			continue
		}
		if c.Exactly("cat", "-") {
			return remote
		}
		if to := c.At(i + 1); to != "" && !strings.ContainsAny(to, unknown+secret+remote) && !strings.Contains(to, "://") && !strings.HasPrefix(to, "-") {
			fetched(c, to, a.S)
		}
		break
	}
	return unknown
}

// elsewhere follows the command text that runs on other machines.
func elsewhere(c *command, f *finding) string {
	text := ""
	for _, o := range []string{"command", "c", "args", "a"} {
		if v, ok := c.Value(o); ok && strings.Contains(v, " ") {
			text = v
		}
	}
	if ops := c.OperandsAfter("w", "g", "h", "i", "m"); text == "" && len(ops) > 0 && !c.is("ansible", "vagrant") {
		text = ops[len(ops)-1].S
	}
	c.nested(text)
	return subcommands(c, f)
}
