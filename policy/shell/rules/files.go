package rules

import (
	"path"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

func removeFiles(c *walk.Command) string {
	recursive := c.Has("r", "R", "recursive", "dir") || c.Is("rimraf", "srm", "shred", "scrub", "wipe")
	for _, a := range c.OperandsAfter(known.Tables().Takes[c.Name]...) {
		c.Remove(a, recursive)
	}
	return ""
}

// targetOf is where a copy goes, and the operands that are copied there.
func targetOf(c *walk.Command, ops argv.List) (string, argv.List) {
	if target, ok := c.Value("t", "target-directory"); ok || len(ops) == 0 {
		return target, ops
	}
	return ops[len(ops)-1].S, ops[:len(ops)-1]
}

func move(c *walk.Command) string {
	target, ops := targetOf(c, c.OperandsAfter("S", "suffix"))
	for _, a := range ops {
		for _, p := range c.Places(a) {
			switch at := zone.Of(p); at {
			case zone.Outside, zone.Home, zone.Above:
				c.Found.Remove(p, false)
			case zone.Vital, zone.System, zone.Git, zone.Runner, zone.Startup, zone.Device, zone.Root:
				if p != "*" && p != "." {
					c.Found.Remove(p, true)
				}
			default:
				c.Found.Touch(p)
			}
			if text, ok := c.Content[p]; ok {
				copyTo(c, target, p, text)
			} else if zone.SecretOf(p) > zone.NoSecret {
				copyTo(c, target, p, secret)
			}
		}
	}
	writeTarget(c, target, ops)
	return ""
}

// copyTo remembers what a copy of a file holds: it may be the target, or a
// file in it.
func copyTo(c *walk.Command, target, name, text string) {
	if at := c.Resolve(target); strings.Contains(text, secret) && zone.Of(at) == zone.Workspace && zone.SecretOf(at) == zone.NoSecret {
		c.Found.Leaked = true
	}
	c.Content[c.Resolve(target)] = text
	c.Content[c.Resolve(target+"/"+path.Base(name))] = text
}

// writeTarget records what a copy writes: the target, or files in it.
func writeTarget(c *walk.Command, target string, from argv.List) {
	if p := c.Resolve(target); !strings.HasSuffix(target, "/") && len(from) < 2 && !walk.OneOf(p, ".", "..", "~") {
		c.Found.Write(p)
		return
	}
	for _, a := range from {
		c.Write(target + "/" + path.Base(a.S))
	}
}

func copyFiles(c *walk.Command) string {
	ops := c.OperandsAfter("t", "m", "o", "g", "S", "e", "rsh", "exclude", "include", "target-directory", "suffix", "exclude-from", "files-from", "rsync-path")
	if c.Is("install") && c.Has("d", "directory") {
		return create(c)
	}
	target, ops := targetOf(c, ops)
	if c.Is("ln") {
		if len(ops) == 0 {
			ops, target = argv.Of(target), path.Base(target)
		}
		link(c, ops, target)
	}
	if c.Is("rsync") || c.Has("r", "R", "a", "recursive", "archive") {
		packsHome(c, ops)
	}
	for _, a := range ops {
		if text := c.ReadFile(a.S); text != unknown {
			copyTo(c, target, a.S, text)
		}
	}
	if target == "" {
		return ""
	}
	writeTarget(c, target, ops)
	if v, ok := c.Value("m", "mode"); ok && c.Is("install") {
		rateMode(c, v)
	}
	return ""
}

// rsync is a copy that may go to another machine, and may delete.
func rsync(c *walk.Command) string {
	if v, ok := c.Value("e", "rsh"); ok && !strings.HasPrefix(v, "ssh") {
		c.Runs(c, v)
	}
	ops := c.OperandsAfter("t", "m", "o", "g", "S", "e", "rsh", "exclude", "include", "target-directory", "suffix", "exclude-from", "files-from", "rsync-path")
	for _, a := range ops {
		if strings.Contains(a.S, ":") && !strings.HasPrefix(a.S, "/") {
			return copyBetween(c, ops)
		}
	}
	if c.Has("n", "dry-run") {
		return unknown
	}
	if len(ops) > 1 && c.Has("remove-source-files", "remove-sent-files") {
		for _, a := range ops[:len(ops)-1] {
			c.Remove(a, true)
		}
	}
	if target, _ := targetOf(c, ops); c.Has("delete", "delete-after", "delete-before", "delete-excluded") {
		c.Remove(argv.Word{S: target}, true)
		if zone.Of(c.Resolve(target)) == zone.Root {
			c.Found.Hit("delete-workspace", target)
		}
	}
	return copyFiles(c)
}

// packsHome finds copies of directories that hold the credentials of the
// person or of the machine among all else.
func packsHome(c *walk.Command, from argv.List) {
	for _, a := range from {
		for _, p := range c.Places(a) {
			if p == "/" || p == "~" || zone.Under(p, "/root", "/etc", "/home", "/Users") && strings.Count(p, "/") == 1 || walk.OneOf(path.Dir(p), "/home", "/Users") {
				c.Hit("secret-packed")
			}
		}
	}
}

// link rates the links that ln makes. A relative one is read from where it
// stands; whether that is the target or a file in it is not known.
func link(c *walk.Command, ops argv.List, target string) {
	symbolic := c.Has("s", "symbolic")
	for _, a := range ops {
		if to := a.S; symbolic {
			if mark.Known(to) && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") {
				to = path.Join(path.Dir(target), to)
			}
			c.Link(target, to)
			c.Link(path.Join(target, path.Base(a.S)), to)
		}
		inside := !strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~")
		out := symbolic && inside && !strings.HasPrefix(a.S, "/") && mark.Known(a.S) && strings.HasPrefix(path.Join(target, a.S), "..")
		out = out || strings.Trim(a.S, "./") == "" && strings.Contains(a.S, "..")
		for _, p := range c.Places(a) {
			switch zone.Of(p) {
			case zone.Vital, zone.System, zone.Home, zone.Startup, zone.Device:
				out = true
			case zone.Outside:
				out = out || symbolic
			}
		}
		if out {
			c.Hit("link-outside")
		}
	}
}

// create is for programs that make files.
func create(c *walk.Command) string {
	takes := []string{"m", "d", "t", "r", "s", "l", "o", "i", "p", "b", "n", "mode", "date", "reference", "size", "length"}
	if c.Is("mkdir", "touch", "install") {
		takes = []string{"m", "t", "r", "mode", "date", "reference"}
	}
	ops := c.OperandsAfter(takes...)
	if size, ok := c.Value("s", "l", "size", "length"); ok && c.Is("truncate", "fallocate") && walk.HugeSize(size) {
		c.Hit("exhaust")
	}
	if c.Is("mknod") && len(ops) > 0 {
		ops = ops[:1]
		c.Hit("machine-settings")
	}
	for _, a := range ops {
		for _, p := range c.Places(a) {
			switch at := zone.Of(p); {
			case c.Is("mkdir") && (at == zone.Startup || at == zone.Home || at == zone.Runner || at == zone.Obeyed || at == zone.Above):
				c.Found.Touch(p)
			default:
				c.Found.Write(p)
			}
		}
	}
	return ""
}

// permissions is chmod, chown and chgrp.
func permissions(c *walk.Command) string {
	var ops argv.List
	for _, a := range c.List {
		if len(a.S) < 2 || a.S[0] != '-' || a.S[1] != '-' && strings.Trim(a.S[1:], "Rvfch") != "" {
			ops = append(ops, a)
		}
	}
	if _, ok := c.Value("reference"); !ok && len(ops) > 0 {
		if c.Is("chmod") {
			rateMode(c, ops[0].S)
		}
		ops = ops[1:]
	}
	recursive := c.Has("R", "recursive")
	for _, a := range ops {
		for _, p := range c.Places(a) {
			at := zone.Of(p)
			if at == zone.Nowhere {
				continue
			}
			c.Found.Touch(p)
			if rule := permissionRule(at, recursive, c.Is("chmod")); rule != "" {
				c.Hit(rule)
			}
		}
	}
	return ""
}

// permissionRule rates new rights, or a new owner, of what lies somewhere.
func permissionRule(at zone.Zone, recursive, onlyMode bool) string {
	switch at {
	case zone.Vital, zone.Device:
		return "permissions-vital"
	case zone.System:
		if recursive {
			return "permissions-vital"
		}
		return "permissions-outside"
	case zone.Outside, zone.Above:
		return "permissions-outside"
	case zone.Runner:
		return "write-workflow"
	case zone.Git:
		return "permissions-inside"
	case zone.Home, zone.Startup:
		if !onlyMode || recursive {
			return "permissions-outside"
		}
		return ""
	}
	if !onlyMode {
		return "permissions-inside"
	}
	return ""
}

// attributes is for access lists and attributes of files: given to all that the
// system needs, they are as good as new rights.
func attributes(c *walk.Command) string {
	c.Hit("capability")
	for _, a := range c.OperandsAfter("m", "x", "M", "X", "reference") {
		if c.Has("R", "recursive") && c.ZoneOf(a) == zone.Vital {
			c.Hit("permissions-vital")
		}
	}
	return ""
}

// rateMode rates a new file mode.
func rateMode(c *walk.Command, mode string) {
	open, setID, none := !mark.Known(mode), false, false
	if n, err := strconv.ParseUint(mode, 8, 16); err == nil {
		open, setID, none = n&0o002 != 0, n&0o6000 != 0, n&0o700 == 0
	} else if mark.Known(mode) {
		for part := range strings.SplitSeq(mode, ",") {
			at := strings.IndexAny(part, "+-=")
			if at < 0 || part[at] == '-' {
				continue
			}
			who, what := part[:at], part[at:]
			open = open || strings.Contains(what, "w") && strings.ContainsAny(who, "ao")
			setID = setID || strings.Contains(what, "s")
		}
	}
	switch {
	case setID:
		c.Hit("setuid")
	case open:
		c.Hit("world-writable")
	case none:
		c.Hit("permissions-inside")
	}
}

// listFiles is ls.
func listFiles(c *walk.Command) string {
	var b strings.Builder
	ops := c.OperandsAfter("I", "w", "T")
	for _, a := range ops {
		switch {
		case c.Resolve(a.S) == "/proc":
			return walk.EveryProcessText
		case c.Has("d") || a.Pat != "":
			b.WriteString(a.S + "\n")
		case c.ZoneOf(a) != zone.Workspace:
			b.WriteString(strings.TrimSuffix(a.S, "/") + "/" + unknown + "\n")
		default:
			b.WriteString("found-" + unknown + "\n")
		}
	}
	if len(ops) == 0 {
		return "found-" + unknown + "\n"
	}
	return b.String()
}

// locate looks through all files of the machine.
func locate(c *walk.Command) string {
	if zone.Hunts(c.Line()) {
		c.Hit("secret-hunt")
	}
	return unknown
}

// searchFiles is find.
func searchFiles(c *walk.Command) string {
	i := 0
	var roots argv.List
	for ; i < len(c.List); i++ {
		s := c.At(i)
		if walk.OneOf(s, "-L", "-P", "-H") || strings.HasPrefix(s, "-O") {
			continue
		}
		if s != "" && strings.ContainsRune("-(!,", rune(s[0])) {
			break
		}
		roots = append(roots, c.List[i])
	}
	if len(roots) == 0 {
		roots = argv.Of(".")
	}
	filtered := findTests(c, c.List[i:], roots)
	var b strings.Builder
	for _, r := range roots {
		if !filtered {
			b.WriteString(r.S + "\n")
		}
		b.WriteString(foundIn(c, r) + "\n")
	}
	return b.String()
}

// foundIn is the path of something below a directory.
func foundIn(c *walk.Command, root argv.Word) string {
	if at := c.ZoneOf(root); at == zone.Workspace || at == zone.Root || at == zone.Temp {
		return "found-" + unknown
	}
	return strings.TrimSuffix(root.S, "/") + "/found-" + unknown
}

// search is where a find looks, and whether it selects.
type search struct {
	roots    argv.List
	filtered bool
}

// findTests follows the expression of find and reports whether it selects.
func findTests(c *walk.Command, tests, roots argv.List) bool {
	filtered := false
	for i := 0; i < len(tests); i++ {
		next := tests.At(i + 1)
		switch s := tests[i].S; s {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			filtered = filtered || strings.Trim(next, "*") != ""
			findHunt(c, next, roots)
			i++
		case "-type":
			filtered = filtered || strings.Trim(next, "fd,") != "" // few files are anything else
		case "-delete":
			findDelete(c, search{roots, filtered})
		case "-exec", "-execdir", "-ok", "-okdir":
			findExec(c, tests[i+1:], search{roots, filtered})
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			c.Write(next)
		default:
			filtered = filtered || known.In("find-tests", s)
		}
	}
	return filtered
}

func findHunt(c *walk.Command, term string, roots argv.List) {
	if !zone.Hunts(term) && !strings.Contains(term, "id_") {
		return
	}
	for _, r := range roots {
		switch c.ZoneOf(r) {
		case zone.Workspace, zone.Root, zone.Temp, zone.Nowhere:
		default:
			c.Hit("secret-hunt")
		}
	}
}

func findDelete(c *walk.Command, s search) {
	for _, r := range s.roots {
		for _, p := range c.Places(r) {
			switch at := zone.Of(p); {
			case at == zone.Root && s.filtered:
				c.Hit("delete-tree")
			case at == zone.Above, s.filtered && at == zone.Vital && p == "~":
				c.Hit("delete-outside")
			default:
				c.Found.Remove(p, true)
			}
		}
	}
	c.Found.Changes = true
}

// findExec follows the command of -exec: {} is what was found.
func findExec(c *walk.Command, args argv.List, s search) {
	end := len(args)
	for i, a := range args {
		if a.S == ";" || a.S == "+" && args.At(i-1) == "{}" {
			end = i
			break
		}
	}
	if end == 0 {
		return
	}
	if walk.OneOf(path.Base(args[0].S), "rm", "unlink", "shred", "rimraf", "srm") {
		findDelete(c.With("find", args[:end]), s)
	}
	for _, r := range s.roots {
		items := []string{foundIn(c, r)}
		if !s.filtered {
			items = append(items, r.S)
		}
		for _, item := range items {
			cmd := make(argv.List, end)
			for i, a := range args[:end] {
				if cmd[i] = a; strings.Contains(a.S, "{}") {
					cmd[i] = argv.Word{S: strings.ReplaceAll(a.S, "{}", item)}
				}
			}
			c.Exec(cmd)
		}
	}
}

// fd is a find with options of its own.
func fd(c *walk.Command) string {
	roots := c.OperandsAfter("e", "E", "t", "d", "x", "X", "exec", "extension", "type", "exclude", "max-depth").From(1)
	if len(roots) == 0 || roots[0].S == "rm" {
		roots = argv.Of(".")
	}
	for i, a := range c.List {
		if !walk.OneOf(a.S, "-x", "-X", "--exec", "--exec-batch") || i+1 >= len(c.List) {
			continue
		}
		cmd := c.List[i+1:]
		if !cmd.Contains("{") {
			cmd = append(append(argv.List(nil), cmd...), argv.Word{S: "{}"})
		}
		findExec(c, cmd, search{roots, !walk.OneOf(c.At(0), ".", "*", "-x", "-X")})
	}
	return "found-" + unknown
}
