package shell

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// format is for programs that write a file system: on an image file in the
// workspace it only costs the image.
func format(c *command, f *finding) string {
	if c.asksHelp() {
		return unknown
	}
	for _, a := range c.OperandsAfter("t", "L", "b", "N", "U", "T", "E", "O", "m", "n") {
		p := c.resolve(a.S)
		if at := zone.Of(p); (at == zone.Workspace || at == zone.Temp) && strings.Contains(path.Base(p), ".") {
			f.write(p)
			f.hit("delete-tree", c.line())
			return unknown
		}
	}
	f.hit("disk", c.line())
	return unknown
}

func wipe(c *command, f *finding) string {
	if c.Has("a", "all", "o", "offset") {
		f.hit("disk", c.line())
	}
	return unknown
}

func partition(c *command, f *finding) string {
	lists := c.asksHelp() || c.Exactly("-l", "--list", "-L", "print", "-p") && !c.Exactly("mklabel", "rm", "mkpart")
	if !lists && !c.Has("J") {
		f.hit("disk", c.line())
	}
	return unknown
}

func volume(c *command, f *finding) string {
	switch words := tables().lists; {
	case c.asksHelp() || len(c.List) == 0 || c.Exactly(sortedKeys(words["volume-reads"])...):
	case c.Exactly(sortedKeys(words["volume-destroys"])...) || c.says("security-erase", "trim-sector"):
		f.hit("disk", c.line())
	default:
		f.hit("mount", c.line())
	}
	return unknown
}

func mount(c *command, f *finding) string {
	all := c.Has("a", "all")
	if c.is("losetup") {
		all = c.Has("D", "detach-all")
	}
	if len(c.OperandsAfter()) > 0 && !c.asksHelp() || all {
		f.hit("mount", c.line())
	}
	return unknown
}

func stopMachine(c *command, f *finding) string {
	if !c.Exactly("--help", "--version") && (!c.is("init") || len(c.OperandsAfter()) > 0) {
		f.hit("machine-stop", c.line())
	}
	return unknown
}

func kill(c *command, f *finding) string {
	if c.Exactly("-l", "-L", "--list", "-0") {
		return unknown
	}
	targets, hard := killed(c)
	own := len(targets) > 0
	for _, t := range targets {
		if t == "-1" || t == "1" || t == "0" && hard {
			f.hit("machine-stop", c.line())
		}
		own = own && strings.HasPrefix(t, "%") // a job of this shell
	}
	switch {
	case hard:
		f.hit("signals", c.line())
	case !own && len(targets) > 0:
		f.hit("signal", c.line())
	}
	return unknown
}

// killed is what kill is told to end, and whether by force.
func killed(c *command) (targets []string, hard bool) {
	for i, a := range c.List {
		s := strings.ToUpper(a.S)
		switch {
		case i == 0 && len(s) > 1 && s[0] == '-' && s != "--":
			hard = strings.Contains(s, "9") || strings.Contains(s, "KILL")
		case oneOf(a.S, "--", "-s", "-n"):
		case strings.HasSuffix(s, "KILL") || s == "9" && strings.HasPrefix(c.At(i-1), "-"):
			hard = true
		default:
			targets = append(targets, a.S)
		}
	}
	return targets, hard
}

func killByName(c *command, f *finding) string {
	if c.Exactly("-l", "-0", "--list", "--help") {
		return unknown
	}
	f.hit("signals", c.line())
	if c.is("killall5") || c.Has("u") && c.Exactly("root", "0") {
		f.hit("machine-stop", c.line())
	}
	return unknown
}

func fuser(c *command, f *finding) string {
	if c.Has("k", "kill") {
		f.hit("signals", c.line())
	}
	return unknown
}

// setting is for programs that change settings of the machine, unless they
// only read them.
func setting(c *command, f *finding) string {
	if c.is("ip") && len(c.List) > 3 && c.At(0) == "netns" && c.At(1) == "exec" {
		f.hit("namespace", c.line())
		return c.exec(c.List[3:])
	}
	t := tables().settings[c.name]
	if c.Exactly(t.unless...) || onlyLooks(c) {
		return unknown
	}
	switch {
	case c.is("systemctl") && c.Exactly("poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate", "isolate"):
		f.hit("machine-stop", c.line())
	case c.is("crontab"):
		crontab(c, f)
	}
	f.hit(t.rule[0], c.line())
	return unknown
}

// onlyLooks is for settings programs that read when they have no argument
// that changes something.
func onlyLooks(c *command) bool {
	n := len(c.OperandsAfter())
	switch c.name {
	case "systemctl", "ifconfig", "route", "hostname", "hostnamectl", "timedatectl", "ip", "localectl", "loginctl", "nmcli", "ufw":
		return n == 0 && !c.Has("F", "r") || n == 1 && c.is("ip", "ifconfig")
	case "sysctl":
		return !c.Has("w", "p", "write", "load", "system") && !c.says("=")
	case "journalctl":
		return !c.Has("vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush")
	case "chage":
		return c.Has("l")
	}
	return false
}

// initScript is a program among the scripts that start services.
func initScript(c *command, f *finding) string {
	if !c.Exactly("status") {
		f.hit("service", c.line())
	}
	return unknown
}

func dmesg(c *command, f *finding) string {
	if c.Has("c", "C", "clear", "read-clear") {
		f.hit("journal", c.line())
	}
	return plain(c, f)
}

// crontab follows the table a crontab command installs.
func crontab(c *command, f *finding) {
	text := c.OperandsAfter("u").At(0)
	if text == "" || text == "-" {
		text = c.givenText()
	} else if own, ok := c.file(text); ok {
		text = own
	} else {
		text = mark.Of(text)
	}
	if strings.Contains(text, remote) {
		f.hit("remote-code", "crontab")
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(strings.TrimLeft(line, mark.All))
		switch {
		case len(words) > 1 && strings.HasPrefix(words[0], "@"):
			c.nested(strings.Join(words[1:], " "))
		case len(words) > 5 && !strings.HasPrefix(words[0], "#"):
			c.nested(strings.Join(words[5:], " "))
		}
	}
}
