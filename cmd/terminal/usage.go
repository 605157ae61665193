// The usage of the command line: help in each of its usual forms, corrections of wrong
// command lines, and completion.
//
//	usage.go     help and wrong use
//	complete.go  completion
//	shells.go    the completion scripts of shells

package terminal

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// RewriteHelp replaces the word help, before or after a verb, with the flag --help. After a
// verb with arguments, help is an argument.
func RewriteHelp(app *kong.Node, args []string) []string {
	at := app
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			return args
		case strings.HasPrefix(a, "-"):
			if f := flagOf(at, a); f != nil && takesValue(f) && !strings.Contains(a, "=") {
				i++
			}
		case a == "help" && len(at.Positional) == 0:
			return append(slices.Delete(slices.Clone(args), i, i+1), "--help")
		default:
			if at = child(at, a); at == nil {
				return args
			}
		}
	}
	return args
}

// child returns the verb called name below a node, nil if there is none.
func child(at *kong.Node, name string) *kong.Node {
	for _, c := range at.Children {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

// flagOf returns the flag of a verb that a word names, nil if there is none.
func flagOf(at *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for n := at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name ||
				slices.Contains(f.Aliases, strings.TrimPrefix(name, "--")) {
				return f
			}
		}
	}
	return nil
}

// PrintHelp prints the help of kong's context. Verbs come before flags, and those of one verb before
// those that all have.
func PrintHelp(options kong.HelpOptions, ctx *kong.Context) error {
	options.FlagsLast = true
	if at := ctx.Selected(); at != nil {
		root := ctx.Model.Node
		for _, f := range root.Flags {
			f.Group = &kong.Group{Key: "all", Title: "Flags of all verbs:"}
		}
		at.Flags, root.Flags = append(at.Flags, root.Flags...), nil
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

func takesValue(f *kong.Flag) bool { return !f.IsBool() && !f.IsCounter() }

// UsageErrorOf turns kong's err about a command line into a usage error of one line, with a
// suggestion.
func UsageErrorOf(app *kong.Node, args []string, err error) error {
	at := app
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		at = parse.Context.Selected()
	}
	said := rewordError(app, at, args, err.Error())
	return door.Usage("%s (see `%s --help`)", untrusted.EscapeLine(said), path(at))
}

// ShowVerbs lists the verbs if the command line has none.
func ShowVerbs(k *kong.Kong, out io.Writer) error {
	ctx, err := kong.Trace(k, nil)
	if err != nil {
		return door.UsageError{Err: err}
	}
	k.Stdout = out
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return door.Usage("name one of these verbs; `handrail demo` shows a whole story, with nothing to set up")
}

var (
	unexpected = pattern.Lazy(`(?s)^unexpected argument (.*?)(?:, did you mean (?:one of )?.*\?)?$`)
	unknown    = pattern.Lazy(`^unknown flag (\S+?)(?:, did you mean .*\?)?$`)
	valueless  = pattern.Lazy(`^(--\S+): expected .* but got "EOL"`)
	noneOf     = pattern.Lazy(`^(.*) must be one of (.*) but got "(.*)"$`)
	noNumber   = pattern.Lazy(`^(\S+): expected (?:a valid \d+ bit u?int|an int|a float) but got ("[^"]*")`)
	hyphened   = pattern.Lazy(`^(--\S+): expected .* but got "(-.*)" \(`)
)

// rewordError rewrites an error of kong's for the user.
func rewordError(app, at *kong.Node, args []string, said string) string {
	var found []string
	has := func(r func() *regexp.Regexp) bool {
		found = r().FindStringSubmatch(said)
		return found != nil
	}
	switch {
	case strings.HasPrefix(said, "expected ") && len(verbs(at)) > 0:
		return fmt.Sprintf("`%s` needs a verb: %s", path(at), joinOr(names(at)))
	case strings.HasPrefix(said, "expected "):
		return needs(at, strings.TrimPrefix(said, "expected "))
	case len(verbs(at)) > 0 && has(unexpected):
		return noVerb(app, at, args, found[1])
	case has(unexpected):
		return "unexpected argument " + found[1] + unexpectedHint(at)
	case has(noNumber):
		return found[1] + " takes a number, not " + found[2]
	case has(hyphened):
		return fmt.Sprintf("%s needs a value; one that begins with a hyphen is given as %s=%s", found[1], found[1], found[2])
	case has(valueless):
		return found[1] + " needs a value"
	case has(noneOf):
		list := strings.Split(strings.TrimPrefix(strings.ReplaceAll(found[2], `"`, ""), ","), ",") // none is a word, too
		return fmt.Sprintf(`%s is %s, not "%s"%s`, found[1], joinOr(list), found[3], suggestName(found[3], list, ""))
	case has(unknown):
		return "unknown flag " + found[1] + suggestName(strings.TrimLeft(found[1], "-"), flagNames(at), "--")
	}
	return said
}

// unexpectedHint explains an unexpected argument: usually a flag, or the quotes around a text,
// are missing.
func unexpectedHint(at *kong.Node) string {
	for _, f := range at.Flags {
		if f.Name == "task" {
			return `: the task goes behind --task, in quotes, as in --task "fix it"`
		}
	}
	if len(at.Positional) == 1 {
		return ": " + strings.ToUpper(at.Positional[0].Name) + " is one word; put quotes around a text with spaces"
	}
	return ""
}

// needs names and explains the missing argument.
func needs(at *kong.Node, what string) string {
	for _, p := range at.Positional {
		if strings.Contains(what, "<"+p.Name+">") {
			return fmt.Sprintf("`%s` needs %s: %s", path(at), strings.ToUpper(p.Name), strings.TrimSuffix(p.Help, "."))
		}
	}
	return fmt.Sprintf("`%s` needs %s", path(at), what)
}

// suggestName suggests the name that was probably meant by word: a similar one, or one that
// begins with word. It is empty if there is none.
func suggestName(word string, names []string, before string) string {
	near := policy.Nearest(word, names)
	for _, name := range names {
		if len(word) > 1 && strings.HasPrefix(name, word) && !strings.HasPrefix(near, word) {
			near = name
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s%s?", before, near)
}

// noVerb explains that a word is not a verb below a node, and suggests one: a verb of the
// node, or one of the same name elsewhere.
func noVerb(app, at *kong.Node, args []string, word string) string {
	said := "`" + path(at) + "` has no verb \"" + word + "\""
	if run := child(at, "run"); run != nil && strings.Contains(word, " ") { // a task
		return said + ", did you mean " + path(run) + " \"" + word + "\"?"
	}
	if near := suggestName(word, names(at), path(at)+" "); near != "" {
		return said + near
	}
	for _, other := range verbs(app) {
		if c := child(other, word); c != nil && !slices.Contains(args, other.Name) {
			return said + fmt.Sprintf(", did you mean %s?", path(c))
		}
	}
	const most = 8 // readable on one line
	if list := names(at); len(list) <= most {
		said += ": it has " + joinOr(list)
	}
	return said
}

// verbs returns the visible verbs below a node.
func verbs(at *kong.Node) []*kong.Node {
	var out []*kong.Node
	for _, c := range at.Children {
		if !c.Hidden {
			out = append(out, c)
		}
	}
	return out
}

func names(at *kong.Node) []string {
	var out []string
	for _, c := range verbs(at) {
		out = append(out, c.Name)
	}
	return out
}

func flagNames(at *kong.Node) []string {
	var out []string
	for n := at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// path returns the full name of a verb.
func path(at *kong.Node) string {
	if at.Parent == nil {
		return at.Name
	}
	return path(at.Parent) + " " + at.Name
}

// joinOr joins words as in a sentence: a, b or c.
func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
