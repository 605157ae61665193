package policy

import (
	"regexp"
	"strings"
)

// CodeOwners says who owns which paths, as a CODEOWNERS file has it. The zero
// value has no owners.
type CodeOwners struct {
	rules []ownerRule
}

type ownerRule struct {
	path   *regexp.Regexp
	owners []string
}

// maxCodeOwners is how large a file may be; GitHub ignores larger ones, too.
const maxCodeOwners = 3 << 20

// ParseCodeOwners reads a CODEOWNERS file. Lines that GitHub would skip
// (negations, ranges of characters) are skipped.
func ParseCodeOwners(text string) CodeOwners {
	var c CodeOwners
	if len(text) > maxCodeOwners {
		return c
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := ownerWords(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "!") || strings.Contains(words[0], "[") {
			continue
		}
		if path, err := regexp.Compile(ownerPattern(words[0])); err == nil {
			c.rules = append(c.rules, ownerRule{path, words[1:]})
		}
	}
	return c
}

// ownerWords splits a line at spaces that are not escaped, up to a comment.
func ownerWords(line string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '#' && b.Len() == 0:
			return words
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return words
}

// ownerPattern turns a pattern into an expression over paths.
func ownerPattern(p string) string {
	anchored := strings.Contains(strings.TrimSuffix(p, "/"), "/")
	p = strings.TrimPrefix(p, "/")
	tail := "(?:/.*)?"
	switch {
	case strings.HasSuffix(p, "/"):
		p, tail = strings.TrimSuffix(p, "/"), "/.*"
	case strings.HasSuffix(p, "/*"):
		tail = "" // the files of a directory, not what is below
	}
	var b strings.Builder
	b.WriteString("^")
	if !anchored {
		b.WriteString("(?:.*/)?")
	}
	for p != "" {
		switch {
		case strings.HasPrefix(p, "**/"):
			b.WriteString("(?:.*/)?")
			p = p[3:]
		case strings.HasPrefix(p, "**"):
			b.WriteString(".*")
			p = p[2:]
		case p[0] == '*':
			b.WriteString("[^/]*")
			p = p[1:]
		case p[0] == '?':
			b.WriteString("[^/]")
			p = p[1:]
		default:
			n := strings.IndexAny(p, "*?")
			if n < 0 {
				n = len(p)
			}
			b.WriteString(regexp.QuoteMeta(p[:n]))
			p = p[n:]
		}
	}
	return b.String() + tail + "$"
}

// Of returns the owners of a path as the file names them: "@login", "@org/team" or
// an address. The last rule that matches counts, even if it names nobody.
func (c CodeOwners) Of(path string) []string {
	for i := len(c.rules) - 1; i >= 0; i-- {
		if c.rules[i].path.MatchString(path) {
			return c.rules[i].owners
		}
	}
	return nil
}
