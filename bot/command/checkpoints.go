package command

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// pathLike is a word that can only be the name of a file or a directory.
	pathLike = regexp.MustCompile(`^(?:[\w@+.\-]*[/.][\w@+./\-]*\w/?|[\w@+.\-]+/)$`)
	// checkpointWords is words that people say of what undo is about.
	checkpointWords = set(`last latest checkpoint checkpoints change changes commit commits step steps file files in and only your`)
)

// TakesCheckpoints reads how many checkpoints are meant, or which files of them;
// nothing is all files of the last one. Names without a dot or a slash are written
// between backticks: "undo tests" may as well be a task.
func TakesCheckpoints(c *Command, rest string) error {
	line, more, _ := strings.Cut(rest, "\n")
	c.Text = more
	for _, word := range strings.Fields(line) {
		word = strings.TrimRight(word, ",;:!?.…")
		path := strings.Trim(word, "`")
		n, err := strconv.Atoi(path)
		switch {
		case err == nil && (n < 1 || n > 1000):
			return wrong("`%s %s`: write a number from 1 to 1000", c.Name, inCodeSpan(word))
		case err == nil:
			c.Count = n
		case path != word || pathLike.MatchString(path):
			c.Paths = append(c.Paths, strings.Trim(strings.TrimPrefix(path, "./"), "/"))
		case !allIn(plain(word), polite, checkpointWords):
			return errNotArgument
		}
	}
	return nil
}
