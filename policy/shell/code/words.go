package code

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/code/vocabulary"
)

// readWords finds the commands of a language whose texts are commands and
// their words, as the shell's are.
func readWords(lang lex.Language, text string, p *Program, nested int) {
	w := &words{lang: lang, s: text, p: p, line: 1, nested: nested}
	w.commands()
}

type words struct {
	lang   lex.Language
	s      string
	i      int
	line   int
	p      *Program
	nested int
	called bool  // the call operator stands before the command
	text   bool  // the command starts with a quoted text
	piped  []Arg // what comes through a pipe: the paths that stand at its beginning
}

// commands reads the whole text.
func (w *words) commands() {
	var cmd []Arg
	for w.i < len(w.s) {
		c := w.s[w.i]
		switch {
		case c == '\n' || c == ';' || w.lang == lex.Powershell && strings.IndexByte("|&{}()=", c) >= 0:
			w.command(cmd)
			w.pipe(cmd, c)
			cmd, w.called = nil, c == '&'
			if c == '\n' {
				w.line++
			}
			w.i++
		case c == ' ' || c == '\t' || c == '\r':
			w.i++
		case c == '#' && len(cmd) == 0:
			for w.i < len(w.s) && w.s[w.i] != '\n' {
				w.i++
			}
		default:
			if len(cmd) == 0 {
				w.text = c == '"' || c == '\''
			}
			cmd = append(cmd, w.word())
		}
	}
	w.command(cmd)
}

// word reads one word with its quotes, and the programs inside of it.
func (w *words) word() Arg {
	var b strings.Builder
	plain := true
	for w.i < len(w.s) {
		c := w.s[w.i]
		switch {
		case strings.IndexByte(" \t\r\n;", c) >= 0, w.lang == lex.Powershell && strings.IndexByte("|&{}()=", c) >= 0 && b.Len() > 0:
			return Arg{Text: b.String(), Plain: plain}
		case c == '"', c == '\'' && w.lang == lex.Powershell:
			text, ok := w.quoted(c)
			b.WriteString(text)
			plain = plain && ok
		case w.lang == lex.Tcl && (c == '[' || c == '{' && b.Len() == 0):
			b.WriteString(w.enclosed(c))
			plain = plain && c == '{'
		case c == '$':
			b.WriteString(lex.Gap)
			plain = false
			w.skipName()
		case w.escapes(c) && w.i+1 < len(w.s):
			b.WriteByte(w.s[w.i+1])
			w.i += 2
		default:
			b.WriteByte(c)
			w.i++
		}
	}
	return Arg{Text: b.String(), Plain: plain}
}

func (w *words) escapes(c byte) bool {
	return c == '\\' && w.lang == lex.Tcl || c == '`' && w.lang == lex.Powershell
}

func (w *words) skipName() {
	w.i++
	for w.i < len(w.s) && (lex.Letter(w.s[w.i]) || lex.Digit(w.s[w.i]) || w.s[w.i] == ':') {
		w.i++
	}
}

// enclosed reads what stands in brackets: a text in curly ones may be a
// program, one in square ones is.
func (w *words) enclosed(c byte) string {
	end := w.bracket()
	inner := w.s[w.i+1 : end]
	if strings.Contains(inner, " ") {
		w.inside(inner)
	}
	w.i = min(end+1, len(w.s))
	if c == '{' {
		return inner
	}
	return lex.Gap
}

func (w *words) inside(text string) {
	if w.p.read += len(text); w.nested >= lex.MaxNested || w.p.read > maxInner {
		w.p.Opaque = true
		return
	}
	readWords(w.lang, text, w.p, w.nested+1)
}

// bracket finds the end of the bracket that opens here.
func (w *words) bracket() int {
	depth := 0
	for n := w.i; n < len(w.s); n++ {
		switch w.s[n] {
		case '\\':
			n++
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return n
			}
		}
	}
	w.p.Opaque = true
	return len(w.s)
}

// quoted reads a text between quotation marks.
func (w *words) quoted(q byte) (string, bool) {
	var b strings.Builder
	plain := true
	for w.i++; w.i < len(w.s); w.i++ {
		c := w.s[w.i]
		switch {
		case c == q:
			w.i++
			if s := b.String(); s != "" && len(w.p.Strings) < maxStrings {
				w.p.Strings = append(w.p.Strings, s)
			}
			return b.String(), plain
		case (c == '\\' && w.lang == lex.Tcl || c == '`' && q == '"') && w.i+1 < len(w.s):
			w.i++
			if at := strings.IndexByte("nt", w.s[w.i]); at >= 0 {
				b.WriteByte("\n\t"[at])
			} else {
				b.WriteByte(w.s[w.i])
			}
		case c == '[' && w.lang == lex.Tcl, c == '$' && q == '"':
			plain = false
			b.WriteString(lex.Gap)
			if c == '[' {
				end := w.bracket()
				w.inside(w.s[w.i+1 : min(end, len(w.s))])
				w.i = min(end, len(w.s)-1)
			}
		default:
			b.WriteByte(c)
		}
	}
	w.p.Opaque = true
	return b.String(), false
}

// command records what a command does.
func (w *words) command(cmd []Arg) {
	if len(cmd) == 0 || len(w.p.Calls) > maxStrings {
		return
	}
	add := func(kind Kind, args []Arg) {
		w.p.Calls = append(w.p.Calls, Call{Kind: kind, Name: cmd[0].Text, Args: args, Line: w.line})
	}
	if w.lang == lex.Powershell {
		w.cmdlet(cmd, add)
		return
	}
	name, sub := strings.TrimPrefix(cmd[0].Text, "::"), Arg{}
	if len(cmd) > 1 {
		sub = cmd[1]
	}
	kind, ok := tclCalls[name]
	switch {
	case !cmd[0].Plain && sub.Text != "" && strings.Trim(sub.Text, "+-*/%<>=!&|?") == "": // an expression
	case !cmd[0].Plain:
		add(Exec, cmd)
	case ok:
		add(kind, tclWords(cmd[1:]))
	case name == "open" && strings.HasPrefix(sub.Text, "|"):
		add(Shell, []Arg{{Text: sub.Text[1:], Plain: sub.Plain}})
	case name == "open" && len(cmd) > 2 && strings.ContainsAny(cmd[2].Text, "wa+"):
		add(Write, cmd[1:2])
	case strings.Contains(" eval uplevel subst after ", " "+name+" ") && len(cmd) > 1:
		w.evaluate(cmd[1:], add)
	}
	switch name + " " + sub.Text {
	case "file delete":
		add(DeleteTree, tclWords(cmd[2:]))
	case "file rename", "file copy":
		add(Write, cmd[len(cmd)-1:])
	case "while 1", "while true":
		w.p.Endless = true
	}
}

// tclCalls are the commands of Tcl that matter by their name alone.
var tclCalls = map[string]Kind{"exec": Exec, "spawn": Exec, "source": Load, "load": Load, "socket": Connect, "cd": Chdir, "fork": Fork}

// evaluate reads the text that the words make.
func (w *words) evaluate(args []Arg, add func(Kind, []Arg)) {
	var text []string
	for _, a := range args {
		if !a.Plain {
			add(Eval, args)
			return
		}
		text = append(text, a.Text)
	}
	w.inside(strings.Join(text, " "))
}

// tclWords leaves out the options of exec and file delete.
func tclWords(args []Arg) []Arg {
	for len(args) > 1 && (args[0].Text == "-force" || args[0].Text == "--" || args[0].Text == "-ignorestderr" || args[0].Text == "-keepnewline") {
		args = args[1:]
	}
	return args
}

// cmdlets are the commands of PowerShell that matter; others with a hyphen
// between two words are its own.
var cmdlets = map[string]Kind{
	"remove-item": DeleteTree, "ri": DeleteTree, "rd": DeleteTree, "del": DeleteTree, "erase": DeleteTree, "clear-content": Write, "clear-disk": DeleteTree, "format-volume": DeleteTree,
	"set-content": Write, "sc": Write, "out-file": Write, "add-content": Write, "new-item": Write, "move-item": DeleteTree, "copy-item": Write,
	"start-process": Exec, "saps": Exec, "start": Exec, "start-job": Exec, "invoke-command": Exec, "icm": Exec,
	"invoke-webrequest": Fetch, "iwr": Fetch, "invoke-restmethod": Fetch, "irm": Fetch, "send-mailmessage": Send, "test-netconnection": Connect,
	"stop-process": Signal, "spps": Signal, "stop-computer": Signal, "restart-computer": Signal, "set-location": Chdir,
}

// own are the words of PowerShell that start no program.
var own = " if else elseif foreach for while do switch return function param try catch finally throw break continue in write-output echo write-host select where sort measure cd pwd ls dir cat gc gci ft fl process begin end true false "

// pipe remembers what goes through a pipe, up to the end of the statement.
func (w *words) pipe(cmd []Arg, end byte) {
	switch {
	case end == ';' || end == '\n':
		w.piped = nil
	case end == '|' && w.piped == nil:
		w.piped = pipedPaths(cmd)
	}
}

// deleted are the paths that a command deletes: those it names, or those that
// come through a pipe.
func (w *words) deleted(named []Arg) []Arg {
	if len(w.piped) > 0 && (len(named) == 0 || !named[0].Plain) {
		return w.piped
	}
	return named
}

// pipedPaths are the paths that a command of PowerShell lists or is, or none.
func pipedPaths(cmd []Arg) []Arg {
	var out []Arg
	for i, a := range cmd {
		if a.Plain && a.Text != "" && a.Text[0] != '-' && (i > 0 || strings.ContainsAny(a.Text, "/~\\")) {
			out = append(out, a)
		}
	}
	return out
}

// cmdlet records what a command of PowerShell does. What is none of its own
// commands is a program.
func (w *words) cmdlet(cmd []Arg, add func(Kind, []Arg)) {
	name := strings.ToLower(strings.TrimSuffix(cmd[0].Text, ".exe"))
	rest := make([]Arg, 0, len(cmd))
	for _, a := range cmd[1:] {
		if !strings.HasPrefix(a.Text, "-") {
			rest = append(rest, a)
		}
	}
	kind, ok := cmdlets[name]
	switch {
	case w.text && !w.called:
	case ok && kind == DeleteTree:
		add(kind, w.deleted(rest))
	case ok:
		add(kind, rest)
	case (name == "invoke-expression" || name == "iex") && len(rest) > 0:
		w.evaluate(rest, add)
	case name == "invoke-expression" || name == "iex":
		add(Eval, []Arg{{Text: lex.Gap}})
	case strings.Contains(own, " "+name+" "), name == "", strings.ContainsAny(name[:1], "[-@%?.0123456789<>+*,:!'\"") && !strings.HasPrefix(name, "./"), vocabulary.PowerShell(name):
	case !cmd[0].Plain:
		if w.called {
			add(Exec, cmd)
		}
	default:
		add(Exec, cmd)
	}
	if name == "while" {
		w.p.Endless = true
	}
}
