package policy

import (
	"regexp"
	"strings"
)

// CodeOwners maps paths to their owners, according to a CODEOWNERS file. The zero value
// has no owners.
type CodeOwners struct {
	rules []ownerRule
}

type ownerRule struct {
	path   *regexp.Regexp
	owners []string
}

// maxCodeOwners is the maximum size of a file, in bytes. GitHub ignores larger ones too.
const maxCodeOwners = 3 << 20

// ParseCodeOwners parses a CODEOWNERS file. Like GitHub, it skips unsupported lines
// (negations, character ranges).
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

// ownerWords splits a line at unescaped spaces, up to a comment.
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

// ownerPattern converts a pattern into a regular expression for paths.
func ownerPattern(p string) string {
	anchored := strings.Contains(strings.TrimSuffix(p, "/"), "/")
	p = strings.TrimPrefix(p, "/")
	tail := "(?:/.*)?"
	switch {
	case strings.HasSuffix(p, "/"):
		p, tail = strings.TrimSuffix(p, "/"), "/.*"
	case strings.HasSuffix(p, "/*"):
		tail = "" // only files directly in the directory
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

// Of returns the owners of a path as written in the file: "@login", "@org/team" or an
// email address. The last matching rule counts, even if it has no owners.
func (c CodeOwners) Of(path string) []string {
	for i := len(c.rules) - 1; i >= 0; i-- {
		if c.rules[i].path.MatchString(path) {
			return c.rules[i].owners
		}
	}
	return nil
}
