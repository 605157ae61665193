package rules

import (
	"path"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// format is for programs that write a file system: on an image file in the
// workspace it only costs the image.
func format(c *walk.Command) string {
	if c.AsksHelp() {
		return unknown
	}
	for _, a := range c.OperandsAfter("t", "L", "b", "N", "U", "T", "E", "O", "m", "n") {
		p := c.Resolve(a.S)
		if at := zone.Of(p); (at == zone.Workspace || at == zone.Temp) && strings.Contains(path.Base(p), ".") {
			c.Found.Write(p)
			c.Hit("delete-tree")
			return unknown
		}
	}
	c.Hit("disk")
	return unknown
}

func kill(c *walk.Command) string {
	if c.Exactly("-l", "-L", "--list", "-0") {
		return unknown
	}
	targets, hard := killed(c)
	own := len(targets) > 0
	for _, t := range targets {
		if t == "-1" || t == "1" || t == "0" && hard || walk.EveryProcess(t) || strings.HasPrefix(t, "[0-9]") {
			c.Hit("machine-stop")
		}
		own = own && strings.HasPrefix(t, "%") // a job of this shell
	}
	switch {
	case hard:
		c.Hit("signals")
	case !own && len(targets) > 0:
		c.Hit("signal")
	}
	return unknown
}

// killed is what kill is told to end, and whether by force.
func killed(c *walk.Command) (targets []string, hard bool) {
	for i, a := range c.List {
		s := strings.ToUpper(a.S)
		switch {
		case i == 0 && len(s) > 1 && s[0] == '-' && s != "--":
			hard = strings.Contains(s, "9") || strings.Contains(s, "KILL")
		case walk.OneOf(a.S, "--", "-s", "-n"):
		case strings.HasSuffix(s, "KILL") || s == "9" && strings.HasPrefix(c.At(i-1), "-"):
			hard = true
		default:
			targets = append(targets, a.S)
		}
	}
	return targets, hard
}

func killByName(c *walk.Command) string {
	if c.Exactly("-l", "-0", "--list", "--help") {
		return unknown
	}
	c.Hit("signals")
	user, ofUser := c.Value("u", "U", "user", "euid", "uid")
	pattern := c.OperandsAfter("u", "U", "user", "euid", "uid", "s", "signal", "t", "g", "G", "P").At(0)
	every := len(c.List) > 0 && strings.Trim(pattern, ".*^$+ ") == "" && (c.Exactly("") || pattern != "")
	switch {
	case c.Is("killall5"), ofUser && (walk.OneOf(user, "root", "0") || !mark.Known(user)), c.Is("slay"),
		c.Exactly("*"), every && (c.Is("pkill") || c.Has("r", "regexp")), c.Is("pkill", "skill") && c.Exactly("-v", "--inverse"):
		c.Hit("machine-stop")
	}
	return unknown
}

func fuser(c *walk.Command) string {
	if !c.Has("k", "kill") {
		return unknown
	}
	c.Hit("signals")
	for _, a := range c.OperandsAfter("n", "namespace", "s", "signal") {
		if at := c.ZoneOf(a); (at == zone.Vital || at == zone.System) && !walk.OneOf(a.S, "/mnt", "/media") {
			c.Hit("machine-stop")
		}
	}
	return unknown
}

// namespaces is ip: what it runs in another namespace is a command.
func namespaces(c *walk.Command) string {
	if len(c.List) > 3 && c.At(0) == "netns" && c.At(1) == "exec" {
		c.Hit("namespace")
		return c.Exec(c.List[3:])
	}
	return tabled(c)
}

// sessions is loginctl: without root's the machine is of no use.
func sessions(c *walk.Command) string {
	if c.Exactly("terminate-user", "kill-user") && (c.Exactly("root", "0", "") || c.Contains(unknown)) {
		c.Hit("machine-stop")
	}
	return tabled(c)
}

// initScript is a program among the scripts that start services.
func initScript(c *walk.Command) string {
	if !c.Exactly("status") {
		c.Hit("service")
	}
	return unknown
}

// crontab follows the table a crontab command installs.
func crontab(c *walk.Command) string {
	if c.Exactly("-l", "--help") {
		return unknown
	}
	text := c.OperandsAfter("u").At(0)
	if text == "" || text == "-" {
		text = c.GivenText()
	} else if own, ok := c.File(text); ok {
		text = own
	} else {
		text = mark.Of(text)
	}
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", "crontab")
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(strings.TrimLeft(line, mark.All))
		switch {
		case len(words) > 1 && strings.HasPrefix(words[0], "@"):
			c.Nested(strings.Join(words[1:], " "))
		case len(words) > 5 && !strings.HasPrefix(words[0], "#"):
			c.Nested(strings.Join(words[5:], " "))
		}
	}
	return tabled(c)
}

// manyBlocks reports whether so many blocks are more than a disk has to spare.
func manyBlocks(size, count string) bool {
	n, err := strconv.Atoi(count)
	unit := strings.TrimLeft(size, "0123456789")
	each, errSize := strconv.Atoi(strings.TrimSuffix(size, unit))
	return err != nil || errSize == nil && walk.HugeSize(strconv.Itoa(n*each)+unit)
}

func dd(c *walk.Command) string {
	value := map[string]string{}
	for _, a := range c.List {
		name, v, _ := strings.Cut(a.S, "=")
		value[name] = v
	}
	from, to := value["if"], value["of"]
	if from != "" && zone.Of(c.Resolve(from)) == zone.Device && !walk.EndlessDevice(from) {
		c.Hit("read-device")
	}
	text := ""
	if from != "" {
		text = c.ReadFile(from)
	} else {
		text = c.Stdin()
	}
	if conv := value["conv"]; strings.Contains(conv, "swab") || strings.Contains(conv, "case") || strings.Contains(conv, "ascii") || strings.Contains(conv, "ebcdic") || strings.Contains(conv, "ibm") {
		text = mark.Opaque(text)
	}
	if to == "" {
		return text
	}
	p := c.Resolve(to)
	c.Write(to)
	c.Store(p, text, false)
	if _, counted := value["count"]; walk.EndlessDevice(from) && (!counted || manyBlocks(value["bs"], value["count"])) && zone.Of(p) != zone.Nowhere {
		c.Hit("exhaust")
	}
	if at := zone.Of(p); at != zone.Workspace && at != zone.Temp && at != zone.Nowhere {
		c.Hit("dd")
	}
	return ""
}
