package shell

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

func removeFiles(c *command) string {
	whole := c.has("r", "R", "recursive", "dir") || c.is("rimraf", "srm", "shred", "scrub", "wipe")
	for _, a := range c.operands() {
		c.remove(a, whole)
	}
	return ""
}

// copyFiles handles the programs that copy, move or link files to a target.
func copyFiles(c *command) string {
	if c.is("install") && c.has("d", "directory") {
		return create(c)
	}
	ops := c.operands()
	target, ok := c.option("t", "target-directory")
	if !ok {
		target, ops = ops.at(len(ops)-1), ops[:max(0, len(ops)-1)]
	}
	if c.is("ln") && len(ops) == 0 {
		ops, target = argsOf(target), path.Base(target)
	}
	if c.is("rsync") || c.has("r", "R", "a", "recursive", "archive") {
		packsHome(c, ops)
	}
	for _, a := range ops {
		switch {
		case c.is("mv"):
			c.acts("move", a)
		case c.has("remove-source-files", "remove-sent-files"):
			c.remove(a, true)
		case c.is("ln"):
			link(c, a, target)
		}
		text, own := c.made[c.resolve(a.s)]
		if !own {
			text = c.readFile(a.s)
		}
		if own || text != unknown+filed || under(a.s, "/bin", "/usr/bin", "/sbin", "/usr/sbin") {
			c.store(c.resolve(target), of(text))
			c.store(c.resolve(target+"/"+path.Base(a.s)), of(text))
		}
	}
	if target != "" {
		writeTarget(c, target, ops)
	}
	if v, ok := c.option("m", "mode"); ok && c.is("install") {
		rateMode(c, v)
	}
	return ""
}

// writeTarget records the writes of a copy: to target, or to files in it.
func writeTarget(c *command, target string, from list) {
	if p := c.resolve(target); !strings.HasSuffix(target, "/") && len(from) < 2 && !oneOf(p, ".", "..", "~") {
		c.found.acts("write", p)
		return
	}
	for _, a := range from {
		c.write(target + "/" + path.Base(a.s))
	}
}

// rsync follows a copy that may go to another machine and may delete files.
func rsync(c *command) string {
	for _, v := range c.options("e", "rsh") {
		if !strings.HasPrefix(v, "ssh") {
			c.runProgram(c, v)
		}
	}
	ops := c.operands()
	if slices.ContainsFunc(ops, func(a arg) bool { return strings.Contains(a.s, ":") && !strings.HasPrefix(a.s, "/") }) {
		return copyBetween(c, ops)
	}
	if c.has("n", "dry-run") || len(ops) == 0 {
		return unknown
	}
	if c.has("delete", "delete-after", "delete-before", "delete-excluded") {
		c.remove(ops[len(ops)-1], true)
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
			if oneOf(p, "/", "~", "/root", "/etc", "/home", "/Users") || oneOf(path.Dir(p), "/home", "/Users") {
				c.hit("secret-packed")
			}
		}
	}
}

// link rates a link created by ln. A relative path is resolved from the link, which is
// target itself or a file in it.
func link(c *command, a arg, target string) {
	verb, to := "link", a.s
	if c.has("s", "symbolic") {
		if verb = "symlink"; isKnown(to) && !startsWith(to, "/", "~") {
			to = path.Join(path.Dir(target), to)
		}
		c.link(target, to)
		c.link(path.Join(target, path.Base(a.s)), to)
	}
	for _, p := range c.places(arg{s: to, pat: a.pat}) {
		c.found.rate(verb, p)
	}
}

// create handles programs that create files.
func create(c *command) string {
	if size, ok := c.option("s", "l", "size", "length"); ok && c.is("truncate", "fallocate") && hugeSize().MatchString(size) {
		c.hit("exhaust")
	}
	c.rated()
	verb := "write"
	if c.is("mkdir") {
		verb = "mkdir"
	}
	c.acts(verb, c.operands()...)
	return ""
}

// permissions handles chmod, chown and chgrp, and access lists: applied recursively, they
// have the effect of new permissions.
func permissions(c *command) string {
	var ops list
	for _, a := range c.list {
		if len(a.s) < 2 || a.s[0] != '-' || a.s[1] != '-' && strings.Trim(a.s[1:], "Rvfch") != "" {
			ops = append(ops, a)
		}
	}
	verb := "owner"
	if c.is("chmod") {
		verb = "mode"
	}
	if _, ok := c.option("reference"); !ok && len(ops) > 0 {
		if c.is("chmod") {
			rateMode(c, ops[0].s)
		}
		ops = ops[1:]
	}
	if c.has("R", "recursive") {
		verb += "-all"
	}
	if c.is("setfacl", "chattr", "chcon") {
		c.hit("capability")
	}
	c.acts(verb, ops...)
	return ""
}

// rateMode rates a new file mode.
func rateMode(c *command, mode string) {
	open, setID, none := !isKnown(mode), false, false
	if n, err := strconv.ParseUint(mode, 8, 16); err == nil {
		open, setID, none = n&0o002 != 0, n&0o6000 != 0, n&0o700 == 0
	} else if isKnown(mode) {
		for part := range strings.SplitSeq(mode, ",") {
			if at := strings.IndexAny(part, "+="); at >= 0 {
				open = open || strings.Contains(part[at:], "w") && strings.ContainsAny(part[:at], "ao")
				setID = setID || strings.Contains(part[at:], "s")
			}
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

// listFiles returns the names that ls prints.
func listFiles(c *command) string {
	ops := c.operands()
	if len(ops) == 0 {
		ops = argsOf(".")
	}
	out := ""
	for _, a := range ops {
		out += strings.Replace(foundIn(c, a), "/found-", "/", 1) + "\n"
	}
	return out
}

// foundIn returns the name of an unknown file in a directory.
func foundIn(c *command, dir arg) string {
	if at := c.zoneOf(dir); at == workspace || at == zoneRoot || at == temp {
		return "found-" + unknown
	}
	return strings.TrimSuffix(dir.s, "/") + "/found-" + unknown
}

// searchFiles handles find: its roots, then the tests and actions of its expression.
func searchFiles(c *command) string {
	start := slices.IndexFunc(c.list, func(a arg) bool {
		return a.s != "" && strings.ContainsRune("-(!,", rune(a.s[0])) && !oneOf(a.s, "-L", "-P", "-H")
	})
	tests := c.from(start)
	if start < 0 {
		start, tests = len(c.list), nil
	}
	roots := c.list[:start].operandsAfter()
	if len(roots) == 0 {
		roots = argsOf(".")
	}
	filtered := false
	found := func() (items list) { // with the roots themselves, if all is found
		for _, r := range roots {
			if at := c.zoneOf(r); !filtered || at == vital && c.resolve(r.s) != "~" {
				items = append(items, r)
			}
			items = append(items, arg{s: foundIn(c, r)})
		}
		return items
	}
	for i := 0; i < len(tests); i++ {
		next := tests.at(i + 1)
		switch s := tests[i].s; s {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			filtered = filtered || strings.Trim(next, "*") != ""
			rateHunt(c, next, roots)
			i++
		case "-type":
			filtered = filtered || strings.Trim(next, "fd,") != "" // almost all files are of these types
		case "-delete":
			c.found.changes = true
			for _, a := range found() {
				c.remove(a, true)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := tests.from(i+1).index(";", "+")
			if end < 0 {
				end = len(tests) - i - 1
			}
			for _, a := range found() {
				if oneOf(path.Base(next), "rm", "unlink", "shred", "rimraf", "srm") {
					c.remove(a, true)
				}
				c.exec(filled(tests[i+1:i+1+end], "{}", a.s))
			}
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			c.write(next)
		default:
			filtered = filtered || inList("find-tests", s)
		}
	}
	return strings.Join(found().words(), "\n") + "\n"
}

// rateHunt rates a search for credentials outside the workspace.
func rateHunt(c *command, term string, dirs list) {
	for _, a := range dirs {
		if hunts(term) || strings.Contains(term, "id_") {
			c.found.rate("hunt", c.resolve(a.s))
		}
	}
}

// archive handles programs that pack and unpack archives.
func archive(c *command) string {
	for _, a := range c.list {
		if _, v, ok := strings.Cut(a.s, "exec="); ok {
			c.runProgram(c, v)
		}
	}
	ops, first := c.operands(), c.at(0)
	name, _ := c.option("f", "file")
	dir, _ := c.option("C", "directory", "cd", "d")
	r, _ := rowOf("archive", c.name)
	extracts, packs := len(r[0]) > 0 && c.fitsAll(r[0]), len(r[1]) > 0 && c.fitsAll(r[1])
	tars := c.is("tar", "gtar", "bsdtar")
	if tars && first != "" && first[0] != '-' { // options without a dash
		if ops = ops.from(1); strings.HasSuffix(first, "f") {
			name, ops = ops.at(0), ops.from(1)
		}
	}
	if c.is("zip") {
		name, ops = ops.at(0), ops.from(1)
	}
	if tars && extracts && (c.has("P", "absolute-names") || strings.Contains(first, "P")) {
		c.hit("unpack-outside")
	}
	switch {
	case extracts:
		c.found.changes = true
		if p := c.resolve(dir); dir != "" {
			c.found.acts("unpack", path.Join(p, "x"))
		}
		if strings.Contains(c.waiting(), remote) ||
			slices.ContainsFunc(c.list, func(a arg) bool { return c.downloaded(c.resolve(a.s)) }) {
			c.made[c.resolve(dir)] = remoteDir // its files count as downloaded
		}
	case packs:
		if name != "" && name != "-" {
			c.write(name)
			if slices.ContainsFunc(ops, func(a arg) bool { return holdsCredential(c, a.s) }) {
				c.store(c.resolve(name), secret)
			}
		}
		packsHome(c, append(argsOf(cmp.Or(dir, ".")), ops...))
		for _, a := range ops {
			if c.has("remove-files", "move") || c.is("zip") && c.has("m") {
				c.remove(a, true)
			}
		}
	default:
		c.found.changes = true
		for _, a := range ops { // a downloaded file keeps its mark
			if p := c.resolve(a.s); c.downloaded(p) {
				c.store(strings.TrimSuffix(p, path.Ext(p)), remote)
			}
		}
	}
	return c.passedOn()
}

// pathTool handles basename, dirname, realpath and readlink.
func pathTool(c *command) string {
	part := map[string]func(string) string{"basename": path.Base, "dirname": path.Dir}[c.name]
	if part == nil {
		part = c.resolve
	}
	out := ""
	for _, a := range c.operandsAfter("s", "relative-to") {
		if isKnown(a.s) {
			out += part(a.s) + "\n"
		} else {
			out += opaqueMarks(a.s) + "\n"
		}
	}
	return out
}

func makeTemp(_ *command) string { return "/tmp/tmp." + unknown + "\n" }
