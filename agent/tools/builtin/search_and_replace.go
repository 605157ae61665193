package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed search_and_replace.md
var searchAndReplaceDoc string

func searchAndReplace(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{Name: "search_and_replace", Doc: searchAndReplaceDoc, Kind: policy.Write, Edits: true,
		Aliases: []string{"find_and_replace"},
		Params: []tools.Param{
			tools.PathParam("File.", true),
			{
				Name:     "search",
				Required: true,
				Doc:      "Text or pattern.",
				Aliases:  []string{"query", "pattern", "find", "old_string", "search_text"},
			},
			{Name: "replace", Required: true, Doc: "With use_regex $1 stands for the first group.",
				Aliases: []string{"replacement", "replace_with", "new_string", "replace_text"}},
			{Name: "use_regex", Form: tools.Flag, Doc: "RE2.", Aliases: []string{"is_regex", "regex", "regexp"}},
			{Name: "ignore_case", Form: tools.Flag, Aliases: []string{"case_insensitive"}},
			{Name: "start_line", Form: tools.Number, Aliases: []string{"from_line"}},
			{Name: "end_line", Form: tools.Number, Aliases: []string{"to_line"}},
			{Name: "expected_count", Form: tools.Number, Aliases: []string{"count", "expected_replacements"}},
		},
		Example: `{"path":"PATH","search":"old","replace":"new"}`}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		rel, err := k.Path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		sub, err := readSubstitution(a)
		if err != nil {
			return plan{}, err
		}
		c, err := existing(ctx, k, rel)
		if err != nil {
			return plan{}, err
		}
		if err := sub.apply(&c); err != nil {
			return plan{}, a.Wrong("%v", err)
		}
		return plan{changes: []change{c}}, nil
	})
}

// substitution is a replacement within a range of lines.
type substitution struct {
	pattern  *regexp.Regexp
	search   string
	with     string
	literal  bool
	from, to int
	expected int
}

func readSubstitution(a tools.Args) (sub substitution, err error) {
	var useRegex, fold bool
	read := func(step func() error) {
		if err == nil {
			err = step()
		}
	}
	read(func() (e error) { sub.search, e = a.Text("search"); return })
	read(func() (e error) { sub.with, e = a.Text("replace"); return })
	read(func() (e error) { useRegex, e = a.Flag("use_regex", false); return })
	read(func() (e error) { fold, e = a.Flag("ignore_case", false); return })
	read(func() (e error) { sub.from, e = a.Number("start_line", 0); return })
	read(func() (e error) { sub.to, e = a.Number("end_line", 0); return })
	read(func() (e error) { sub.expected, e = a.Number("expected_count", -1); return })
	if err != nil {
		return sub, err
	}
	if sub.search == "" {
		return sub, a.Wrong("argument %q is empty", "search")
	}
	if sub.from < 0 || sub.to < 0 || sub.to > 0 && sub.from > sub.to {
		return sub, a.Wrong("arguments %q and %q are no range of lines", "start_line", "end_line")
	}
	expr, flags := sub.search, "(?m)"
	if !useRegex {
		expr, sub.literal = strings.ReplaceAll(regexp.QuoteMeta(lf(sub.search)), "\n", `\r?\n`), true
	}
	if fold {
		flags = "(?mi)"
	}
	if sub.pattern, err = regexp.Compile(flags + expr); err != nil {
		return sub, a.Wrong(
			"argument %q is not a regular expression: %v (RE2: no look-around, no back-references)",
			"search",
			err,
		)
	}
	if useRegex {
		var unknown string
		if sub.with, unknown = convertGroups(sub.pattern, sub.with); unknown != "" {
			return sub, a.Wrong(
				"%s in %q means a group of the pattern, which has none like that; write $$ for a dollar sign",
				unknown,
				"replace",
			)
		}
	}
	return sub, nil
}

// convertGroups converts \1, $1 and $& to the syntax of regexp. unknown is a reference to a
// group that the pattern lacks, or "".
func convertGroups(pattern *regexp.Regexp, s string) (with, unknown string) {
	refs := regexp.MustCompile(`\$\$|\$&|\\([0-9])|\$([0-9]+)|\$\{(\w+)\}|\$([\pL_][\pL\pN_]*)`)
	with = refs.ReplaceAllStringFunc(s, func(ref string) string {
		switch ref {
		case "$$":
			return ref
		case "$&":
			return "${0}"
		}
		m := refs.FindStringSubmatch(ref)
		name := m[1] + m[2] + m[3] + m[4]
		if n, err := strconv.Atoi(name); err == nil && n > pattern.NumSubexp() ||
			err != nil && pattern.SubexpIndex(name) < 0 {
			unknown = ref
		}
		return "${" + name + "}"
	})
	return with, unknown
}

// apply replaces matches in the requested lines, and checks their number.
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
	end := "" // after the last line break there is no line for ^ to match
	if !pattern.MatchString(body) || pattern.MatchString(strings.TrimSuffix(body, "\n")) {
		body, end = strings.TrimSuffix(body, "\n"), body[len(strings.TrimSuffix(body, "\n")):]
	}
	n := len(pattern.FindAllStringIndex(body, -1))
	switch {
	case n == 0:
		return fmt.Errorf("%q was not found in %s; nothing was changed", sub.search, c.path)
	case sub.expected >= 0 && n != sub.expected:
		return fmt.Errorf(
			"%q is in %s %d times, not %d times as expected; nothing was changed",
			sub.search,
			c.path,
			n,
			sub.expected,
		)
	case sub.literal:
		body = pattern.ReplaceAllLiteralString(body, with)
	default:
		body = pattern.ReplaceAllString(body, with)
	}
	if body += end; crlf {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	c.after = head + body + tail
	c.notes = append(c.notes, fmt.Sprintf("Replaced %d occurrence%s.", n, tools.Plural(n)))
	return nil
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
