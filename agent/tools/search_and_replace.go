package tools

import (
	"context"
	_ "embed" // the description
	"fmt"
	"regexp"
	"strings"
)

//go:embed search_and_replace.md
var searchAndReplaceDoc string

func searchAndReplace(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	s := sheet{name: "search_and_replace", doc: searchAndReplaceDoc,
		params: []param{
			pathParam("File to change.", true),
			{name: "search", required: true, doc: "Text or pattern to look for.", aliases: []string{"query", "pattern", "find", "old_string", "search_text"}},
			{name: "replace", required: true, doc: "What to put there; with use_regex $1 stands for the first group.",
				aliases: []string{"replacement", "replace_with", "new_string", "replace_text"}},
			{name: "use_regex", kind: flag, doc: "The pattern is a regular expression (RE2).", aliases: []string{"is_regex", "regex", "regexp"}},
			{name: "ignore_case", kind: flag, doc: "Upper and lower case are the same.", aliases: []string{"case_insensitive"}},
			{name: "start_line", kind: number, doc: "First line to look at.", aliases: []string{"from_line"}},
			{name: "end_line", kind: number, doc: "Last line to look at.", aliases: []string{"to_line"}},
			{name: "expected_count", kind: number, doc: "Fail unless exactly so many are replaced.", aliases: []string{"count", "expected_replacements"}},
		},
		example: `{"path":"src/a.txt","search":"old","replace":"new"}`}
	return k.editor(s, func(ctx context.Context, a args) (plan, error) {
		rel, err := k.path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		sub, err := a.substitution()
		if err != nil {
			return plan{}, err
		}
		c, err := k.existing(ctx, rel)
		if err != nil {
			return plan{}, err
		}
		if err := sub.apply(&c); err != nil {
			return plan{}, s.wrong("%v", err)
		}
		return plan{changes: []change{c}}, nil
	})
}

// substitution is what to replace by what, in which lines.
type substitution struct {
	pattern  *regexp.Regexp
	search   string
	with     string
	literal  bool
	from, to int
	expected int
}

func (a args) substitution() (sub substitution, err error) {
	var useRegex, fold bool
	read := func(step func() error) {
		if err == nil {
			err = step()
		}
	}
	read(func() (e error) { sub.search, e = a.text("search"); return })
	read(func() (e error) { sub.with, e = a.text("replace"); return })
	read(func() (e error) { useRegex, e = a.flag("use_regex", false); return })
	read(func() (e error) { fold, e = a.flag("ignore_case", false); return })
	read(func() (e error) { sub.from, e = a.number("start_line", 0); return })
	read(func() (e error) { sub.to, e = a.number("end_line", 0); return })
	read(func() (e error) { sub.expected, e = a.number("expected_count", -1); return })
	if err != nil {
		return sub, err
	}
	if sub.search == "" {
		return sub, a.sheet.wrong("argument %q is empty", "search")
	}
	if sub.from < 0 || sub.to < 0 || sub.to > 0 && sub.from > sub.to {
		return sub, a.sheet.wrong("arguments %q and %q are no range of lines", "start_line", "end_line")
	}
	expr, flags := sub.search, "(?m)"
	if !useRegex {
		expr, sub.literal = strings.ReplaceAll(regexp.QuoteMeta(lf(sub.search)), "\n", `\r?\n`), true
	} else {
		sub.with = groups(sub.with)
	}
	if fold {
		flags = "(?mi)"
	}
	if sub.pattern, err = regexp.Compile(flags + expr); err != nil {
		return sub, a.sheet.wrong("argument %q is not a regular expression: %v (RE2: no look-around, no back-references)", "search", err)
	}
	return sub, nil
}

// groups writes \1, $1 and $& as Go's regexp wants them.
func groups(s string) string {
	s = regexp.MustCompile(`\\([0-9])|\$([0-9]+)`).ReplaceAllString(s, "$${${1}${2}}")
	return strings.ReplaceAll(s, "$&", "${0}")
}

// apply replaces within whole lines from to to and counts.
func (sub substitution) apply(c *change) error {
	lines := strings.SplitAfter(c.before, "\n")
	from := max(sub.from, 1)
	to := len(lines)
	if sub.to > 0 {
		to = min(sub.to, to)
	}
	if from > len(lines) {
		return fmt.Errorf("%s has %d lines, so it has no line %d", c.path, strings.Count(c.before, "\n")+1, from)
	}
	head, body, tail := strings.Join(lines[:from-1], ""), strings.Join(lines[from-1:to], ""), strings.Join(lines[to:], "")
	pattern, with := sub.pattern, sub.with
	crlf := strings.Contains(body, "\r\n") && strings.Count(body, "\n") == strings.Count(body, "\r\n")
	if crlf {
		body, with = lf(body), lf(with)
	}
	end := "" // behind the last line there is no further line that ^ could match
	if !pattern.MatchString(body) || pattern.MatchString(strings.TrimSuffix(body, "\n")) {
		body, end = strings.TrimSuffix(body, "\n"), body[len(strings.TrimSuffix(body, "\n")):]
	}
	n := len(pattern.FindAllStringIndex(body, -1))
	switch {
	case n == 0:
		return fmt.Errorf("%q was not found in %s; nothing was changed", sub.search, c.path)
	case sub.expected >= 0 && n != sub.expected:
		return fmt.Errorf("%q is in %s %d times, not %d times as expected; nothing was changed", sub.search, c.path, n, sub.expected)
	case sub.literal:
		body = pattern.ReplaceAllLiteralString(body, with)
	default:
		body = pattern.ReplaceAllString(body, with)
	}
	if body += end; crlf {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	c.after = head + body + tail
	c.notes = append(c.notes, fmt.Sprintf("Replaced %d occurrence%s.", n, plural(n)))
	return nil
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
