package builtin

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// lexical checks the brackets and strings of a change, and the indentation of Python.
// If they balance in the whole file before the change, they must balance after it.
// Otherwise the new lines must leave the same brackets open as the old ones.
func lexical(c swap) error {
	name := c.name
	hash := !strings.Contains(
		" .ts .tsx .js .jsx .mjs .cjs .java .c .h .cc .cpp .cs .rs .kt .swift .scala .go .php .css .scss ",
		" "+strings.ToLower(path.Ext(name))+" ",
	)
	if strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyi") {
		if err := indents(c.old, c.with); err != nil {
			return err
		}
	}
	if left, err := unmatched(c.before, hash); err == nil && left == "" {
		left, err := unmatched(c.after, hash)
		if err == nil && left != "" {
			err = fmt.Errorf("%s is not closed", left)
		}
		return err
	}
	was, err := unmatched(c.old, hash)
	if err != nil {
		return err
	}
	is, err := unmatched(c.with, hash)
	if err == nil && is != was {
		err = errors.New("its brackets do not pair up as those of the lines do")
	}
	return err
}

// unmatched returns the unmatched brackets of a text in order, outside of strings and
// comments in the syntax of most languages. A bracket closed by another kind and an
// unterminated string are errors.
func unmatched(text string, hash bool) (left string, err error) {
	for i := 0; i < len(text); {
		c := text[i]
		switch at := strings.IndexByte("([{)]}", c); {
		case at >= 3 && left != "" && strings.IndexByte("([{", left[len(left)-1]) == at-3:
			left = left[:len(left)-1]
		case at >= 3 && strings.ContainsAny(left, "([{"):
			return "", fmt.Errorf("a %c has no %c", c, "([{"[at-3])
		case at >= 0:
			left += string(c)
		}
		if i = nextCode(text, i, hash); i < 0 {
			return "", errors.New("a string has no end")
		}
	}
	return left, nil
}

// nextCode returns the offset of the next byte of code. It skips a string or a comment that
// begins at i. It returns -1 for an unterminated string.
func nextCode(text string, i int, hash bool) int {
	c, rest := text[i], text[i+1:]
	switch {
	case (c == '"' || c == '\'') && strings.HasPrefix(rest, string([]byte{c, c})):
		return skipPast(text, i+3, string([]byte{c, c, c}))
	case c == '"' || c == '\'' || c == '`':
		return skipString(text, i)
	case !hash && strings.HasPrefix(text[i:], "/*"):
		return skipPast(text, i+2, "*/")
	case hash && c == '#' && (i == 0 || strings.IndexByte(" \t\n([{,;:)", text[i-1]) >= 0),
		!hash && strings.HasPrefix(text[i:], "//"):
		if n := skipPast(text, i, "\n"); n >= 0 {
			return n
		}
		return len(text)
	}
	return i + 1
}

// skipPast returns the offset after the next end marker at or after from, or -1.
func skipPast(text string, from int, end string) int {
	if n := strings.Index(text[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return -1
}

// skipString returns the offset after the string that begins at i, or -1 if unterminated.
func skipString(text string, i int) int {
	c := text[i]
	for i++; i < len(text) && (text[i] != '\n' || c == '`'); i++ {
		switch text[i] {
		case '\\':
			i++
		case c:
			return i + 1
		}
	}
	return -1
}

// indents compares the indentation of Python lines. The new lines must begin at the
// level of the old ones, none may be indented less, and they must end with a line that
// opens a block if the old ones did.
func indents(old, with string) error {
	was, is := margins(old), margins(with)
	if len(was.all) == 0 || len(is.all) == 0 {
		return errors.New("the block that it is in may be left empty")
	}
	least := was.all[0]
	for _, m := range was.all {
		least = min(least, m)
	}
	for i, m := range is.all {
		if m < least || i == 0 && m != was.all[0] {
			return errors.New("its lines are not set in as those that it replaces")
		}
	}
	if was.opens != is.opens || was.opens && was.all[len(was.all)-1] != is.all[len(is.all)-1] {
		return errors.New("what follows would be in another block")
	}
	return nil
}

// block has the indentation of lines, and whether the last one opens a block.
type block struct {
	all   []int
	opens bool
}

func margins(text string) (b block) {
	for l := range strings.SplitSeq(text, "\n") {
		code, _, _ := strings.Cut(strings.TrimSpace(l), " #")
		if code == "" || code[0] == '#' {
			continue
		}
		b.all = append(b.all, indent(l))
		b.opens = strings.HasSuffix(strings.TrimSpace(code), ":")
	}
	return b
}
