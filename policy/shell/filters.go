package shell

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

func textTool(c *command) string {
	c.rated()
	if size, ok := c.option("c", "bytes"); ok && c.is("head") && c.filed && hugeSize().MatchString(size) {
		c.hit("exhaust")
	}
	return convertText(c, textInput(c))
}

// hugeSize matches a size that may fill the disk.
var hugeSize = lazily(`(?i)^\+?(?:\d{2,}Gi?B?|\d{5,}Mi?B?|\d{8,}Ki?B?|\d+[TPE]i?B?|\d{11,})$`)

// textInput returns the input of a text tool: its files, or standard input.
func textInput(c *command) string {
	files := c.operands()
	if inList("programmed", c.name) && !c.has("e", "expression") { // the first one is a program text or a pattern
		files = files.from(1)
	}
	if len(files) == 0 || c.is("tr") {
		return c.stdin()
	}
	var b strings.Builder
	for _, a := range files {
		if endlessDevice(a.s) && (!c.is("head") || !c.has("c", "n")) {
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
	switch {
	case strings.Contains(in, everyProcess):
		return in
	case grep && c.has("c", "count", "q", "quiet", "silent"),
		c.is("cut") && c.exactly("-d=") && c.exactly("-f1"): // names without values
		return unknown
	case grep && c.has("l", "files-with-matches", "L", "files-without-match", "files"):
		return "found-" + unknown + "\n"
	case c.is("base64", "base32", "basenc", "gbase64") && c.has("d", "D", "decode"), c.is("xxd") && c.has("r", "revert"):
		return opaqueMarks(in) + hidden
	case inList("text-copiers", c.name), grep && isKnown(in):
		return in
	case isKnown(in) && strings.TrimSpace(in) != "" && !c.is("strings"):
		return unknown + hidden
	}
	return opaqueMarks(in)
}

func tee(c *command) string {
	in := c.stdin()
	for _, a := range c.operandsAfter() {
		c.acts("write", a)
		for _, p := range c.places(a) {
			c.deliver(p, in)
		}
	}
	return in
}

// sed rates sed commands that run programs or write files.
func sed(c *command) string {
	scripts, ops := c.options("e", "expression"), c.operandsAfter("f", "l", "e", "expression")
	file, filed := c.option("f", "file")
	switch {
	case oneOf(file, "-", "/dev/stdin"):
		scripts = append(scripts, c.waiting())
	case filed:
		c.runsFile(c.resolve(file))
	case len(scripts) == 0:
		scripts, ops = append(scripts, ops.at(0)), ops.from(1)
	}
	if c.has("i", "in-place") {
		c.acts("write", ops...)
	}
	for _, s := range scripts {
		sedScript(c, s)
	}
	return textTool(c)
}

// sedScript follows the commands of a sed script that run programs or write files.
func sedScript(c *command, text string) {
	if strip(text) == "" && text != "" {
		c.hit("opaque-code")
	}
	for at := sedAddress(text, 0); at < len(text); at = sedAddress(text, at) {
		verb := text[at]
		at++
		line, _, _ := strings.Cut(text[at:], "\n")
		switch verb {
		case 's', 'y':
			_, at = sedPart(text, at)
			with := ""
			with, at = sedPart(text, at-1)
			flags := text[at : len(text)-len(strings.TrimLeft(text[at:], "gpiImMe0123456789"))]
			if verb == 's' && strings.Contains(flags, "e") {
				c.runProgram(c, strings.ReplaceAll(with, "&", unknown))
			}
			if at += len(flags); verb == 's' && strings.HasPrefix(text[at:], "w") {
				line, _, _ = strings.Cut(text[at+1:], "\n")
				c.write(strings.TrimSpace(line))
				at += 1 + len(line)
			}
		case 'e':
			if at += len(line); strings.TrimSpace(line) == "" {
				line = c.waiting() + unknown
			}
			c.runProgram(c, strings.TrimSpace(line))
		case 'w', 'W':
			c.write(strings.TrimSpace(line))
			at += len(line)
		case 'a', 'i', 'c': // text, continued after a backslash
			at += len(line)
			for at < len(text) && strings.Count(line[len(strings.TrimRight(line, `\`)):], `\`)%2 == 1 {
				line, _, _ = strings.Cut(text[at+1:], "\n")
				at += 1 + len(line)
			}
		case 'r', 'R', '#':
			at += len(line)
		case 'b', 't', 'T', ':':
			label, _, _ := strings.Cut(line, ";")
			at += len(label)
		}
	}
}

// sedAddress returns the index after blanks, brackets and the addresses of a command.
func sedAddress(text string, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '/':
			_, at = sedPart(text, at)
		case c == '\\' && at+1 < len(text):
			_, at = sedPart(text, at+1)
		case strings.IndexByte(" \t\n;{}0123456789$,~+!"+aNumber, c) >= 0:
			at++
			continue
		default:
			return at
		}
		at = len(text) - len(strings.TrimLeft(text[at:], "IM"))
	}
	return at
}

// sedPart returns the text between the delimiter at an index and the next one, and the
// index after that.
func sedPart(text string, at int) (string, int) {
	if at >= len(text) {
		return "", len(text)
	}
	end, class := text[at], false
	var b strings.Builder
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\' && at+1 < len(text):
			if at++; text[at] != end {
				b.WriteByte(c)
			}
		case c == '[' && end != '[' && strings.IndexByte(text[at:], ']') > 0:
			class = true
		case c == ']':
			class = false
		case c == end && !class:
			return b.String(), at + 1
		}
		b.WriteByte(text[at])
	}
	return b.String(), at
}

// awk rates awk code that runs programs or writes files.
func awk(c *command) string {
	text := ""
	file, filed := c.option("f", "file")
	switch {
	case oneOf(file, "-", "/dev/stdin"):
		text = c.waiting()
	case filed:
		c.runsFile(c.resolve(file))
	default:
		text = c.operandsAfter("F", "v", "f", "field-separator", "assign", "file", "i", "include").at(0)
	}
	text += strings.Join(append([]string{""}, c.options("e", "source")...), "\n")
	if text != "" && strings.Trim(text, all) == "" {
		c.hit("opaque-code")
	}
	for _, v := range c.options("v", "assign") {
		if name, value, ok := strings.Cut(v, "="); ok && isKnown(value) {
			text = name + " = " + strconv.Quote(value) + "\n" + text
		}
	}
	scanCode(c, text)
	return textTool(c)
}

// grep rates searches for credentials outside the workspace.
func grep(c *command) string {
	ops := c.operandsAfter("e", "f", "A", "B", "C", "m", "t", "g")
	term, _ := c.option("e", "regexp")
	if term == "" && len(ops) > 0 {
		term, ops = ops[0].s, ops[1:]
	}
	if c.has("r", "R", "recursive") || c.is("rg") {
		rateHunt(c, term, ops)
		if slices.ContainsFunc(ops, func(a arg) bool { return c.resolve(a.s) == "~" }) {
			c.hit("secret-hunt")
		}
	}
	return textTool(c)
}

func yes(c *command) string {
	if c.filed {
		c.hit("exhaust")
	}
	words := cmp.Or(strings.Join(c.words(), " "), "y") + "\n"
	return words + words
}
