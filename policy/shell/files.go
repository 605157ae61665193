package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

func removeFiles(c *command) string {
	recursive := c.has("r", "R", "recursive", "dir") || c.is("rimraf", "srm", "shred", "scrub", "wipe")
	for _, a := range c.operandsAfter(tables().Takes[c.name]...) {
		c.remove(a, recursive)
	}
	return ""
}

func targetOf(c *command, ops list) (string, list) {
	if target, ok := c.option("t", "target-directory"); ok || len(ops) == 0 {
		return target, ops
	}
	return ops[len(ops)-1].s, ops[:len(ops)-1]
}

func move(c *command) string {
	target, ops := targetOf(c, c.operandsAfter("S", "suffix"))
	for _, a := range ops {
		for _, p := range c.places(a) {
			switch at := zoneOf(p); at {
			case outside, home, above:
				c.found.remove(p, false)
			case vital, system, git, runner, startup, device, zoneRoot:
				if p != "*" && p != "." {
					c.found.remove(p, true)
				}
			default:
				c.found.touch(p)
			}
			if text, ok := c.made[p]; ok {
				copyTo(c, target, p, text)
			} else if secretOf(p) > noSecret {
				copyTo(c, target, p, secret)
			}
		}
	}
	writeTarget(c, target, ops)
	return ""
}

// copyTo records the content of a copied file: target may be the file, or its directory.
func copyTo(c *command, target, name, text string) {
	if at := c.resolve(target); strings.Contains(text, secret) && zoneOf(at) == workspace && secretOf(at) == noSecret {
		c.found.leaked = true
	}
	c.made[c.resolve(target)] = of(text)
	c.made[c.resolve(target+"/"+path.Base(name))] = of(text)
}

// writeTarget records the writes of a copy: to target, or to files in it.
func writeTarget(c *command, target string, from list) {
	if p := c.resolve(target); !strings.HasSuffix(target, "/") && len(from) < 2 && !oneOf(p, ".", "..", "~") {
		c.found.write(p)
		return
	}
	for _, a := range from {
		c.write(target + "/" + path.Base(a.s))
	}
}

func copyFiles(c *command) string {
	ops := c.operandsAfter(tables().Takes[c.name]...)
	if c.is("install") && c.has("d", "directory") {
		return create(c)
	}
	target, ops := targetOf(c, ops)
	if c.is("ln") {
		if len(ops) == 0 {
			ops, target = argsOf(target), path.Base(target)
		}
		link(c, ops, target)
	}
	if c.is("rsync") || c.has("r", "R", "a", "recursive", "archive") {
		packsHome(c, ops)
	}
	for _, a := range ops {
		text, own := c.made[c.resolve(a.s)]
		if !own {
			text = c.readFile(a.s)
		}
		if own || text != unknown+filed || under(a.s, "/bin", "/usr/bin", "/sbin", "/usr/sbin") {
			copyTo(c, target, a.s, text)
		}
	}
	if target == "" {
		return ""
	}
	writeTarget(c, target, ops)
	if v, ok := c.option("m", "mode"); ok && c.is("install") {
		rateMode(c, v)
	}
	return ""
}

// rsync follows a copy that may go to another machine and may delete files.
func rsync(c *command) string {
	if v, ok := c.option("e", "rsh"); ok && !strings.HasPrefix(v, "ssh") {
		c.runProgram(c, v)
	}
	ops := c.operandsAfter(tables().Takes[c.name]...)
	for _, a := range ops {
		if strings.Contains(a.s, ":") && !strings.HasPrefix(a.s, "/") {
			return copyBetween(c, ops)
		}
	}
	if c.has("n", "dry-run") {
		return unknown
	}
	if len(ops) > 1 && c.has("remove-source-files", "remove-sent-files") {
		for _, a := range ops[:len(ops)-1] {
			c.remove(a, true)
		}
	}
	if target, _ := targetOf(c, ops); c.has("delete", "delete-after", "delete-before", "delete-excluded") {
		c.remove(arg{s: target}, true)
		if zoneOf(c.resolve(target)) == zoneRoot {
			c.found.hit("delete-workspace", target)
		}
	}
	return copyFiles(c)
}

// packsHome rates the copy of a home, or of a hidden directory in it: the settings of a
// program, often with its credentials.
func packsHome(c *command, from list) {
	for _, a := range from {
		for _, p := range c.places(a) {
			dir, name := path.Split(p)
			if name != ".cache" && strings.HasPrefix(name, ".") {
				p = path.Clean(dir)
			}
			if p == "/" || p == "~" || under(p, "/root", "/etc", "/home", "/Users") && strings.Count(p, "/") == 1 ||
				oneOf(path.Dir(p), "/home", "/Users") {
				c.hit("secret-packed")
			}
		}
	}
}

// link rates the links created by ln. A relative path is resolved from the link, which is
// target itself or a file in it.
func link(c *command, ops list, target string) {
	symbolic := c.has("s", "symbolic")
	for _, a := range ops {
		if to := a.s; symbolic {
			if isKnown(to) && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") {
				to = path.Join(path.Dir(target), to)
			}
			c.link(target, to)
			c.link(path.Join(target, path.Base(a.s)), to)
		}
		inside := !strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~")
		out := symbolic && inside && !strings.HasPrefix(a.s, "/") && isKnown(a.s) &&
			strings.HasPrefix(path.Join(target, a.s), "..")
		out = out || strings.Trim(a.s, "./") == "" && strings.Contains(a.s, "..")
		for _, p := range c.places(a) {
			switch zoneOf(p) {
			case vital, system, home, startup, device:
				out = true
			case outside:
				out = out || symbolic
			}
		}
		if out {
			c.hit("link-outside")
		}
	}
}

// create handles programs that create files.
func create(c *command) string {
	takes := []string{"m", "d", "t", "r", "s", "l", "o", "i", "p", "b", "n", "mode", "date", "reference", "size", "length"}
	if c.is("mkdir", "touch", "install") {
		takes = []string{"m", "t", "r", "mode", "date", "reference"}
	}
	ops := c.operandsAfter(takes...)
	if size, ok := c.option("s", "l", "size", "length"); ok && c.is("truncate", "fallocate") && hugeSize(size) {
		c.hit("exhaust")
	}
	if c.is("mknod") && len(ops) > 0 {
		ops = ops[:1]
		c.hit("machine-settings")
	}
	for _, a := range ops {
		for _, p := range c.places(a) {
			switch at := zoneOf(p); {
			case c.is("mkdir") && (at == startup || at == home || at == runner || at == obeyed || at == above):
				c.found.touch(p)
			default:
				c.found.write(p)
			}
		}
	}
	return ""
}

// permissions handles chmod, chown and chgrp.
func permissions(c *command) string {
	var ops list
	for _, a := range c.list {
		if len(a.s) < 2 || a.s[0] != '-' || a.s[1] != '-' && strings.Trim(a.s[1:], "Rvfch") != "" {
			ops = append(ops, a)
		}
	}
	if _, ok := c.option("reference"); !ok && len(ops) > 0 {
		if c.is("chmod") {
			rateMode(c, ops[0].s)
		}
		ops = ops[1:]
	}
	recursive := c.has("R", "recursive")
	for _, a := range ops {
		for _, p := range c.places(a) {
			at := zoneOf(p)
			if at == nowhere {
				continue
			}
			c.found.touch(p)
			switch {
			case at == vital, at == device, at == system && recursive:
				c.hit("permissions-vital")
			case at == runner:
				c.hit("write-workflow")
			case at >= above && (!c.is("chmod") || recursive || at != home && at != startup):
				c.hit("permissions-outside")
			case at == git, !c.is("chmod"):
				c.hit("permissions-inside")
			}
		}
	}
	return ""
}

// attributes handles access lists and file attributes. Applied recursively to vital
// directories, they have the effect of new permissions.
func attributes(c *command) string {
	c.hit("capability")
	for _, a := range c.operandsAfter("m", "x", "M", "X", "reference") {
		if c.has("R", "recursive") && c.zoneOf(a) == vital {
			c.hit("permissions-vital")
		}
	}
	return ""
}

// rateMode rates a new file mode.
func rateMode(c *command, mode string) {
	open, setID, none := !isKnown(mode), false, false
	if n, err := strconv.ParseUint(mode, 8, 16); err == nil {
		open, setID, none = n&0o002 != 0, n&0o6000 != 0, n&0o700 == 0
	} else if isKnown(mode) {
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
		c.hit("setuid")
	case open:
		c.hit("world-writable")
	case none:
		c.hit("permissions-inside")
	}
}

// listFiles handles ls.
func listFiles(c *command) string {
	var b strings.Builder
	ops := c.operandsAfter("I", "w", "T")
	for _, a := range ops {
		switch {
		case c.resolve(a.s) == "/proc":
			return everyProcess + unknown + "\n"
		case c.has("d") || a.pat != "":
			b.WriteString(a.s + "\n")
		case c.zoneOf(a) != workspace:
			b.WriteString(strings.TrimSuffix(a.s, "/") + "/" + unknown + "\n")
		default:
			b.WriteString("found-" + unknown + "\n")
		}
	}
	if len(ops) == 0 {
		return "found-" + unknown + "\n"
	}
	return b.String()
}

// searchFiles handles find.
func searchFiles(c *command) string {
	i := 0
	var roots list
	for ; i < len(c.list); i++ {
		s := c.at(i)
		if oneOf(s, "-L", "-P", "-H") || strings.HasPrefix(s, "-O") {
			continue
		}
		if s != "" && strings.ContainsRune("-(!,", rune(s[0])) {
			break
		}
		roots = append(roots, c.list[i])
	}
	if len(roots) == 0 {
		roots = argsOf(".")
	}
	filtered := findTests(c, c.list[i:], roots)
	var b strings.Builder
	for _, r := range roots {
		if !filtered {
			b.WriteString(r.s + "\n")
		}
		b.WriteString(foundIn(c, r) + "\n")
	}
	return b.String()
}

func foundIn(c *command, root arg) string {
	if at := c.zoneOf(root); at == workspace || at == zoneRoot || at == temp {
		return "found-" + unknown
	}
	return strings.TrimSuffix(root.s, "/") + "/found-" + unknown
}

// search holds the roots of a find, and whether it filters files.
type search struct {
	roots    list
	filtered bool
}

// findTests follows the expression of find and reports whether it filters files.
func findTests(c *command, tests, roots list) bool {
	filtered := false
	for i := 0; i < len(tests); i++ {
		next := tests.at(i + 1)
		switch s := tests[i].s; s {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			filtered = filtered || strings.Trim(next, "*") != ""
			findHunt(c, next, roots)
			i++
		case "-type":
			filtered = filtered || strings.Trim(next, "fd,") != "" // almost all files are of these types
		case "-delete":
			findDelete(c, search{roots, filtered})
		case "-exec", "-execdir", "-ok", "-okdir":
			findExec(c, tests[i+1:], search{roots, filtered})
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			c.write(next)
		default:
			filtered = filtered || inList("find-tests", s)
		}
	}
	return filtered
}

func findHunt(c *command, term string, roots list) {
	if !hunts(term) && !strings.Contains(term, "id_") {
		return
	}
	for _, r := range roots {
		switch c.zoneOf(r) {
		case workspace, zoneRoot, temp, nowhere:
		default:
			c.hit("secret-hunt")
		}
	}
}

func findDelete(c *command, s search) {
	for _, r := range s.roots {
		for _, p := range c.places(r) {
			switch at := zoneOf(p); {
			case at == zoneRoot && s.filtered:
				c.hit("delete-tree")
			case at == above, s.filtered && at == vital && p == "~":
				c.hit("delete-outside")
			default:
				c.found.remove(p, true)
			}
		}
	}
	c.found.changes = true
}

// findExec follows the command of -exec, with {} as a found file.
func findExec(c *command, args list, s search) {
	end := len(args)
	for i, a := range args {
		if a.s == ";" || a.s == "+" && args.at(i-1) == "{}" {
			end = i
			break
		}
	}
	if end == 0 {
		return
	}
	if oneOf(path.Base(args[0].s), "rm", "unlink", "shred", "rimraf", "srm") {
		findDelete(c.with("find", args[:end]), s)
	}
	for _, r := range s.roots {
		items := []string{foundIn(c, r)}
		if !s.filtered {
			items = append(items, r.s)
		}
		for _, item := range items {
			cmd := make(list, end)
			for i, a := range args[:end] {
				if cmd[i] = a; strings.Contains(a.s, "{}") {
					cmd[i] = arg{s: strings.ReplaceAll(a.s, "{}", item)}
				}
			}
			c.exec(cmd)
		}
	}
}

// archive handles programs that pack and unpack archives.
func archive(c *command) string {
	for _, a := range c.list {
		if _, v, ok := strings.Cut(a.s, "exec="); ok &&
			(strings.Contains(a.s, "checkpoint-a") || strings.HasPrefix(a.s, "exec=")) {
			c.runProgram(c, v)
		}
	}
	switch c.name {
	case "tar", "gtar", "bsdtar":
		tar(c)
		return c.passedOn()
	case "unzip":
		dir, ok := c.option("d")
		if ok && !c.exactly("-l", "-t", "-p", "-Z") {
			unpack(c, dir)
		}
		unpackRemote(c, dir)
		return unknown
	case "zip":
		zip(c)
	}
	for _, a := range c.operandsAfter() { // a downloaded file keeps its mark
		if marks, ok := c.made[c.resolve(a.s)]; ok {
			c.made[c.resolve(strings.TrimSuffix(a.s, path.Ext(a.s)))] = marks
		}
	}
	if !c.has("d", "c", "decompress", "stdout") && !c.is("gunzip") {
		c.found.changes = true
	}
	return c.passedOn()
}

func packed(c *command, name string, from list) {
	if slices.ContainsFunc(from, func(a arg) bool { return holdsCredential(c, a.s) }) {
		c.store(c.resolve(name), secret)
	}
}

func zip(c *command) {
	ops := c.operandsAfter("x", "i").from(1)
	for _, a := range ops {
		if c.has("m", "move") {
			c.remove(a, true)
		}
	}
	if c.has("r", "recurse-paths") {
		packsHome(c, ops)
	}
	packed(c, c.operandsAfter("x", "i").at(0), ops)
}

func tar(c *command) {
	first := c.at(0)
	old := first != "" && first[0] != '-' // options without a dash
	extract := old && strings.Contains(first, "x") || c.has("x", "extract", "get")
	create := old && strings.ContainsAny(first, "cr") || c.has("c", "create", "append", "update")
	dir, inDir := c.option("C", "directory", "cd")
	switch {
	case extract && inDir:
		unpack(c, dir)
	case extract && (c.has("P", "absolute-names") || strings.Contains(first, "P") && first[0] != '/'):
		c.hit("unpack-outside")
	case create:
		tarCreate(c)
	}
	if extract {
		c.found.changes = true
		unpackRemote(c, dir)
	}
}

func tarCreate(c *command) {
	v, ok := c.option("f", "file")
	if first := c.at(0); !ok && first[0] != '-' && strings.HasSuffix(first, "f") && len(c.list) > 1 {
		v, ok = c.at(1), true
	}
	if ok && v != "-" {
		c.write(v)
		packed(c, v, c.operandsAfter("f", "T", "X", "exclude"))
	}
	packsHome(c, c.operandsAfter("f", "T", "X", "exclude"))
	if c.has("remove-files") {
		for _, a := range c.operandsAfter("f", "C", "T", "X", "exclude") {
			c.remove(a, true)
		}
	}
}

// unpackRemote marks a directory into which a downloaded archive is unpacked, so that its
// files count as downloaded.
func unpackRemote(c *command, dir string) {
	if strings.Contains(c.waiting(), remote) ||
		slices.ContainsFunc(c.list, func(a arg) bool { return c.downloaded(c.resolve(a.s)) }) {
		c.made[c.resolve(dir)] = remoteDir
	}
}

func unpack(c *command, dir string) {
	p := c.resolve(dir)
	if in := p + "/x"; zoneOf(in) == obeyed || zoneOf(in) == runner {
		c.found.write(in)
	}
	switch zoneOf(p) {
	case workspace, nowhere, temp, zoneRoot, device:
	default:
		c.found.hit("unpack-outside", dir)
		c.found.touch(p)
	}
}

// pathTool handles basename, dirname, realpath and readlink.
func pathTool(c *command) string {
	ops := c.operandsAfter("s", "relative-to")
	if len(ops) == 0 {
		return unknown
	}
	if c.is("basename") && len(ops) == 2 && isKnown(ops[0].s) {
		return strings.TrimSuffix(path.Base(ops[0].s), ops[1].s) + "\n"
	}
	var b strings.Builder
	for _, a := range ops {
		switch {
		case !isKnown(a.s):
			b.WriteString(opaqueMarks(a.s))
		case c.is("basename"):
			b.WriteString(path.Base(a.s))
		case c.is("dirname"):
			b.WriteString(path.Dir(a.s))
		default:
			b.WriteString(c.resolve(a.s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func makeTemp(_ *command) string { return "/tmp/tmp." + unknown + "\n" }

var jqEnviron = lazily(`(?:^|[^.\w"$])(?:\$ENV|env)\b(\.[A-Za-z_]\w*)?(\s*:)?`)

// jq rates access to the environment in a jq program.
func jq(c *command) string {
	program := c.operandsAfter("arg", "argjson", "indent", "f", "from-file").at(0)
	for _, s := range jqEnviron().FindAllStringSubmatch(program, 8) {
		switch {
		case s[2] != "":
		case s[1] == "":
			c.hit("environment-dump")
			return secret + unknown
		case secretName(s[1]):
			c.hit("secret-shown")
			return secret + unknown
		}
	}
	if len(c.operandsAfter("arg", "argjson", "indent", "f", "from-file")) > 1 {
		return c.passedOn() + filed
	}
	return c.passedOn()
}
