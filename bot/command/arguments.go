package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
)

var (
	ident     = regexp.MustCompile(`^[0-9a-z-]{1,40}$`)
	identLike = regexp.MustCompile(`^(?:[a-z2-7]{8}|[0-9a-f]{6})$`)
	digit     = regexp.MustCompile(`[0-9]`)
	letters   = regexp.MustCompile(`^[\pL'-]+$`)
	commit    = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// requestID is a word as the id of a request.
func requestID(word string) string { return strings.Trim(strings.ToLower(word), "`<>#.,;:!*_~") }

// isAnother reports whether a word behind an id can only be one more: ids have
// a digit, and words that may be a condition have none.
func isAnother(word string) bool { return identLike.MatchString(word) && digit.MatchString(word) }

// takesAnother reports whether a word is one more id: all of several have a digit,
// so that "approve not ID" names none.
func (c *Command) takesAnother(word string) bool {
	return len(c.IDs) > 0 && digit.MatchString(c.IDs[0]) && isAnother(word) //control:ids-are-no-words
}

// ids takes ids off the front of a line, or "all". The first one is whatever
// first takes.
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
		case len(c.IDs) == 0 && (id == "all" || id == "everything"):
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

// TakesIDs reads the ids of requests, "all", or nothing, which is the only one.
// Text is what stands behind them.
func TakesIDs(c *Command, rest string) error {
	line, more := cutLine(rest)
	if !slices.ContainsFunc(tokens(line), func(w string) bool { return !kind.MatchString(w) || w == "all" }) {
		c.Text = line + "\n" + more
		return nil
	}
	behind := c.ids(line, ident.MatchString)
	meant := slices.ContainsFunc(c.IDs, digit.MatchString) || len(tokens(line)) == len(c.IDs)
	switch {
	case len(c.IDs) == 0 && !c.All:
		word, _ := cutWord(line)
		return wrong(usage.NoIDOrTask, inCodeSpan(word), prefix, c.Name, prefix)
	case !c.All && !meant: // "approve button is missing"
		words := inCodeSpan(firstLine(rest))
		return wrong(usage.OtherWords+usage.OrTask, prefix+" "+c.Name, words, prefix, c.Name, words)
	}
	c.Text = behind + "\n" + more
	return nil
}

// inCodeSpan is a word as it can stand between backticks.
func inCodeSpan(word string) string { return clip(strings.ReplaceAll(word, "`", "")) }

// reasons is words that a reason begins with.
var reasons = set(`as too not no nope it its it's this that these never don't dont do i we they there sorry`)

// TakesIDsAndReason reads the ids of requests, "all", or nothing, which is the
// only one; and then the reason.
func TakesIDsAndReason(c *Command, rest string) error {
	line, more := cutLine(rest)
	behind := c.ids(line, func(id string) bool {
		return ident.MatchString(id) && (digit.MatchString(id) || identLike.MatchString(id) && len(plain(line)) == 1)
	})
	list := plain(behind)
	c.Text = strings.TrimSpace(strings.TrimLeftFunc(behind, func(r rune) bool { return isPause(r) || r == '-' }) + "\n" + more)
	switch {
	case len(c.IDs) == 0 && allIn(list, polite) && !reasons[strings.Join(list, " ")]:
		c.Text = strings.TrimSpace(more)
		return nil
	case len(c.IDs) > 0, pauses(rest), c.All && pauses(behind), reasons[list[0]], because[list[0]]:
		return nil
	case !c.All && !letters.MatchString(list[0]):
		word, _ := cutWord(line)
		return wrong(usage.NoID, inCodeSpan(word), prefix, c.Name)
	}
	return either(c.Name, rest)
}

var (
	// amount is words that are meant as a number.
	amount = set(`many more some lots lot few plus extra a an bit of turns turn steps another ten twenty thirty fifty hundred as much enough infinite unlimited max`)
	// turns is what the number of "budget +10 more turns" counts.
	turns = regexp.MustCompile(`^(?i:(?:more|extra|additional|turns?|steps?)\b[\s,.!]*)+`)
)

// TakesCount reads a number of turns.
func TakesCount(c *Command, rest string) error {
	line, more := cutLine(rest)
	word, behind := cutWord(strings.TrimPrefix(line, "by "))
	word = strings.TrimRight(word, ",.!;")
	switch {
	case !allIn(plain(line), amount) && allIn(plain(line), polite), word == "":
		return wrong(usage.NoCount, prefix, c.Name)
	case !digit.MatchString(word) && !allIn(plain(line), polite, amount):
		return errNotArgument
	}
	n, err := strconv.Atoi(strings.TrimPrefix(word, "+"))
	if err != nil || n < 1 || n > 1000 {
		return wrong("`%s %s`: write a number from 1 to 1000", c.Name, inCodeSpan(word))
	}
	c.Count, c.Text = n, turns.ReplaceAllString(behind, "")+"\n"+more
	return nil
}

// TakesCommit reads the id of a commit. Alone the word is a yes that does not
// say to what.
func TakesCommit(c *Command, rest string) error {
	line, more := cutLine(rest)
	word, behind := cutWord(line)
	id := requestID(word)
	switch {
	case commit.MatchString(id):
		c.IDs, c.Text = []string{id}, behind+"\n"+more
		return nil
	case allIn(plain(line), polite):
		c.Text = strings.Trim(line, "?") + "\n" + more
		return nil
	case digit.MatchString(id) && strings.Trim(id, "0123456789abcdef") == "":
		return wrong(usage.BadCommit, c.Name, clip(id))
	}
	return errNotArgument
}
