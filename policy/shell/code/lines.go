package code

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// scriptCall adds what a line of an editor's script does.
func (p *Program) scriptCall(kind Kind, name, text string, line int) {
	text = strings.TrimSpace(text)
	if len(p.Calls) > maxStrings || text == "" && kind == Write {
		return
	}
	arg := Arg{Text: text, Plain: true}
	if text == "" {
		arg = Arg{Text: lex.Gap}
	}
	p.Calls = append(p.Calls, Call{Kind: kind, Name: name, Args: []Arg{arg}, Line: line})
	if text != "" {
		p.Strings = append(p.Strings, text)
	}
}

// readSed finds the commands of a sed script that run programs and write
// files.
func readSed(text string, p *Program) {
	line := 1
	for i := 0; i < len(text); {
		start := i
		i = sedAddress(text, i)
		if i >= len(text) {
			return
		}
		c := text[i]
		i++
		rest := text[i:]
		if at := strings.IndexByte(rest, '\n'); at >= 0 {
			rest = rest[:at]
		}
		switch c {
		case 's', 'y':
			i = sedSubstitute(text, i, p, line)
		case 'e':
			p.scriptCall(Shell, "e", rest, line)
			i += len(rest)
		case 'w', 'W':
			p.scriptCall(Write, "w", rest, line)
			i += len(rest)
		case 'r', 'R':
			p.Strings = append(p.Strings, strings.TrimSpace(rest))
			i += len(rest)
		case 'a', 'i', 'c':
			i += len(rest)
			for strings.HasSuffix(rest, `\`) && !strings.HasSuffix(rest, `\\`) && i < len(text) { // the text goes on
				rest, _, _ = strings.Cut(text[i+1:], "\n")
				i += 1 + len(rest)
			}
		case '#', ':', 'b', 't', 'T', 'q', 'Q', 'l', 'L', 'v':
			end := strings.IndexAny(rest, ";}")
			if end < 0 || c == '#' {
				end = len(rest)
			}
			i += end
		}
		i = min(max(i, start+1), len(text))
		line += strings.Count(text[start:i], "\n")
	}
}

// sedAddress steps over white space and the addresses of a command.
func sedAddress(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == '/' || c == '\\':
			d := c
			if c == '\\' {
				if i++; i >= len(s) {
					return i
				}
				d = s[i]
			}
			i = sedDelimited(s, i+1, d)
			for i < len(s) && (s[i] == 'I' || s[i] == 'M') {
				i++
			}
		case lex.Digit(c) || c >= 0x80 || strings.IndexByte(" \t\n;{}!,$~+", c) >= 0:
			i++
		default:
			return i
		}
	}
	return i
}

// sedDelimited returns where the text after the delimiter d goes on.
func sedDelimited(s string, i int, d byte) int {
	class := false
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[' && !class:
			class = strings.IndexByte(s[i:min(len(s), i+256)], ']') > 0 && d != '['
			if class && strings.HasPrefix(s[i+1:], "]") {
				i++
			}
		case s[i] == ']':
			class = false
		case s[i] == d && !class:
			return i + 1
		}
	}
	return i
}

// sedSubstitute reads s/…/…/ and its flags: e runs the result, w writes it.
func sedSubstitute(s string, i int, p *Program, line int) int {
	if i >= len(s) {
		return i
	}
	d := s[i]
	from := sedDelimited(s, i+1, d)
	to := from
	for to < len(s) && s[to] != d {
		if s[to] == '\\' {
			to++
		}
		to++
	}
	with := strings.NewReplacer("\\"+string(d), string(d), "\\n", "\n", "\\&", "&").Replace(s[min(from, len(s)):min(to, len(s))])
	i = min(to+1, len(s))
	if to >= len(s) {
		p.Opaque = true
		return i
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'w':
			file, _, _ := strings.Cut(s[i+1:], "\n")
			p.scriptCall(Write, "s///w", file, line)
			return i + 1 + len(file)
		case c == 'e':
			p.scriptCall(Shell, "s///e", with, line)
			if c := &p.Calls[len(p.Calls)-1]; strings.ContainsAny(with, "&\\") || s[i] == 'e' {
				c.Args[0].Plain = false // what it does not match stays in the line
			}
		case strings.IndexByte("gpiImM0123456789", c) < 0:
			return i
		}
	}
	return i
}

// readEditor finds the lines of an editor's or a debugger's script that run
// programs and write files.
func readEditor(text string, p *Program, nested int) {
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		n++
		l = strings.TrimLeft(strings.TrimSpace(l), ":+ ")
		word, rest, _ := strings.Cut(l, " ")
		head, code, bang := strings.Cut(l, "!")
		head = strings.Trim(head, "%.$,0123456789'<> ")
		if bang && (head == "" || strings.HasPrefix(head, "sil") || strings.HasPrefix(head, "te") || strings.Contains(" r read w write ", " "+head+" ") && (strings.Contains(l, " !") || head[0] == 'r')) {
			p.scriptCall(Shell, "!", code, n)
			continue
		}
		switch word = strings.TrimRight(strings.TrimLeft(word, "%,.$0123456789"), "!"); word {
		case "w", "wq", "x", "write", "saveas", "sav", "up", "update", "W":
			rest = strings.TrimPrefix(strings.TrimSpace(rest), ">>")
			p.scriptCall(Write, "w", rest, n)
		case "so", "source", "ru", "runtime", "luafile", "pyfile", "py3file":
			p.scriptCall(Load, word, rest, n)
		case "shell", "platform", "terminal", "te":
			p.scriptCall(Shell, word, strings.TrimPrefix(rest, "shell "), n)
		case "python", "py", "py3", "python3", "script":
			readText(lex.Python, rest, p, nested+1)
		case "lua":
			readText(lex.Lua, rest, p, nested+1)
		case "perl":
			readText(lex.Perl, rest, p, nested+1)
		case "ruby", "rub":
			readText(lex.Ruby, rest, p, nested+1)
		default:
			if strings.Contains(l, "(") {
				readText(lex.Other, l, p, nested+1)
			}
		}
	}
}
