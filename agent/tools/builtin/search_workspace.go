package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed search_workspace.md
var searchWorkspaceDoc string

const (
	maxMatches    = 100
	maxAround     = 10
	maxMatchLine  = 300
	maxSearchText = 40_000
)

func searchWorkspace(k *tools.Kit) tools.Tool {
	if k.Search == nil {
		return nil
	}
	dir := tools.PathParam("Directory or file; all when absent.", false)
	dir.Few = true
	dir.Aliases = append(dir.Aliases, "dir", "directory", "folder", "dir_path")
	s := searcher{k}
	return tools.New(
		tools.Sheet{
			Name:      "search_workspace",
			Doc:       searchWorkspaceDoc,
			Few:       "Search the text of all files.",
			Kind:      policy.Read,
			Doing:     "Searching codebase",
			Essential: true,
			Aliases: []string{
				"search_files", "grep", "grep_search", "search_file_content", "search_code", "ripgrep", "search",
				"search_in_files", "find_in_files", "search_text",
			},
			Params: []tools.Param{
				{Name: "query", Doc: "What to look for.",
					Aliases: []string{"pattern", "search", "text", "search_term", "q"}, Asked: true},
				{Name: "isRegex", Form: tools.Free, Schema: `{"type":"boolean"}`, Doc: "RE2.",
					Aliases: []string{"regex", "use_regex", "is_regexp", "regexp"}},
				dir,
				{Name: "include", Doc: "Only files that match this glob, such as **/*.go.",
					Aliases: []string{"glob", "file_pattern", "include_pattern", "includes", "file_glob", "include_glob"}},
				{Name: "context", Form: tools.Number, Aliases: []string{"context_lines", "lines_of_context", "C"}},
				{Name: "before", Form: tools.Number, Aliases: []string{"B", "before_context"}},
				{Name: "after", Form: tools.Number, Aliases: []string{"A", "after_context"}},
				{Name: "caseSensitive", Form: tools.Flag, Aliases: []string{"case_sensitive", "match_case"}},
				{Name: "ignoreCase", Form: tools.Flag, Aliases: []string{"ignore_case", "i", "case_insensitive"}},
				{
					Name:    "n",
					Form:    tools.Flag,
					Aliases: []string{"line_numbers", "show_line_numbers"},
				}, // line numbers are always shown
				{Name: "max_results", Form: tools.Number, Aliases: []string{"max", "limit", "head_limit"}},
			},
			Example: `{"query":"TEXT"}`,
		},
		s.intent,
		s.run,
	)
}

type searcher struct{ *tools.Kit }

func (s searcher) query(ctx context.Context, a tools.Args) (workspace.Query, error) {
	q := workspace.Query{Path: "."}
	var err error
	if q.Pattern, err = a.Text("query"); err != nil {
		return q, err
	}
	// Some models send the pattern itself as "regex".
	if raw := a.Values["isRegex"]; len(raw) > 0 {
		if q.Regex, err = a.Flag("isRegex", false); err != nil {
			pattern, ok := tools.Plain(raw)
			if !ok || q.Pattern != "" {
				return q, err
			}
			q.Pattern, q.Regex = pattern, true
		}
	}
	if q.Pattern == "" {
		return q, a.Wrong("missing argument %q", "query")
	}
	dir, err := a.Text("path")
	if err != nil {
		return q, err
	}
	if strings.TrimSpace(dir) != "" {
		if q.Path, err = s.Resolve(ctx, dir); err != nil {
			return q, err
		}
	}
	if q.Glob, err = a.Text("include"); err != nil {
		return q, err
	}
	if q.Glob = strings.TrimPrefix(strings.TrimSpace(q.Glob), "./"); q.Glob == "*" || q.Glob == "**" || q.Glob == "**/*" {
		q.Glob = ""
	} else if q.Glob != "" && !strings.Contains(q.Glob, "/") {
		q.Glob = "**/" + q.Glob
	}
	return q, s.options(a, &q)
}

func (s searcher) options(a tools.Args, q *workspace.Query) error {
	around := 2
	for i, name := range [...]string{"context", "before", "after"} {
		n, err := a.Number(name, around)
		if err != nil {
			return err
		}
		if around = max(around, n); i == 0 {
			around = n
		}
	}
	q.Context = min(max(around, 0), maxAround)
	most, err := a.Number("max_results", maxMatches)
	if err != nil {
		return err
	}
	q.Max = min(max(most, 1), 1000)
	exact, err := a.Flag("caseSensitive", true)
	if err != nil {
		return err
	}
	folded, err := a.Flag("ignoreCase", !exact)
	if err != nil {
		return err
	}
	if folded {
		if !q.Regex {
			q.Pattern, q.Regex = regexp.QuoteMeta(q.Pattern), true
		}
		q.Pattern = "(?i)" + q.Pattern
	}
	if q.Regex {
		if _, err := regexp.Compile(q.Pattern); err != nil {
			return a.Wrong("argument %q is not a regular expression: %v (RE2: no look-around, no back-references)", "query", err)
		}
	}
	return nil
}

func (s searcher) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	q, err := s.query(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{q.Path}}, nil
}

func (s searcher) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	q, err := s.query(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	m, err := s.Search.Search(ctx, q)
	if err != nil {
		return tools.Result{}, err
	}
	text, hits := formatMatches(m, tools.Room(ctx, maxSearchText))
	if hits == 0 {
		hint := "Try another spelling, or isRegex with (?i)."
		if q.Regex {
			hint = "Try a simpler pattern."
		}
		return tools.Result{
			Content: fmt.Sprintf("No matches for %q in %s. %s", q.Pattern, placeName(q.Path), hint),
			Title:   "Searched " + q.Pattern + " (0)",
		}, nil
	}
	return tools.Result{Content: text, Title: fmt.Sprintf("Searched %s (%d)", q.Pattern, hits+m.Left)}, nil
}

// formatMatches writes a header for each file, "→ N:" before a match, and two spaces
// before its context. It counts the files that do not fit into most bytes.
func formatMatches(m workspace.Matches, most int) (string, int) {
	var b strings.Builder
	hits, left := 0, m.Left
	for i, f := range m.Files {
		if b.Len() > most*9/10 {
			for _, rest := range m.Files[i:] {
				left += hitsOf(rest)
			}
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "── %s ──\n", f.Path)
		last := 0
		for _, l := range f.Lines {
			if last > 0 && l.N > last+1 {
				b.WriteString("  …\n")
			}
			last = l.N
			mark := "  "
			if l.Hit {
				mark = "→ "
			}
			fmt.Fprintf(&b, "%s%d: %s\n", mark, l.N, tools.Shorten(l.Text, maxMatchLine))
		}
		hits += hitsOf(f)
	}
	if left > 0 {
		fmt.Fprintf(
			&b,
			"\n[%d more match%s not shown; narrow the search]\n",
			left,
			map[bool]string{true: "", false: "es"}[left == 1],
		)
	}
	return b.String(), hits
}

func hitsOf(f workspace.FileMatches) int {
	n := 0
	for _, l := range f.Lines {
		if l.Hit {
			n++
		}
	}
	return n
}
