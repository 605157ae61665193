package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completions that the shell does itself.
const (
	files = ":files"
	dirs  = ":dirs"
)

// CompleteVerb is the hidden verb with which shell scripts ask for completions.
const CompleteVerb = "__complete"

// Complete writes the possible next words, one per line, each with its help after a tab.
// The last of words is the one being typed. A line ":files" or ":dirs" leaves the
// completion to the shell. known returns the values for the name of an argument, such as
// "session".
func Complete(out io.Writer, app *kong.Node, words []string, known func(name string) []string) error {
	if n := len(words); n > 0 && words[n-1] == "=" {
		words[n-1] = ""
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" }) // bash passes = as a word
	if len(words) == 0 {
		words = []string{""}
	}
	c := completion{at: app, word: words[len(words)-1], known: known}
	if before := words[:len(words)-1]; len(before) > 0 || c.word != "" {
		c.read(before)
	}
	for _, line := range c.next() {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// completion is the state of a parsed command line.
type completion struct {
	at       *kong.Node
	word     string     // being typed
	flag     *kong.Flag // the flag that word is the value of; may be nil
	given    []string   // flags so far
	argument int        // number of arguments so far
	plain    bool       // after "--"
	known    func(name string) []string
}

func (c *completion) read(words []string) {
	for _, w := range words {
		f := flagOf(c.at, w)
		switch {
		case c.flag != nil:
			c.flag = nil
		case c.plain:
			c.argument++
		case w == "--":
			c.plain = true
		case strings.HasPrefix(w, "-") && f == nil:
		case strings.HasPrefix(w, "-"):
			c.given = append(c.given, f.Name)
			if takesValue(f) && !strings.Contains(w, "=") {
				c.flag = f
			}
		case w == "help":
		case child(c.at, w) != nil:
			c.at = child(c.at, w)
		default:
			c.argument++
		}
	}
}

// next returns the completions for the word being typed.
func (c *completion) next() []string {
	name, value, equals := strings.Cut(c.word, "=")
	switch f := flagOf(c.at, name); {
	case c.flag != nil:
		return c.values(c.flag.Value, c.word, "")
	case c.plain:
		return c.arguments()
	case strings.HasPrefix(c.word, "-") && equals && f != nil:
		return c.values(f.Value, value, name+"=")
	case strings.HasPrefix(c.word, "-"):
		return c.flags()
	case len(verbs(c.at)) > 0:
		var out []string
		for _, v := range verbs(c.at) {
			out = c.offer(out, v.Name, v.Help)
		}
		return out
	}
	return c.arguments()
}

// offer adds a word if it begins with the typed one.
func (c *completion) offer(to []string, word, help string) []string {
	if !strings.HasPrefix(word, c.word) || strings.ContainsAny(word, "\t\n") {
		return to
	}
	help, _, _ = strings.Cut(help, "\n")
	return append(to, word+"\t"+help)
}

func (c *completion) flags() []string {
	var out []string
	for n := c.at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden && (f.IsCumulative() || !slices.Contains(c.given, f.Name)) {
				out = c.offer(out, "--"+f.Name, f.Help)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (c *completion) arguments() []string {
	list := c.at.Positional
	if c.argument >= len(list) {
		if len(list) == 0 || !list[len(list)-1].IsCumulative() {
			return nil
		}
		c.argument = len(list) - 1
	}
	return c.values(list[c.argument], c.word, "")
}

// values returns the possible values of a flag or an argument.
func (c *completion) values(v *kong.Value, typed, before string) []string {
	c.word = before + typed
	var out []string
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word != "" {
				out = c.offer(out, before+word, "")
			}
		}
		return out
	}
	for _, word := range c.known(v.Name) {
		word, help, _ := strings.Cut(word, "\t")
		out = c.offer(out, before+word, help)
	}
	switch {
	case v.Tag != nil && v.Tag.Type == "path" && isDirectory(v.Name):
		out = append(out, dirs)
	case v.Tag != nil && v.Tag.Type == "path",
		v.Flag == nil && slices.Contains([]string{"session", "files", "place", "in", "file"}, v.Name):
		out = append(out, files)
	}
	return out
}

// isDirectory reports whether a flag or an argument of this name takes a directory.
func isDirectory(name string) bool { return slices.Contains([]string{"repo", "data", "dir"}, name) }
