package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	ident     = pattern.Lazy(`^[0-9a-z-]{1,40}$`)
	identLike = pattern.Lazy(`^(?:[a-z2-7]{8}|[0-9a-f]{6})$`)
	digit     = pattern.Lazy(`[0-9]`)
	commit    = pattern.Lazy(`^[0-9a-f]{7,40}$`)
	// modelName matches names such as "qwen3:8b" or "org/name".
	modelName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,120}$`)
	// pathLike matches words that can only be the name of a file or a directory.
	pathLike = pattern.Lazy(`^(?:[\w@+.\-]*[/.][\w@+./\-]*\w/?|[\w@+.\-]+/)$`)
)

// requestID returns a word as the id of a request.
func requestID(word string) string { return strings.Trim(strings.ToLower(word), "`<>#.,;:!*_~") }

// isAnother reports whether a word after an id can only be another id: ids have a digit,
// and words that may be a condition have none.
func isAnother(word string) bool { return identLike().MatchString(word) && digit().MatchString(word) }

// takesAnother reports whether a word is another id. If there are several ids, all of
// them have a digit, so that "approve not ID" names none.
func (c *Command) takesAnother(word string) bool {
	return len(c.IDs) > 0 && digit().MatchString(c.IDs[0]) && isAnother(word) //control:ids-are-no-words
}

// ids takes ids, or "all", off the front of a line. first decides on the first id.
func (c *Command) ids(line string, first func(word string) bool) (behind string) {
	for {
		line = strings.TrimLeft(strings.TrimSpace(line), ", ")
		i := strings.IndexAny(line, ", \t\u00a0")
		word, rest := line, ""
		if i >= 0 {
			word, rest = line[:i], line[i:]
		}
		id := requestID(word)
		switch {
		case len(c.IDs) == 0 && id == "all":
			c.All = true
			return rest
		case len(c.IDs) == 0 && first(id), c.takesAnother(id):
			if !slices.Contains(c.IDs, id) {
				c.IDs = append(c.IDs, id)
			}
		default:
			return line
		}
		line = rest
	}
}

// TakesIDs reads the ids of requests, "all", or nothing for the only request.
func TakesIDs(c *Command, rest string) error {
	line := strings.TrimLeftFunc(firstLine(rest), isPause)
	behind := c.ids(line, ident().MatchString)
	switch {
	case strings.TrimLeftFunc(behind, isPause) == "":
		return nil
	case len(c.IDs) > 0 && digit().MatchString(c.IDs[0]): // words about a request may be a condition
		ids := strings.Join(c.IDs, " ")
		return &Error{
			Public: fmt.Sprintf(usage.Condition+usage.ListIs, prefix, c.Name, ids, prefix, ids, prefix),
			Beside: true,
		}
	}
	return errMisfit
}

// inCodeSpan returns a word for display between backticks.
func inCodeSpan(word string) string { return clip(strings.ReplaceAll(word, "`", "")) }

// TakesIDsAndReason reads the ids of requests, "all", or nothing for the only request,
// and then the reason.
func TakesIDsAndReason(c *Command, rest string) error {
	line, more, _ := strings.Cut(rest, "\n")
	line = strings.TrimSpace(strings.TrimLeftFunc(line, isPause))
	behind := c.ids(line, func(id string) bool {
		return ident().MatchString(id) && (digit().MatchString(id) || identLike().MatchString(id) && id == requestID(line))
	})
	reason := strings.TrimLeftFunc(behind, func(r rune) bool { return isPause(r) || r == '-' })
	c.Text = strings.TrimSpace(reason + "\n" + more)
	return nil
}

// TakesCount reads a number of turns.
func TakesCount(c *Command, rest string) error {
	line, _ := cutLine(rest)
	if line == "" {
		return wrong(usage.NoCount, prefix, c.Name)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(line, "+"))
	switch {
	case err != nil || strings.Contains(firstLine(rest), "?"):
		return errMisfit
	case n < 1 || n > 1000:
		return wrong("`%s %s`: write a number from 1 to 1000", c.Name, inCodeSpan(line))
	}
	c.Count = n
	return nil
}

// TakesCommit reads the id of a commit. Without one, the command is an approval that
// names no commit.
func TakesCommit(c *Command, rest string) error {
	line, _ := cutLine(rest)
	switch id := requestID(line); {
	case id == "":
	case commit().MatchString(id):
		c.IDs = []string{id}
	case digit().MatchString(id) && strings.Trim(id, "0123456789abcdef") == "":
		return wrong(usage.BadCommit, c.Name, clip(id))
	default:
		return errMisfit
	}
	return nil
}

// TakesCheckpoints reads the number of checkpoints, or the names of files in them.
// Nothing means all files of the last one. Names without a dot or a slash need backticks,
// since "undo tests" may as well be a task.
func TakesCheckpoints(c *Command, rest string) error {
	line, more, _ := strings.Cut(rest, "\n")
	c.Text = strings.TrimSpace(more)
	for _, word := range strings.Fields(line) {
		if word = strings.TrimRightFunc(word, isMark); word == "" {
			continue
		}
		path := strings.Trim(word, "`")
		n, err := strconv.Atoi(path)
		switch {
		case err == nil && c.Name == "keep":
			return wrong(usage.KeepFiles, c.Name, inCodeSpan(word))
		case err == nil && (n < 1 || n > 1000):
			return wrong("`%s %s`: write a number from 1 to 1000", c.Name, inCodeSpan(word))
		case err == nil:
			c.Count = n
		case path != word || pathLike().MatchString(path):
			c.Paths = append(c.Paths, strings.Trim(strings.TrimPrefix(path, "./"), "/"))
		default:
			return errMisfit
		}
	}
	return nil
}

// TakesName reads a name, which is one word: "model qwen3:8b". Nothing asks for the list
// of names.
func TakesName(c *Command, rest string) error {
	line, more := cutLine(rest)
	c.Text = more
	switch name := strings.Trim(line, "`*"); {
	case name == "":
	case modelName().MatchString(name):
		c.IDs = []string{name}
	default:
		return errMisfit
	}
	return nil
}
