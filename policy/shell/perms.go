package shell

import (
	"path"
	"strconv"
	"strings"
)

// permissions follows programs that change modes, owners and attributes.
func (m *machine) permissions(c command) {
	switch c.name {
	case "setfacl", "setcap", "chattr", "setfattr", "chcon":
		m.r.hit("capability", c.line())
		return
	}
	recursive := c.has("R", "recursive")
	args := c.args
	var ops []arg
	for _, a := range args {
		if len(a.s) > 1 && a.s[0] == '-' && (a.s[1] == '-' || strings.Trim(a.s[1:], "Rvfch") == "") {
			continue
		}
		ops = append(ops, a)
	}
	if _, ok := c.value("reference"); !ok && len(ops) > 0 {
		mode := ops[0].s
		ops = ops[1:]
		if c.name == "chmod" {
			m.mode(c, mode)
		}
	}
	for _, a := range ops {
		for _, p := range m.places(a) {
			m.changeOwner(c, p, recursive)
		}
	}
}

func (m *machine) changeOwner(c command, p string, recursive bool) {
	at := placeOf(p)
	if at == placeNowhere {
		return
	}
	m.r.writes = addTo(m.r.writes, shownPath(p))
	switch at {
	case placeVital, placeDevice:
		m.r.hit("permissions-vital", c.line())
	case placeSystem:
		if recursive {
			m.r.hit("permissions-vital", c.line())
		} else {
			m.r.hit("permissions-outside", c.line())
		}
	case placeOutside, placeAbove:
		m.r.hit("permissions-outside", c.line())
	case placeRunner:
		m.r.hit("write-workflow", c.line())
	case placeGit:
		m.r.hit("permissions-inside", c.line())
	case placeHome, placeStartup:
		if c.name != "chmod" || recursive {
			m.r.hit("permissions-outside", c.line())
		}
	default:
		if c.name != "chmod" {
			m.r.hit("permissions-inside", c.line())
		}
	}
}

// mode rates a new file mode.
func (m *machine) mode(c command, mode string) {
	open, setID, none := false, false, false
	if n, err := strconv.ParseUint(mode, 8, 16); err == nil {
		open, setID = n&0o002 != 0, n&0o6000 != 0
		none = n&0o700 == 0
	} else if !known(mode) {
		open = true
	} else {
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
		m.r.hit("setuid", c.line())
	case open:
		m.r.hit("world-writable", c.line())
	case none:
		m.r.hit("permissions-inside", c.line())
	}
}

// archive follows programs that pack and unpack.
func (m *machine) archive(c command) string {
	for _, a := range c.args {
		for _, o := range []string{"--to-command=", "--use-compress-program=", "--info-script=", "--new-volume-script=", "--rsh-command=", "--unzip-command="} {
			if v, ok := strings.CutPrefix(a.s, o); ok {
				m.archiveProgram(c, v)
			}
		}
		if _, v, ok := strings.Cut(a.s, "exec="); ok && strings.Contains(a.s, "checkpoint-action") || ok && strings.HasPrefix(a.s, "exec=") {
			m.r.hit("program-runs", c.line())
			m.nested(v)
		}
	}
	switch c.name {
	case "tar", "gtar", "bsdtar":
		return m.tar(c)
	case "unzip":
		v, ok := c.value("d")
		if ok && !c.has("l", "t", "p", "Z") {
			m.unpack(v)
		}
		m.unpackRemote(c, v)
		return unknown
	case "zip":
		if c.has("m", "move") {
			for _, a := range c.operands("x", "i")[min(1, len(c.operands("x", "i"))):] {
				m.deletePath(a, true)
			}
		}
		if ops := c.operands("x", "i"); len(ops) > 1 && c.has("r", "recurse-paths") {
			m.packs(c, ops[1:])
		}
		if v, ok := c.value("TT", "unzip-command"); ok {
			m.archiveProgram(c, v)
		}
	case "cpio":
		if c.has("absolute-filenames") && c.has("i", "extract") {
			m.r.hit("unpack-outside", c.line())
		}
		if v, ok := c.value("D", "directory"); ok && c.has("i", "extract") {
			m.unpack(v)
		}
	}
	if c.has("d", "c", "decompress", "stdout") || c.name == "gunzip" {
		return m.passOn(c)
	}
	m.r.changes = true
	return m.passOn(c)
}

func (m *machine) archiveProgram(c command, v string) {
	switch programName(strings.Fields(v + " x")[0]) {
	case "gzip", "pigz", "zstd", "xz", "bzip2", "pbzip2", "lz4", "zstdmt", "pixz", "lbzip2", "less", "more", "cat":
		return
	}
	m.r.hit("program-runs", c.line())
	m.nested(v)
}

func (m *machine) tar(c command) string {
	extract, create := false, false
	for i, a := range c.args {
		if i == 0 && !strings.HasPrefix(a.s, "-") {
			extract, create = strings.Contains(a.s, "x"), strings.Contains(a.s, "c") || strings.Contains(a.s, "r")
		}
	}
	extract = extract || c.has("x", "extract", "get")
	create = create || c.has("c", "create", "append", "update")
	if v, ok := c.value("I"); ok {
		m.archiveProgram(c, v)
	}
	dir, inDir := c.value("C", "directory", "cd")
	switch {
	case extract && inDir:
		m.unpack(dir)
	case extract && (c.has("P", "absolute-names") || strings.Contains(c.args[0].s, "P") && c.args[0].s[0] != '/'):
		m.r.hit("unpack-outside", c.line())
	case create:
		v, ok := c.value("f", "file")
		if first := c.args[0].s; !ok && first[0] != '-' && strings.HasSuffix(first, "f") && len(c.args) > 1 {
			v, ok = c.args[1].s, true
		}
		if ok && v != "-" {
			m.write(m.resolve(v))
		}
		m.packs(c, c.operands("f", "T", "X", "exclude"))
		if c.has("remove-files") {
			for _, a := range c.operands("f", "C", "T", "X", "exclude") {
				m.deletePath(a, true)
			}
		}
	}
	if extract {
		m.r.changes = true
		m.unpackRemote(c, dir)
	}
	return m.passOn(c)
}

// unpackRemote remembers a directory into which a downloaded archive was
// unpacked: what runs from there comes from the network.
func (m *machine) unpackRemote(c command, dir string) {
	found := m.given() && strings.Contains(m.in.text[m.in.pos:], remote)
	for _, a := range c.args {
		found = found || strings.Contains(m.files[m.resolve(a.s)], remote)
	}
	if found {
		m.files[m.resolve(dir)] = remoteDir
	}
}

func (m *machine) unpack(dir string) {
	p := m.resolve(dir)
	switch at := placeOf(p); at {
	case placeVital, placeSystem, placeHome, placeStartup, placeOutside, placeAbove, placeUnknown, placeGit, placeRunner:
		m.r.hit("unpack-outside", dir)
		m.r.writes = addTo(m.r.writes, shownPath(p))
	}
}

// findCommand follows find and its relatives.
func (m *machine) findCommand(c command) (string, bool) {
	switch c.name {
	case "find", "gfind":
		return m.find(c), true
	case "fd", "fdfind":
		roots := (command{args: c.args}).operands("e", "E", "t", "d", "x", "X", "exec", "extension", "type", "exclude", "max-depth")
		if roots = roots[min(1, len(roots)):]; len(roots) == 0 || roots[0].s == "rm" {
			roots = []arg{{s: "."}}
		}
		for i, a := range c.args {
			if (a.s == "-x" || a.s == "-X" || a.s == "--exec" || a.s == "--exec-batch") && i+1 < len(c.args) {
				m.findExec(withItem(c.args[i+1:]), roots, !baseIs(c.args[0].s, ".", "*", "-x", "-X"))
			}
		}
		return "found-" + unknown, true
	case "ls", "dir", "exa", "eza", "lsd":
		return m.list(c), true
	case "locate", "plocate", "mlocate":
		if secretHunt(c.line()) {
			m.r.hit("secret-hunt", c.line())
		}
		return unknown, true
	}
	return "", false
}

// withItem adds the place of what was found to a command without one.
func withItem(args []arg) []arg {
	for _, a := range args {
		if strings.Contains(a.s, "{") {
			return args
		}
	}
	return append(append([]arg(nil), args...), arg{s: "{}"})
}

func (m *machine) list(c command) string {
	var b strings.Builder
	ops := c.operands("I", "w", "T")
	for _, a := range ops {
		switch {
		case c.has("d") || a.pat != "":
			b.WriteString(a.s + "\n")
		case placeOf(m.resolve(a.s)) != placeWorkspace:
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

func (m *machine) find(c command) string {
	i := 0
	var roots []arg
	for ; i < len(c.args); i++ {
		s := c.args[i].s
		if s == "-L" || s == "-P" || s == "-H" || strings.HasPrefix(s, "-O") {
			continue
		}
		if s != "" && strings.ContainsRune("-(!,", rune(s[0])) {
			break
		}
		roots = append(roots, c.args[i])
	}
	if len(roots) == 0 {
		roots = []arg{{s: "."}}
	}
	tests := c.args[i:]
	filtered := m.findTests(c, tests, roots)
	var b strings.Builder
	for _, r := range roots {
		if !filtered {
			b.WriteString(r.s + "\n")
		}
		if at := placeOf(m.resolve(r.s)); at == placeWorkspace || at == placeRoot || at == placeTemp {
			b.WriteString("found-" + unknown + "\n")
		} else {
			b.WriteString(strings.TrimSuffix(r.s, "/") + "/found-" + unknown + "\n")
		}
	}
	return b.String()
}

// findTests follows the expression of find and reports whether it selects.
func (m *machine) findTests(c command, tests []arg, roots []arg) bool {
	filtered := false
	for i := 0; i < len(tests); i++ {
		s := tests[i].s
		next := ""
		if i+1 < len(tests) {
			next = tests[i+1].s
		}
		switch s {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			filtered = filtered || strings.Trim(next, "*") != ""
			m.findHunt(c, next, roots)
			i++
		case "-newer", "-mtime", "-size", "-empty", "-user", "-mmin", "-atime", "-ctime", "-amin", "-cmin", "-anewer", "-cnewer", "-newermt", "-xtype",
			"-nouser", "-nogroup", "-lname", "-ilname", "-inum", "-samefile":
			filtered = true
		case "-type":
			filtered = filtered || strings.Trim(next, "fd,") != "" // few files are anything else
		case "-delete":
			m.findDelete(c, roots, filtered)
		case "-exec", "-execdir", "-ok", "-okdir":
			m.findExec(tests[i+1:], roots, filtered)
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			m.write(m.resolve(next))
		}
	}
	return filtered
}

func (m *machine) findHunt(c command, term string, roots []arg) {
	if !secretHunt(term) && !strings.Contains(term, "id_") {
		return
	}
	for _, r := range roots {
		switch placeOf(m.resolve(r.s)) {
		case placeWorkspace, placeRoot, placeTemp, placeNowhere:
		default:
			m.r.hit("secret-hunt", c.line())
		}
	}
}

func (m *machine) findDelete(c command, roots []arg, filtered bool) {
	for _, r := range roots {
		for _, p := range m.places(r) {
			switch at := placeOf(p); {
			case at == placeRoot && filtered:
				m.r.hit("delete-tree", c.line())
			case filtered && (at == placeAbove || at == placeVital && p == "~"):
				m.r.hit("delete-outside", c.line())
			case at == placeAbove:
				m.r.hit("delete-outside", c.line())
			default:
				m.deleteOne(p, true)
			}
		}
	}
	m.r.changes = true
}

// findExec follows the command of -exec: {} is what was found.
func (m *machine) findExec(args []arg, roots []arg, filtered bool) {
	end := len(args)
	for i, a := range args {
		if a.s == ";" || a.s == "+" && i > 0 && args[i-1].s == "{}" {
			end = i
			break
		}
	}
	if end == 0 {
		return
	}
	switch path.Base(args[0].s) {
	case "rm", "unlink", "shred", "rimraf", "srm":
		m.findDelete(command{name: "find", args: args[:end]}, roots, filtered)
	}
	for _, r := range roots {
		at := placeOf(m.resolve(r.s))
		item := strings.TrimSuffix(r.s, "/") + "/found-" + unknown
		if at == placeRoot || at == placeWorkspace || at == placeTemp {
			item = "found-" + unknown
		}
		items := []string{item}
		if !filtered {
			items = append(items, r.s)
		}
		for _, it := range items {
			cmd := make([]arg, end)
			for i, a := range args[:end] {
				cmd[i] = arg{s: strings.ReplaceAll(a.s, "{}", it)}
				if !strings.Contains(a.s, "{}") {
					cmd[i] = a
				}
			}
			m.exec(cmd)
		}
	}
}
