package custom

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// params are the parameters of a command.
type params struct {
	named bool // list is complete
	list  []param
	hint  string // for readers, if there is no list
	all   bool   // the text has $ARGUMENTS
	last  int    // highest number in the text
}

type param struct {
	name     string
	optional bool // "name?"
	rest     bool // "name...": all remaining words
}

var paramName = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_-]{0,30}$`)

func readParam(text string, last bool) (param, error) {
	p := param{name: text}
	p.name, p.optional = strings.CutSuffix(p.name, "?")
	for _, mark := range []string{"...", "…"} {
		if name, ok := strings.CutSuffix(p.name, mark); ok {
			p.name, p.rest = name, true
		}
	}
	switch {
	case !paramName().MatchString(p.name):
		return p, fmt.Errorf(
			"%q is not one word such as version, version? for an optional one, or files... for all the rest",
			text,
		)
	case p.rest && !last:
		return p, fmt.Errorf("%q takes all the rest, so it has to be the last one", text)
	}
	return p, nil
}

// placeholder matches a reference to the user's words. A backslash before it escapes it.
var placeholder = pattern.Lazy(`\\?\$(?:([1-9][0-9]?)|([A-Za-z_]{3,}))`)

// braced matches the shell's form of a placeholder.
var braced = pattern.Lazy(`\$\{(ARGUMENTS|[1-9][0-9]?)\}`)

// check returns the text of a command, or the error in it. at is the line of the file on
// which body begins.
func (p *params) check(body string, at int) (string, error) {
	text, _ := untrusted.CleanPlain(body) // characters that are invisible in a review are dropped
	text = strings.TrimSpace(text)
	if text == "" {
		return "", fmt.Errorf("line %d: the command has no text", at)
	}
	for i, line := range strings.Split(body, "\n") {
		if m := braced().FindStringSubmatch(line); m != nil {
			return "", fmt.Errorf("line %d: %s is not known, did you mean $%s?", at+i, m[0], m[1])
		}
		for _, m := range placeholder().FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(m[0], `\`) {
				continue
			}
			if err := p.use(m[1], m[2]); err != nil {
				return "", fmt.Errorf("line %d: %w", at+i, err)
			}
		}
	}
	return text, nil
}

// use records one placeholder: its number or its name.
func (p *params) use(number, name string) error {
	if n, _ := strconv.Atoi(number); n > 0 {
		p.last = max(p.last, n)
		if p.named && n > len(p.list) {
			return fmt.Errorf("$%d has no argument in the header, which has %d", n, len(p.list))
		}
		return nil
	}
	p.all = p.all || name == "ARGUMENTS"
	upper := strings.ToUpper(name)
	if name != "ARGUMENTS" && (nearWord(upper, "ARGUMENTS") || upper == "ARGS" || upper == "ARG") {
		return fmt.Errorf("$%s is not known, did you mean $ARGUMENTS?", name)
	}
	if p.named && len(p.list) == 0 && name == "ARGUMENTS" {
		return errors.New("$ARGUMENTS needs arguments, and the header has none")
	}
	return nil
}

// usage returns the syntax of the arguments.
func (p *params) usage() string {
	var out []string
	for _, one := range p.list {
		name := one.name
		if one.rest {
			name += "…"
		}
		if one.optional {
			name = "[" + name + "]"
		} else {
			name = "<" + name + ">"
		}
		out = append(out, name)
	}
	switch {
	case p.named:
	case p.hint != "":
		return p.hint
	case p.all:
		return "…"
	default:
		for i := range p.last {
			out = append(out, fmt.Sprintf("<%d>", i+1))
		}
	}
	return strings.Join(out, " ")
}

// parseArgs splits the user's words into arguments. wrong is the reason why they do not fit,
// as the rest of a sentence that begins with the command's name.
func (p *params) parseArgs(said string) (list []string, wrong string) {
	list = fields(said)
	least, most := 0, len(p.list)
	for _, one := range p.list {
		if !one.optional {
			least++
		}
		if one.rest {
			most = len(list)
		}
	}
	if !p.named {
		least, most = p.last, len(list)
		if p.last == 0 && !p.all && p.hint == "" {
			most = 0
		}
	}
	switch {
	case len(list) > most && most == 0:
		return nil, usage.NoArguments
	case len(list) > most:
		return nil, fmt.Sprintf(usage.FewerArguments, count(most), len(list))
	case len(list) < least:
		return nil, "needs " + count(least)
	}
	if n := len(p.list); n > 0 && p.list[n-1].rest && len(list) > n {
		list = append(list[:n-1:n-1], strings.Join(list[n-1:], " "))
	}
	return list, ""
}

func count(n int) string {
	if n == 1 {
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// fields splits a text into words. A quoted text is one word.
func fields(said string) []string {
	var out []string
	for _, m := range quotedOrWord().FindAllStringSubmatch(said, -1) {
		word := m[0]
		for _, inner := range m[1:] {
			if inner != "" {
				word = inner
			}
		}
		out = append(out, word)
	}
	return out
}

var quotedOrWord = pattern.Lazy(`"([^"]+)"|“([^”]+)”|'([^'\s][^']*)'(?:\s|$)|\S+`)

// expand replaces the placeholders in the text once: placeholders in the user's words are
// left alone. Words of several lines are not inserted; they are below the text.
func (p *params) expand(text, said string, list []string) string {
	return placeholder().ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, `\`) {
			return m[1:]
		}
		n, err := strconv.Atoi(m[1:])
		switch {
		case m == "$ARGUMENTS":
			return oneLine(said)
		case err != nil:
			return m
		case n <= len(list):
			return oneLine(list[n-1])
		}
		return ""
	})
}

// maxInserted is the maximum number of bytes of the user's words inserted into a text.
const maxInserted = 500

func oneLine(said string) string {
	if strings.Contains(said, "\n") || len(said) > maxInserted {
		return "(the words of the person, below)"
	}
	return said
}
