package testrun

import (
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	// rejected matches "./a.go:11:6: undefined: x", "a.rb:3: syntax error, …" and "a.py:2: NameError".
	rejected = pattern.Lazy(
		`(?:^|\s)((?:/|\./)?[\w@+.-]+(?:/[\w@+.-]+)*\.[A-Za-z]\w*):` +
			`(\d{1,6}):(?:\d+: | ?(?:syntax error|SyntaxError|NameError))(.*)`,
	)
	// mild matches messages of compilers that are no errors.
	mild = pattern.Lazy(`^(?:warning|note|info)\b`)
	// raised matches the line that names the error of an interpreter.
	raised = pattern.Lazy(
		`^(?:E\s|\s)*(?:Uncaught )?` +
			`(SyntaxError|IndentationError|TabError|NameError|UnboundLocalError|ReferenceError)(?: \[\w+\])?:`,
	)
	// frame matches a line of a stack: "    at f (/a.js:2:3)", "    a.rb:3:in 'f'".
	frame = pattern.Lazy(`^\s+at |:\d+:in `)
)

// Limits of the search for the place of an error, and of its words.
const (
	maxAboveError = 8   // lines between the place and the error
	maxSaid       = 5   // lines
	maxSaidBytes  = 600 // bytes
)

// Faults returns the lines of files at which compilers, parsers and interpreters complain about the
// code itself, in the order of the output, each once. Tests have none.
func Faults(output string) (out []session.Fault) {
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		f, ok := rejectedAt(lines, i)
		if m := raised().FindStringSubmatch(line); !ok && m != nil {
			f, ok = raisedAt(lines, i, m[1] == "ReferenceError" || m[1] == "NameError")
		}
		if !ok || workspace.IsTest(f.Path) {
			continue
		}
		same := func(have session.Fault) bool { return have.Path == f.Path && have.Line == f.Line }
		if n := slices.IndexFunc(out, same); n < 0 {
			out = append(out, f)
		} else if said := out[n].Says + "\n" + f.Says; len(said) <= maxSaidBytes && !strings.Contains(out[n].Says, f.Says) {
			out[n].Says = said
		}
	}
	return out
}

// rejectedAt reads the complaint of a compiler in line i, with the indented lines below it.
func rejectedAt(lines []string, i int) (session.Fault, bool) {
	m := rejected().FindStringSubmatch(lines[i])
	if m == nil || mild().MatchString(m[3]) {
		return session.Fault{}, false
	}
	end := i + 1
	for end < len(lines) && end-i < maxSaid && strings.TrimSpace(lines[end]) != "" &&
		strings.ContainsAny(lines[end][:1], " \t>") && !rejected().MatchString(lines[end]) {
		end++
	}
	return faultAt(Place{m[1], number(m[2])}, lines[i:end])
}

// raisedAt finds the place of the error that line i names: the nearest one above, or the first frame
// below if there are frames.
func raisedAt(lines []string, i int, framed bool) (session.Fault, bool) {
	if framed {
		for at := i + 1; at < len(lines) && frame().MatchString(lines[at]); at++ {
			for _, p := range Places(lines[at]) {
				if !workspace.IsTest(p.Path) {
					return faultAt(p, lines[i:i+1])
				}
			}
		}
	}
	for at := i - 1; at >= max(0, i-maxAboveError); at-- {
		if found := Places(lines[at]); len(found) > 0 {
			return faultAt(found[0], lines[max(at, i+1-maxSaid):i+1])
		}
	}
	return session.Fault{}, false
}

func faultAt(p Place, said []string) (session.Fault, bool) {
	text := strings.TrimRight(strings.Join(said, "\n"), "\n")
	if len(text) > maxSaidBytes {
		text = strings.ToValidUTF8(text[:maxSaidBytes], "")
	}
	return session.Fault{Path: p.Path, Line: p.Line, Says: text}, p.Line > 0
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
