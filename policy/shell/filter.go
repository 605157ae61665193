package shell

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// filter computes what the plain text tools print, as far as their input is
// known, so that a program hidden in their output is seen.
func (m *machine) filter(c command) (string, bool) {
	switch c.name {
	case "cat", "zcat", "gzcat", "tac", "rev", "head", "tail", "sort", "uniq", "nl", "fold", "less", "more", "bat", "pv", "sponge", "base64", "base32",
		"xxd", "tr", "cut", "strings", "dos2unix", "paste", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "grep", "egrep", "fgrep", "rg":
	case "which", "type", "command-v":
		return m.which(c), true
	case "pwd":
		v, _ := m.get("PWD")
		return strings.Join(v, "") + "\n", true
	case "basename", "dirname", "realpath", "readlink":
		return m.pathTool(c), true
	case "seq", "yes", "mktemp", "date":
		return m.generator(c), true
	case "openssl":
		if c.exactly("base64", "-base64", "enc") && c.has("d") && c.exactly("base64", "-base64", "-a") {
			return m.convert(command{name: "base64", args: []arg{{s: "-d"}}}, m.stdin()), true
		}
		return "", false
	case "tee":
		return m.tee(c), true
	default:
		return "", false
	}
	if strings.HasSuffix(c.name, "awk") {
		m.awkProgram(c)
	}
	if c.name == "less" || c.name == "more" {
		m.pagerCommand(c)
	}
	if size, ok := c.value("c", "bytes"); ok && c.name == "head" && m.filed && hugeSize(size) {
		m.r.hit("exhaust", c.line())
	}
	if strings.HasSuffix(c.name, "sed") {
		m.sedProgram(c)
	}
	if strings.HasSuffix(c.name, "grep") || c.name == "rg" {
		m.grepHunt(c)
	}
	if out, ok := c.value("o"); ok && c.name == "sort" {
		m.write(m.resolve(out))
	}
	return m.convert(c, m.filterInput(c)), true
}

// filterInput is what a text tool reads: its files, or the standard input.
func (m *machine) filterInput(c command) string {
	var files []arg
	switch c.name {
	case "tr":
		return m.stdin()
	case "base64", "base32":
		files = c.operands("w", "wrap")
	case "paste":
		files = c.operands("d", "delimiters")
	case "tail":
		files = c.operands("n", "c", "s", "lines", "bytes", "pid", "sleep-interval")
	case "cut", "head", "nl", "fold", "sort", "xxd":
		files = c.operands("n", "c", "d", "f", "b", "w", "k", "t", "l", "s", "i", "o")
	case "sed", "gsed", "awk", "gawk", "mawk", "nawk", "grep", "egrep", "fgrep", "rg":
		files = c.operands("e", "f", "F", "v", "A", "B", "C", "m")
		if len(files) > 0 && !c.has("e", "expression") {
			files = files[1:]
		}
	default:
		files = c.operands()
	}
	if len(files) == 0 {
		if !m.given() {
			return unknown
		}
		return m.stdin()
	}
	var b strings.Builder
	for _, f := range files {
		if f.s == "-" {
			b.WriteString(m.stdin())
			continue
		}
		if strings.HasPrefix(f.s, "/dev/zero") || strings.HasPrefix(f.s, "/dev/urandom") || strings.HasPrefix(f.s, "/dev/random") {
			m.endlessInput(c)
		}
		b.WriteString(m.readFile(f.s))
	}
	return b.String()
}

// endlessInput is for tools that read a file without an end.
func (m *machine) endlessInput(c command) {
	if c.name == "head" && (c.has("c") || c.has("n")) || c.name == "tr" {
		return
	}
	m.r.hit("exhaust", c.line())
}

// convert applies a text tool to its input.
func (m *machine) convert(c command, in string) string {
	m.r.step(len(in))
	if strings.HasSuffix(c.name, "awk") && strings.HasPrefix(strings.TrimSpace(awkText(c)), "BEGIN") {
		return awkTool(c, "")
	}
	if strings.HasSuffix(c.name, "grep") && c.has("c", "count", "q", "quiet", "silent") {
		return unknown
	}
	if (strings.HasSuffix(c.name, "grep") || c.name == "rg") && c.has("l", "files-with-matches", "L", "files-without-match", "files") {
		return "found-" + unknown + "\n"
	}
	if c.name == "cut" && c.exactly("-d=") && c.exactly("-f1") {
		return unknown // names, without their values
	}
	if !known(in) {
		switch c.name {
		case "cat", "head", "tail", "tac", "sort", "uniq", "less", "more", "bat", "pv", "nl":
			return in
		case "sed", "gsed", "grep", "tr", "cut", "rg", "egrep", "fgrep":
			if strings.Trim(in, allMarks+"\n") != "" {
				return opaque(in) + unmarked(in)
			}
		}
		return opaque(in)
	}
	switch c.name {
	case "cat", "sort", "uniq", "less", "more", "bat", "pv", "sponge", "nl", "fold", "dos2unix", "strings":
		return in
	case "paste":
		delim, ok := c.value("d", "delimiters")
		if !ok {
			delim = "\t"
		}
		if !c.has("s", "serial") {
			return in
		}
		return strings.ReplaceAll(strings.TrimSuffix(in, "\n"), "\n", decodeEscapes(delim, false)) + "\n"
	case "tac":
		lines := strings.Split(strings.TrimSuffix(in, "\n"), "\n")
		reverse(lines)
		return strings.Join(lines, "\n") + "\n"
	case "rev":
		return eachLine(in, func(l string) string { r := []rune(l); reverse(r); return string(r) })
	case "base64", "base32":
		return baseTool(c, in)
	case "xxd":
		return hexTool(c, in)
	case "tr":
		return translate(c, in)
	case "head", "tail":
		return headTail(c, in)
	case "cut":
		return cutTool(c, in)
	case "sed", "gsed":
		return sedTool(c, in)
	case "awk", "gawk", "mawk", "nawk":
		return awkTool(c, in)
	case "grep", "egrep", "fgrep", "rg":
		return in
	}
	return unknown
}

func reverse[T any](s []T) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

func eachLine(in string, f func(string) string) string {
	lines := strings.Split(strings.TrimSuffix(in, "\n"), "\n")
	for i, l := range lines {
		lines[i] = f(l)
	}
	return strings.Join(lines, "\n") + "\n"
}

func baseTool(c command, in string) string {
	if !c.has("d", "decode", "D") {
		return unknown
	}
	in = strings.Join(strings.Fields(in), "")
	var out []byte
	var err error
	if c.name == "base32" {
		out, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(in, "="))
	} else {
		out, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(in, "="))
	}
	if err != nil {
		return unknown
	}
	return string(out)
}

func hexTool(c command, in string) string {
	if !c.has("r") {
		return unknown
	}
	var b strings.Builder
	for line := range strings.SplitSeq(in, "\n") {
		if _, rest, ok := strings.Cut(line, ": "); ok {
			line, _, _ = strings.Cut(rest, "  ")
		}
		out, err := hex.DecodeString(strings.Join(strings.Fields(line), ""))
		if err != nil {
			return unknown
		}
		b.Write(out)
	}
	return b.String()
}

func headTail(c command, in string) string {
	n := 10
	if v, ok := c.value("n", "lines"); ok {
		n, _ = strconv.Atoi(strings.TrimLeft(v, "+-"))
	} else if v, ok := c.value("c", "bytes"); ok {
		n, _ = strconv.Atoi(strings.TrimLeft(v, "+-"))
		n = min(n, len(in))
		if c.name == "head" {
			return in[:n]
		}
		if strings.HasPrefix(v, "+") {
			return in[max(0, n-1):]
		}
		return in[len(in)-n:]
	} else if len(c.args) > 0 {
		if v, err := strconv.Atoi(strings.TrimLeft(c.args[0].s, "-+")); err == nil {
			n = v
		}
	}
	lines := strings.SplitAfter(in, "\n")
	if c.name == "head" {
		return strings.Join(lines[:min(max(n, 0), len(lines))], "")
	}
	return in
}

func cutTool(c command, in string) string {
	pick, byField := c.value("f", "fields")
	if !byField {
		v, ok := c.value("c", "b", "characters")
		if !ok {
			return unknown
		}
		return eachLine(in, func(l string) string { return strings.Join(picked(strings.Split(l, ""), v), "") })
	}
	delim, ok := c.value("d", "delimiter")
	if !ok {
		delim = "\t"
	}
	return eachLine(in, func(l string) string {
		if !strings.Contains(l, delim) {
			return l
		}
		return strings.Join(picked(strings.Split(l, delim), pick), delim)
	})
}

// picked selects by a list of positions such as 1,3-5.
func picked(all []string, list string) []string {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(from)
		if err != nil {
			lo = 1
		}
		hi := lo
		if isRange {
			if hi, err = strconv.Atoi(to); err != nil {
				hi = len(all)
			}
		}
		for i := max(lo, 1); i <= min(hi, len(all)); i++ {
			out = append(out, all[i-1])
		}
	}
	return out
}

func (m *machine) which(c command) string {
	var b strings.Builder
	for _, a := range c.operands() {
		b.WriteString("/usr/bin/" + programName(a.s) + "\n")
	}
	return b.String()
}

func (m *machine) tee(c command) string {
	in := m.stdin()
	for _, a := range c.operands() {
		if a.s == "-" {
			continue
		}
		for _, p := range m.places(a) {
			if strings.HasPrefix(p, "/dev/tcp/") {
				m.sendOut(in, p)
			}
			m.write(p)
			m.store(p, in, c.has("a"))
		}
	}
	return in
}
