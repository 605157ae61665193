package builtin

import (
	"cmp"
	"context"
	_ "embed" // the description
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed codebase_search.md
var codebaseSearchDoc string

const (
	maxFound      = 20
	defaultFound  = 10
	maxShown      = 5    // lines of each chunk
	maxWordHits   = 1500 // matching lines of one word
	maxWordFiles  = 60   // files to look into
	maxWordFile   = 256 << 10
	maxCandidates = 40 // of each way to search, to be joined
)

func codebaseSearch(k *tools.Kit) tools.Tool {
	if k.Search == nil || k.Files == nil {
		return nil
	}
	dir := tools.PathParam("Directory; all when absent.", false)
	dir.Aliases = append(dir.Aliases, "dir", "directory", "folder", "dir_path", "target_directories", "directory_prefix")
	m := meaning{k}
	return tools.New(tools.Sheet{Name: "codebase_search", Doc: codebaseSearchDoc, Kind: policy.Read,
		Doing:   "Searching codebase",
		Untold:  k.Meaning == nil,
		Aliases: []string{"semantic_search", "search_codebase", "code_search", "codebase_retrieval", "ask_codebase"},
		Params: []tools.Param{
			{Name: "query", Doc: "A question or a description.",
				Aliases: []string{"question", "search", "text", "q", "information_request"}, Required: true},
			dir,
			{Name: "max", Form: tools.Number, Aliases: []string{"limit", "max_results"}},
		},
		Example: `{"query":"where is … decided?"}`},
		m.intent, m.run)
}

type meaning struct{ *tools.Kit }

func (m meaning) query(ctx context.Context, a tools.Args) (q index.Question, err error) {
	if q.Text, err = a.Text("query"); err != nil {
		return q, err
	}
	if q.Text = strings.TrimSpace(q.Text); q.Text == "" {
		return q, a.Wrong("missing argument %q", "query")
	}
	dir, err := a.Text("path")
	if err != nil {
		return q, err
	}
	if q.Under = "."; strings.TrimSpace(dir) != "" {
		if q.Under, err = m.Resolve(ctx, dir); err != nil {
			return q, err
		}
	}
	q.Max, err = a.Number("max", defaultFound)
	q.Max = min(max(q.Max, 1), maxFound)
	return q, err
}

func (m meaning) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	q, err := m.query(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Kind: policy.Read, Paths: []string{q.Under}}, nil
}

func (m meaning) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	q, err := m.query(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	var near []index.Hit
	switch m.Meaning {
	case nil:
		b.WriteString("[Semantic search is not available (no embedding model): these are text matches.]\n")
	default:
		wide := q
		wide.Max = maxCandidates
		answer, err := m.Meaning.Ask(ctx, wide)
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		near = answer.Hits
		b.WriteString(about(answer, err))
	}
	words, err := m.byWords(ctx, q)
	if err != nil {
		return tools.Result{}, err
	}
	shown := m.show(ctx, &b, index.Join(q.Max, near, words))
	title := fmt.Sprintf("Searched the code for %s (%d)", tools.Shorten(q.Text, 60), shown)
	if shown == 0 {
		fmt.Fprintf(&b, "Nothing in %s is about %q. Try other words, or search_workspace for a name.\n", placeName(q.Under), q.Text)
	}
	return tools.Result{Content: b.String(), Title: title}, nil
}

// about returns the lines before an answer, about the part that meaning had in it.
func about(answer index.Answer, err error) string {
	var out string
	switch {
	case err != nil:
		out = fmt.Sprintf("[Semantic search is not available (%s): these are text matches.]\n", index.Public(err))
	case answer.Files > 0 && answer.Ready == 0:
		out = "[The index is not ready yet: these are text matches.]\n"
	case answer.Ready < answer.Files:
		out = fmt.Sprintf("[The index has %d %% of the files; the others are searched as text.]\n", answer.Ready*100/answer.Files)
	}
	if answer.Late > 0 {
		out += fmt.Sprintf("[%d changed file%s searched as text: too much has changed for the index.]\n", answer.Late,
			map[bool]string{true: " is", false: "s are"}[answer.Late == 1])
	}
	return out
}

// byWords returns the chunks that have the most of a question's words, best first.
func (m meaning) byWords(ctx context.Context, q index.Question) ([]index.Hit, error) {
	weight := map[string]float64{}
	score := map[string]float64{} // by file
	for _, w := range index.Words(q.Text) {
		stem := index.Stem(w)
		if weight[stem] > 0 {
			continue
		}
		found, err := m.Search.Search(ctx, workspace.Query{
			Pattern: "(?i)" + regexp.QuoteMeta(stem), Regex: true, Path: q.Under, Max: maxWordHits,
		})
		if err != nil {
			return nil, err
		}
		lines := found.Left
		for _, f := range found.Files {
			lines += hitsOf(f)
		}
		if lines == 0 {
			continue
		}
		weight[stem] = index.Weigh(lines, 20_000)
		for _, f := range found.Files {
			score[f.Path] += weight[stem] * (1 + min(float64(hitsOf(f)), 10)/20)
		}
	}
	var files []index.Source
	names := make([]string, 0, len(score))
	for name := range score {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	for _, name := range names[:min(len(names), maxWordFiles)] {
		text, _, err := m.Files.ReadAll(ctx, name, maxWordFile)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil { // a file that is too large, or gone since
			files = append(files, index.Source{Path: name, Text: text})
		}
	}
	return index.Rank(files, weight, maxCandidates), nil
}

// show writes the beginning of chunks, and returns their number.
func (m meaning) show(ctx context.Context, b *strings.Builder, hits []index.Hit) (shown int) {
	room := tools.Room(ctx, maxSearchText)
	for _, h := range hits {
		f, err := m.Files.Read(ctx, h.Path, workspace.Range{From: h.From, To: min(h.To, h.From+3*maxShown)})
		if err != nil || f.Binary {
			continue // gone or hidden since
		}
		near := ""
		if h.Near > 0 {
			near = fmt.Sprintf(" (%.2f)", h.Near)
		}
		fmt.Fprintf(b, "── %s:%d-%d%s ──\n", h.Path, h.From, h.To, near)
		left := maxShown
		for _, c := range f.Chunks {
			for i, line := range c.Lines {
				if left > 0 && strings.TrimSpace(line) != "" {
					fmt.Fprintf(b, "  %d: %s\n", c.From+i, tools.Shorten(line, maxMatchLine))
					left--
				}
			}
		}
		if shown++; b.Len() > room*9/10 {
			break
		}
	}
	return shown
}
