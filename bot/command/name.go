package command

import (
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
)

// nameOf is a word as the name of a model, such as "qwen3:8b" or "org/name".
var nameOf = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,120}$`)

// TakesName reads a name, which is one word: "model qwen3:8b". Nothing is a question
// for the names that there are.
func TakesName(c *Command, rest string) error {
	line, more := cutLine(rest)
	var said []string
	for _, word := range strings.Fields(line) {
		word = strings.Trim(strings.TrimRight(word, ",;!?."), "`*")
		if word != "" && !polite[strings.ToLower(word)] && !strings.EqualFold(word, "to") && word != "=" {
			said = append(said, word)
		}
	}
	switch {
	case len(said) > 1:
		return errNotArgument
	case len(said) == 0:
	case !nameOf.MatchString(said[0]):
		return wrong(usage.NoName, c.Name, inCodeSpan(said[0]), prefix, c.Name)
	default:
		c.IDs = said
	}
	c.Text = more
	return nil
}
