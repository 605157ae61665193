package rules

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// engine is for the clients of container engines.
func engine(c *walk.Command) string {
	if v, ok := c.Value("H", "host", "url"); ok && strings.Contains(v, "://") && !strings.HasPrefix(v, "unix:") {
		c.Hit("container-control")
	}
	if c.Exactly("inspect") && c.Says(".Env") {
		c.Hit("environment-dump")
		return secret
	}
	return subcommands(c)
}

// container follows the options of a container, and the command in it.
func container(c *walk.Command, ops argv.List) {
	for i, a := range c.List {
		option, value, _ := strings.Cut(a.S, "=")
		if value == "" {
			value = c.At(i + 1)
		}
		short := len(a.S) > 2 && a.S[0] == '-' && a.S[1] != '-'
		switch {
		case option == "--privileged" && value != "false", known.In("container-namespaces", option) && value == "host", known.In("container-powers", option):
			c.Hit("container-escape")
		case walk.OneOf(option, "-v", "--volume", "--mount"):
			containerMount(c, value)
		case short && a.S[1] == 'v':
			containerMount(c, a.S[2:])
		case short && strings.HasSuffix(a.S, "v"):
			containerMount(c, c.At(i+1))
		}
	}
	copiedOut(c, ops)
	if len(ops) > 0 && c.Exactly("build", "bake") && c.Has("push") {
		c.Hit("container-push")
	}
	if len(ops) > 1 && walk.OneOf(ops[0].S, "down", "compose") && c.Has("v", "volumes") && c.Exactly("down") {
		c.Hit("container-destroy")
	}
	containerCommand(c)
}

// copiedOut remembers a file that is copied out of a container.
func copiedOut(c *walk.Command, ops argv.List) {
	if _, file, ok := strings.Cut(ops.At(1), ":"); ok && ops.At(0) == "cp" && ops.At(2) != "-" {
		fetched(c, ops.At(2), file)
	}
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

func containerMount(c *walk.Command, value string) {
	src, _, _ := mountOf(value)
	if strings.Contains(value, "docker.sock") || strings.Contains(value, "containerd.sock") || strings.Contains(value, "podman.sock") {
		c.Hit("container-escape")
		return
	}
	if !strings.ContainsAny(src, "/~.") {
		return
	}
	p := c.Resolve(src)
	switch zone.Of(p) {
	case zone.Vital, zone.System, zone.Device, zone.Startup:
		c.Hit("container-escape")
	case zone.Home, zone.Outside:
		c.Hit("container-mount")
	}
	if zone.SecretOf(p) == zone.MachineSecret {
		c.Hit("container-escape")
	}
}

// containerCommand follows what runs inside. It can harm what is mounted.
func containerCommand(c *walk.Command) {
	for i, a := range c.List {
		if name := walk.ProgramName(a.S); i < 2 || !walk.Dangerous(name) || walk.OneOf(a.S, "git", "cp", "kill") {
			continue
		}
		saved := c.Content
		c.Content = map[string]string{}
		c.Exec(c.List[i:])
		if outside, ok := fromOutside(c.List, i); ok {
			c.OnlyCritical(outside, c.Line())
		}
		c.Content = saved
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

func deleteInfrastructure(c *walk.Command) {
	c.Found.Network = true
	destroys := c.Exactly("destroy", "-destroy", "--destroy")
	if c.Is("kubectl", "oc", "k", "microk8s.kubectl") {
		destroys = c.Exactly(known.Words("cluster-vital")...) || c.Says("ns/", "namespace/")
	}
	if destroys {
		c.Hit("infrastructure-destroy")
	} else {
		c.Hit("infrastructure")
	}
}

// cloud is for the clients of cloud providers.
func cloud(c *walk.Command) string {
	if out, ok := subcommand(c); ok || c.AsksHelp() {
		return out
	}
	c.Found.Network = true
	line := " " + c.Line() + " "
	reads := true
	for w := range strings.FieldsSeq(strings.ToLower(line)) {
		verb, _, dashed := strings.Cut(w, "-")
		if known.In("cloud-deletes", verb) {
			if reads = false; strings.Contains(line, "recursive") || strings.Contains(line, "-r ") || walk.OneOf(w, "rb", "delete") || dashed && walk.OneOf(verb, "delete", "terminate") {
				c.Hit("infrastructure-destroy")
			}
		}
		reads = reads && !known.In("cloud-changes", verb)
	}
	statements(c)
	if c.Says("get-secret", "print-access") {
		c.Hit("secret-read")
		return secret
	}
	if !reads {
		sendsSecret(c, "")
		c.Hit("infrastructure")
	}
	return stored(c)
}

// stored is what a client prints of an object in cloud storage, after the
// file that it is copied to is remembered.
func stored(c *walk.Command) string {
	if file, ok := c.Value("f", "file"); ok && c.Exactly("download") {
		c.Hit("download")
		c.Write(file)
		c.Store(c.Resolve(file), remote, false)
	}
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
func elsewhere(c *walk.Command) string {
	text := ""
	for _, o := range []string{"command", "c", "args", "a"} {
		if v, ok := c.Value(o); ok && strings.Contains(v, " ") {
			text = v
		}
	}
	if ops := c.OperandsAfter("w", "g", "h", "i", "m"); text == "" && len(ops) > 0 && !c.Is("ansible", "vagrant") {
		text = ops[len(ops)-1].S
	}
	c.Nested(text)
	return subcommands(c)
}
