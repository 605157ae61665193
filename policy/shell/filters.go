package shell

import (
	"strconv"
	"strings"
)

func textTool(c *command) string {
	if size, ok := c.option("c", "bytes"); ok && c.is("head") && c.filed && hugeSize(size) {
		c.hit("exhaust")
	}
	return convertText(c, textInput(c))
}

// hugeSize reports whether a size may fill the disk.
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

// textInput returns the input of a text tool: its files, or standard input.
func textInput(c *command) string {
	files := c.operandsAfter(tables().Takes[c.name]...)
	switch {
	case c.is("tr"):
		return c.stdin()
	case inList("programmed", c.name) && !c.has("e", "expression"): // the first one is a program text or a pattern
		files = files.from(1)
	}
	if len(files) == 0 {
		return c.stdin()
	}
	var b strings.Builder
	for _, a := range files {
		if a.s == "-" {
			b.WriteString(c.stdin())
			continue
		}
		endless := strings.HasPrefix(a.s, "/dev/zero") || strings.HasPrefix(a.s, "/dev/urandom") ||
			strings.HasPrefix(a.s, "/dev/random")
		if endless && (!c.is("head") || !c.has("c", "n")) {
			c.hit("exhaust")
		}
		b.WriteString(c.readFile(a.s))
	}
	return b.String()
}

// convertText returns the output of a text tool for an input, as far as possible. Changing
// a known text hides it.
func convertText(c *command, in string) string {
	c.found.step(len(in))
	grep := strings.HasSuffix(c.name, "grep") || c.is("rg")
	decodes := c.is("base64", "base32", "basenc", "gbase64") && c.has("d", "D", "decode") ||
		c.is("xxd") && c.has("r", "revert")
	switch {
	case strings.Contains(in, everyProcess):
		return in
	case grep && c.has("c", "count", "q", "quiet", "silent"),
		c.is("cut") && c.exactly("-d=") && c.exactly("-f1"): // names without values
		return unknown
	case grep && c.has("l", "files-with-matches", "L", "files-without-match", "files"):
		return "found-" + unknown + "\n"
	case decodes:
		return opaqueMarks(in) + hidden
	case c.is("cat", "head", "tail", "tac", "sort", "uniq", "less", "more", "bat", "pv", "nl", "sponge"),
		grep && isKnown(in):
		return in
	case isKnown(in) && strings.TrimSpace(in) != "" && !c.is("strings"):
		return unknown + hidden
	}
	return opaqueMarks(in)
}

func tee(c *command) string {
	in := c.stdin()
	for _, a := range c.operandsAfter() {
		if a.s == "-" {
			continue
		}
		for _, p := range c.places(a) {
			if strings.HasPrefix(p, "/dev/tcp/") && strings.Contains(in, secret) {
				c.found.hit("secret-sent", p)
			}
			c.found.write(p)
			c.store(p, in)
		}
	}
	return in
}

func pager(c *command) string {
	for _, a := range c.list {
		if code, ok := strings.CutPrefix(a.s, "+!"); ok {
			c.runProgram(c, code)
		}
	}
	return textTool(c)
}

// sed rates sed commands that run programs or write files.
func sed(c *command) string {
	if len(c.line()) > 8192 {
		c.found.exhaust()
	}
	scripts := c.options("e", "expression")
	ops := c.operandsAfter("f", "l", "e", "expression")
	if len(scripts) == 0 && !c.has("e", "expression", "f", "file") {
		scripts, ops = append(scripts, ops.at(0)), ops.from(1)
	}
	for _, a := range ops {
		if c.has("i", "in-place") {
			for _, p := range c.places(a) {
				c.found.write(p)
			}
		}
	}
	if file, ok := c.option("f", "file"); ok {
		if file == "-" || file == "/dev/stdin" {
			scripts = append(scripts, c.waiting())
		} else {
			c.runsFile(c.resolve(file))
		}
	}
	for _, s := range scripts {
		sedScript(c, s)
	}
	return textTool(c)
}

// sedScript follows the commands of a sed script that run programs or write files.
func sedScript(c *command, text string) {
	if strings.Trim(text, all) == "" && text != "" {
		c.hit("opaque-code")
	}
	for at := 0; at < len(text); {
		for at < len(text) && strings.IndexByte(" \t\n;{}", text[at]) >= 0 {
			at++
		}
		at = sedAddress(text, at)
		if at >= len(text) {
			return
		}
		verb := text[at]
		at++
		line, _, _ := strings.Cut(text[at:], "\n")
		switch verb {
		case 's', 'y':
			if at >= len(text) {
				return
			}
			_, at = sedPart(text, at)
			with := ""
			with, at = sedPart(text, at-1)
			for at < len(text) && strings.IndexByte("gpiImMe0123456789", text[at]) >= 0 {
				if verb == 's' && text[at] == 'e' {
					c.runProgram(c, strings.ReplaceAll(with, "&", unknown))
				}
				at++
			}
			if verb == 's' && at < len(text) && text[at] == 'w' {
				line, _, _ = strings.Cut(text[at+1:], "\n")
				c.write(strings.TrimSpace(line))
				at += 1 + len(line)
			}
		case 'e':
			if line = strings.TrimSpace(line); line == "" {
				line = c.waiting() + unknown
			}
			c.runProgram(c, line)
			at += len(line) + 1
		case 'w', 'W':
			c.write(strings.TrimSpace(line))
			at += len(line)
		case 'a', 'i', 'c': // text, continued after a backslash
			for strings.HasSuffix(line, "\\") && (len(line)-len(strings.TrimRight(line, "\\")))%2 == 1 && at+len(line) < len(text) {
				at += len(line) + 1
				line, _, _ = strings.Cut(text[at:], "\n")
			}
			at += len(line)
		case 'r', 'R', 'b', 't', 'T', ':', '#':
			if i := strings.IndexByte(line, ';'); i >= 0 && verb != '#' && verb != 'r' && verb != 'R' {
				line = line[:i]
			}
			at += len(line)
		}
	}
}

// sedAddress returns the index after the addresses of a command.
func sedAddress(text string, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '/':
			_, at = sedPart(text, at)
		case c == '\\' && at+1 < len(text):
			_, at = sedPart(text, at+1)
		case strings.IndexByte("0123456789$,~+! \t"+aNumber, c) >= 0:
			at++
			continue
		default:
			return at
		}
		for at < len(text) && strings.IndexByte("IM", text[at]) >= 0 {
			at++
		}
	}
	return at
}

// sedPart returns the text between the delimiter at an index and the next one, and the
// index after that.
func sedPart(text string, at int) (string, int) {
	if at >= len(text) {
		return "", at
	}
	end, class := text[at], false
	var b strings.Builder
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text):
			at++
			if text[at] != end {
				b.WriteByte(c)
			}
			b.WriteByte(text[at])
		case c == '[' && end != '[' && at+1 < len(text) && strings.IndexByte(text[at:], ']') > 0:
			class = true
			b.WriteByte(c)
		case c == ']':
			class = false
			b.WriteByte(c)
		case c == end && !class:
			return b.String(), at + 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), at
}

// awk rates awk code that runs programs or writes files.
func awk(c *command) string {
	text := ""
	ops := c.operandsAfter("F", "v", "f", "field-separator", "assign", "file", "i", "include")
	if file, ok := c.option("f", "file"); !ok {
		text = ops.at(0)
	} else if file == "-" || file == "/dev/stdin" {
		text = c.waiting()
	} else {
		c.runsFile(c.resolve(file))
	}
	for _, v := range c.options("e", "source") {
		text += "\n" + v
	}
	if text != "" && strings.Trim(text, all) == "" {
		c.hit("opaque-code")
	}
	if strings.Contains(text, "/inet") {
		c.found.network = true
		if strings.Contains(text, "getline") {
			c.hit("reverse-shell")
		} else {
			c.hit("socket")
		}
	}
	scanCode(c, awkVariables(c)+text)
	return textTool(c)
}

func awkVariables(c *command) string {
	var b strings.Builder
	for _, v := range c.options("v", "assign") {
		if name, value, ok := strings.Cut(v, "="); ok && isKnown(value) {
			b.WriteString(name + " = " + strconv.Quote(value) + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "BEGIN {\n" + b.String() + "}\n"
}

// grep rates searches for credentials outside the workspace.
func grep(c *command) string {
	ops := c.operandsAfter("e", "f", "A", "B", "C", "m", "t", "g")
	term, _ := c.option("e", "regexp")
	if term == "" && len(ops) > 0 {
		term, ops = ops[0].s, ops[1:]
	}
	if c.has("r", "R", "recursive") || c.is("rg") {
		for _, a := range ops {
			switch c.zoneOf(a) {
			case vital, system, home, startup, outside, above:
				if hunts(term) || c.resolve(a.s) == "~" {
					c.hit("secret-hunt")
				}
			}
		}
	}
	return textTool(c)
}

func yes(c *command) string {
	if c.filed {
		c.hit("exhaust")
	}
	words := strings.Join(c.words(), " ")
	if words == "" {
		words = "y"
	}
	return words + "\n" + words + "\n"
}
