package shell

import (
	"path"
	"strconv"
	"strings"
)

// write records that a path is written and rates it.
func (m *machine) write(p string) {
	at := placeOf(p)
	if at == placeNowhere {
		return
	}
	m.r.writes = addTo(m.r.writes, shownPath(p))
	m.r.changes = true
	switch at {
	case placeVital:
		m.r.hit("write-vital", p)
	case placeDevice:
		m.r.hit("write-device", p)
	case placeSystem:
		m.r.hit("write-system", p)
	case placeStartup:
		m.r.hit("write-startup", p)
	case placeRunner:
		m.r.hit("write-workflow", p)
	case placeGit:
		m.r.hit("write-git", p)
	case placeOutside:
		m.r.hit("write-outside", p)
	case placeHome, placeAbove:
		m.r.hit("write-home", p)
	case placeUnknown:
		m.r.hit("write-unknown", p)
	}
}

func shownPath(p string) string {
	return strings.Map(func(c rune) rune {
		if isMark(c) {
			return '\u2026'
		}
		return c
	}, p)
}

// deletePath records that a path is deleted and rates it.
func (m *machine) deletePath(a arg, recursive bool) {
	for _, p := range m.places(a) {
		m.deleteOne(p, recursive)
	}
	if bare := unmarked(a.s); recursive && bare != a.s && bare != "" {
		if placeOf(m.resolve(bare)) == placeVital {
			m.r.hit("delete-vital", a.s)
		}
	}
}

func (m *machine) deleteOne(p string, recursive bool) {
	at := placeOf(p)
	if at == placeNowhere {
		return
	}
	m.r.writes = addTo(m.r.writes, shownPath(p))
	m.r.changes = true
	switch {
	case at == placeVital, at == placeSystem && recursive, at == placeDevice && !strings.Contains(p, "/loop"):
		m.r.hit("delete-vital", p)
	case at == placeRoot && recursive, p == "..", p == "../*", strings.HasPrefix(p, "../") && strings.Trim(p, "./*") == "" && recursive:
		m.r.hit("delete-workspace", p)
	case at == placeGit && strings.HasSuffix(p, ".lock"):
		m.r.hit("delete-tree", p)
	case at == placeGit:
		m.r.hit("delete-git", p)
	case at == placeStartup && recursive && secretPath(p) == Critical:
		m.r.hit("delete-vital", p)
	case at == placeSystem, at == placeStartup:
		m.r.hit("delete-system", p)
	case at == placeRunner:
		m.r.hit("write-workflow", p)
	case at == placeOutside, at == placeHome, at == placeAbove:
		m.r.hit("delete-outside", p)
	case at == placeUnknown && recursive:
		m.r.hit("delete-unknown", p)
	case at == placeUnknown, recursive, strings.HasPrefix(path.Base(p), "found-"+unknown), strings.Contains(p, "*") && path.Dir(p) == "." && strings.Trim(p, "*") == "":
		m.r.hit("delete-tree", p)
	}
}

// fileCommand follows programs that change files.
func (m *machine) fileCommand(c command) (string, bool) {
	switch c.name {
	case "rm", "unlink", "rmdir", "srm", "trash", "del", "rimraf", "trash-put":
		recursive := c.has("r", "R", "recursive", "dir") || c.name == "rimraf" || c.name == "srm"
		for _, a := range c.operands() {
			m.deletePath(a, recursive)
		}
	case "shred", "scrub", "wipe":
		for _, a := range c.operands("n", "s", "iterations", "size") {
			m.deletePath(a, true)
		}
	case "mv":
		m.move(c)
	case "cp", "install", "ln", "link", "rsync", "gcp", "ditto":
		return m.copy(c), true
	case "touch", "mkdir", "mkfifo", "mknod", "truncate", "fallocate", "patch", "split", "csplit":
		m.create(c)
	case "chmod", "chown", "chgrp", "setfacl", "setcap", "chattr", "setfattr", "chcon":
		m.permissions(c)
	case "dd":
		return m.dd(c), true
	case "tar", "gtar", "bsdtar", "unzip", "7z", "7za", "cpio", "unrar", "zip", "gzip", "gunzip", "bzip2", "xz", "zstd", "ar":
		return m.archive(c), true
	default:
		return "", false
	}
	return "", true
}

func (m *machine) move(c command) {
	ops := c.operands("S", "suffix")
	target, ok := c.value("t", "target-directory")
	if !ok && len(ops) > 0 {
		target, ops = ops[len(ops)-1].s, ops[:len(ops)-1]
	}
	for _, a := range ops {
		for _, p := range m.places(a) {
			switch placeOf(p) {
			case placeVital, placeSystem, placeGit, placeRunner, placeStartup, placeDevice, placeOutside, placeHome, placeAbove, placeRoot:
				if p != "*" && p != "." {
					m.deleteOne(p, placeOf(p) != placeOutside && placeOf(p) != placeHome && placeOf(p) != placeAbove)
				}
			default:
				m.r.writes = addTo(m.r.writes, shownPath(p))
			}
			if text, ok := m.files[p]; ok {
				m.files[m.resolve(target)] = text
				m.files[m.resolve(target+"/"+path.Base(p))] = text
			}
		}
	}
	m.writeTarget(target, ops)
}

// writeTarget records what a copy writes: the target, or files in it.
func (m *machine) writeTarget(target string, from []arg) {
	p := m.resolve(target)
	if strings.HasSuffix(target, "/") || len(from) > 1 || p == "." || p == ".." || p == "~" {
		for _, a := range from {
			m.write(m.resolve(target + "/" + path.Base(a.s)))
		}
		return
	}
	m.write(p)
}

func (m *machine) copy(c command) string {
	ops := c.operands("t", "m", "o", "g", "S", "e", "rsh", "exclude", "include", "target-directory", "suffix", "exclude-from", "files-from", "rsync-path")
	if c.name == "rsync" {
		if v, ok := c.value("e", "rsh"); ok && !strings.HasPrefix(v, "ssh") {
			m.r.hit("program-runs", c.line())
			m.nested(v)
		}
		for _, a := range ops {
			if strings.Contains(a.s, ":") && !strings.HasPrefix(a.s, "/") {
				return m.remoteCopy(c, ops)
			}
		}
	}
	if c.name == "install" && c.has("d", "directory") {
		m.create(c)
		return ""
	}
	target, ok := c.value("t", "target-directory")
	if !ok && len(ops) > 0 {
		target, ops = ops[len(ops)-1].s, ops[:len(ops)-1]
	}
	if c.name == "ln" && len(ops) == 0 {
		ops, target = []arg{{s: target}}, path.Base(target)
	}
	if c.name == "ln" {
		m.link(c, ops, target)
	}
	if c.name == "rsync" || c.has("r", "R", "a", "recursive", "archive") {
		m.packs(c, ops)
	}
	for _, a := range ops {
		text, known := m.files[m.resolve(a.s)]
		if !known {
			text = m.readFile(a.s)
		}
		if text != unknown {
			m.files[m.resolve(target)] = text
			m.files[m.resolve(target+"/"+path.Base(a.s))] = text
		}
	}
	if c.name == "rsync" && c.has("delete", "delete-after", "delete-before", "delete-excluded") {
		m.deletePath(arg{s: target}, true)
		if placeOf(m.resolve(target)) == placeRoot {
			m.r.hit("delete-workspace", target)
		}
	}
	if target != "" {
		m.writeTarget(target, ops)
		if c.name == "install" {
			if mode, ok := c.value("m", "mode"); ok {
				m.mode(c, mode)
			}
		}
	}
	return ""
}

// packs finds copies of directories that hold the credentials of the person
// or of the machine among all else.
func (m *machine) packs(c command, from []arg) {
	for _, a := range from {
		for _, p := range m.places(a) {
			switch p = cleanPath(p); {
			case p == "/", p == "~", under(p, "/root", "/etc", "/home", "/Users") && strings.Count(p, "/") == 1, path.Dir(p) == "/home", path.Dir(p) == "/Users":
				m.r.hit("secret-packed", c.line())
			}
		}
	}
}

// link rates the links that ln makes. A relative one is read from where it
// stands; whether that is the target or a file in it is not known.
func (m *machine) link(c command, ops []arg, target string) {
	for _, a := range ops {
		if c.has("s", "symbolic") && !strings.HasPrefix(a.s, "/") && known(a.s) && strings.HasPrefix(path.Join(target, a.s), "..") && !strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~") {
			m.r.hit("link-outside", c.line())
		}
		if strings.Trim(a.s, "./") == "" && strings.Contains(a.s, "..") {
			m.r.hit("link-outside", c.line())
		}
		for _, p := range m.places(a) {
			switch placeOf(p) {
			case placeVital, placeSystem, placeHome, placeStartup, placeDevice:
				m.r.hit("link-outside", c.line())
			case placeOutside, placeAbove:
				if c.has("s", "symbolic") && placeOf(p) == placeOutside {
					m.r.hit("link-outside", c.line())
				}
			}
		}
	}
}

func (m *machine) create(c command) {
	takes := []string{"m", "d", "t", "r", "s", "l", "o", "i", "p", "b", "n", "mode", "date", "reference", "size", "length"}
	if c.name == "mkdir" || c.name == "touch" || c.name == "install" {
		takes = []string{"m", "t", "r", "mode", "date", "reference"}
	}
	ops := c.operands(takes...)
	if c.name == "patch" || c.name == "split" || c.name == "csplit" {
		for _, o := range []string{"o", "output", "d", "directory"} {
			if v, ok := c.value(o); ok {
				m.write(m.resolve(v))
			}
		}
		if len(ops) > 0 && c.name == "patch" {
			m.write(m.resolve(ops[0].s))
		}
		m.r.changes = true
		return
	}
	if size, ok := c.value("s", "l", "size", "length"); ok && (c.name == "truncate" || c.name == "fallocate") && hugeSize(size) {
		m.r.hit("exhaust", c.line())
	}
	if c.name == "mknod" && len(ops) > 0 {
		ops = ops[:1]
		m.r.hit("machine-settings", c.line())
	}
	for _, a := range ops {
		for _, p := range m.places(a) {
			if c.name == "mkdir" && (placeOf(p) == placeStartup || placeOf(p) == placeHome || placeOf(p) == placeRunner || placeOf(p) == placeAbove) {
				m.r.writes = addTo(m.r.writes, shownPath(p))
				continue
			}
			m.write(p)
		}
	}
}

func hugeSize(s string) bool {
	s = strings.TrimLeft(strings.ToUpper(s), "+")
	s = strings.TrimSuffix(strings.TrimSuffix(s, "B"), "I")
	unit := 0
	if len(s) > 0 {
		unit = strings.IndexByte("KMGTPE", s[len(s)-1]) + 1
	}
	n, err := strconv.ParseFloat(strings.TrimRight(s, "KMGTPE"), 64)
	if err != nil {
		return false
	}
	for range unit {
		n *= 1024
	}
	return n >= 20<<30
}

func (m *machine) dd(c command) string {
	in, out, count := "", "", false
	for _, a := range c.args {
		name, value, _ := strings.Cut(a.s, "=")
		switch name {
		case "if":
			in = value
		case "of":
			out = value
		case "count":
			count = true
		}
	}
	if in != "" && placeOf(m.resolve(in)) == placeDevice && !endlessDevice(in) {
		m.r.hit("read-device", c.line())
	}
	text := ""
	if in != "" {
		text = m.readFile(in)
	} else {
		text = m.stdin()
	}
	if out == "" {
		return text
	}
	p := m.resolve(out)
	m.write(p)
	m.store(p, text, false)
	if endlessDevice(in) && !count && placeOf(p) != placeNowhere {
		m.r.hit("exhaust", c.line())
	}
	m.r.hit("dd", c.line())
	return ""
}

func endlessDevice(p string) bool {
	return p == "/dev/zero" || p == "/dev/urandom" || p == "/dev/random"
}
