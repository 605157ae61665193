package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
)

//go:embed read_output.md
var readOutputDoc string

// Limits of one call.
const (
	maxHits    = 100
	hitContext = 2
	maxContext = 20
)

func readOutput(r runner) tools.Tool {
	return tools.New(tools.Sheet{Name: "read_output", Doc: readOutputDoc, Kind: policy.Execute,
		Aliases: []string{
			"bash_output", "get_output", "read_terminal_output", "get_terminal_output", "get_command_output",
			"command_output", "terminal_output",
		},
		Params: []tools.Param{
			{
				Name:     "id",
				Required: true,
				Doc:      "Such as o1.",
				Aliases: []string{
					"handle", "output_id", "bash_id", "shell_id", "task_id", "command_id", "terminal_id", "process_id",
				},
			},
			{
				Name:    "lines",
				Form:    tools.Free,
				Schema:  `{"type":"string"}`,
				Doc:     "Such as 1-50.",
				Aliases: []string{"range", "line_range", "line", "from", "offset", "start_line"},
			},
			{Name: "search", Doc: "RE2.", Aliases: []string{"query", "pattern", "regex", "grep", "filter"}},
			{Name: "tail", Form: tools.Number, Aliases: []string{"n", "last", "limit", "max_lines"}},
			{
				Name:    "wait",
				Form:    tools.Free,
				Schema:  `{"type":"integer"}`,
				Doc:     "Seconds.",
				Aliases: []string{"timeout", "wait_seconds"},
			},
			{Name: "stop", Form: tools.Flag, Doc: "End it.", Aliases: []string{"kill", "terminate"}},
			{Name: "context", Form: tools.Number, Aliases: []string{"C", "context_lines"}},
		},
		Example: `{"id":"o1","lines":"1-50"}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			id, err := a.Need("id")
			if err == nil {
				_, err = readView(a)
			}
			return policy.Action{Kind: policy.Read, Display: "Reading the output " + id}, err
		}, r.read)
}

// view is the part of an output to show.
type view struct {
	from, to int // lines, 1-based; 0 means the end
	tail     int // number of last lines
	search   *regexp.Regexp
	around   int
	most     int // maximum number of bytes
}

// bounds matches a range of lines in the notations of models: "5-10", "5-", "5", and
// "-5" for the last ones.
var bounds = pattern.Lazy(`^\s*(\d{0,9})\s*(?:(-|:|,|\.\.)\s*(\d{0,9}))?\s*$`)

// readSpan reads the lines that a call requests.
func readSpan(a tools.Args) (v view, err error) {
	raw, ok := a.Values["lines"]
	if !ok {
		return v, nil
	}
	text, plain := tools.Plain(raw)
	m := bounds().FindStringSubmatch(text)
	if !plain || m == nil {
		return v, a.WrongType("lines", "a range such as 1-50")
	}
	first, _ := strconv.Atoi(m[1]) // digits, or nothing
	last, _ := strconv.Atoi(m[3])
	switch {
	case m[1] == "" && last > 0:
		v.tail = last
	case m[2] != "":
		v.from, v.to = max(first, 1), last
	case text != "":
		v.from = max(first, 1)
	}
	if last > 0 && m[1] != "" && last < first {
		return v, a.WrongType("lines", "a range such as 1-50")
	}
	return v, nil
}

// readView reads the view that a call requests.
func readView(a tools.Args) (v view, err error) {
	if v, err = readSpan(a); err != nil {
		return v, err
	}
	if n, err := a.Number("tail", 0); err != nil || n < 0 {
		return v, a.WrongType("tail", "a number of lines")
	} else if n > 0 && v.from > 0 && v.to == 0 {
		v.to = v.from + n - 1 // a limit after an offset
	} else if n > 0 {
		v.tail = n
	}
	if v.around, err = a.Number("context", hitContext); err != nil {
		return v, err
	}
	v.around = min(max(v.around, 0), maxContext)
	pattern, err := a.Text("search")
	if err != nil || pattern == "" {
		return v, err
	}
	if v.search, err = regexp.Compile(pattern); err != nil { // on error it is a plain text
		v.search = regexp.MustCompile(regexp.QuoteMeta(pattern))
	}
	return v, nil
}

func (r runner) read(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	id, err := a.Need("id")
	if err != nil {
		return tools.Result{}, err
	}
	v, err := readView(a)
	if err != nil {
		return tools.Result{}, err
	}
	v.most = tools.Room(ctx, tools.MaxOutBytes) * 9 / 10
	if b := r.find(id); b != nil {
		return r.watch(ctx, a, b, v)
	}
	var text string
	var ok bool
	if r.Output != nil {
		if text, ok, err = r.Output(ctx, id); err != nil {
			return tools.Result{}, err
		}
	}
	if !ok {
		return tools.Result{}, noOutput(r.Shelled, id)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	begin, end := "", ""
	if last := len(lines) - 1; last > 0 && strings.HasPrefix(lines[0], "<untrusted ") && strings.HasPrefix(lines[last], "</untrusted ") {
		begin, end, lines = lines[0]+"\n", "\n"+lines[last], lines[1:last] //control:mcp-pages-fenced
	}
	return tools.Result{Content: begin + v.show(id, lines) + end, Title: "Read output " + id}, nil
}

// show formats the requested lines with their numbers.
func (v view) show(id string, lines []string) string {
	if v.search != nil {
		return v.matches(id, lines)
	}
	from, to := max(v.from, 1), v.to
	if v.tail > 0 {
		from, to = max(len(lines)-v.tail+1, 1), 0
	}
	if to == 0 || to > len(lines) {
		to = len(lines)
	}
	if from > len(lines) {
		return fmt.Sprintf("[%s has %d line%s.]", id, len(lines), tools.Plural(len(lines)))
	}
	var b strings.Builder
	at := from
	for ; at <= to && at < from+tools.PageLines && b.Len() < v.most; at++ {
		fmt.Fprintf(&b, "%d | %s\n", at, tools.Shorten(lines[at-1], tools.MaxOutLine))
	}
	fmt.Fprintf(&b, "[Lines %d-%d of %d", from, at-1, len(lines))
	if at <= to {
		fmt.Fprintf(&b, "; go on with {\"id\":%q,\"lines\":\"%d-%d\"}", id, at, min(to, at+tools.PageLines-1))
	}
	return b.String() + "]"
}

// matches returns the matching lines with their context.
func (v view) matches(id string, lines []string) string {
	var hits []int
	for i, l := range lines {
		if v.search.MatchString(l) && i+1 >= v.from && (v.to == 0 || i < v.to) {
			hits = append(hits, i)
		}
	}
	if len(hits) == 0 {
		return fmt.Sprintf("[Nothing in the %d line%s of %s matches %s]", len(lines), tools.Plural(len(lines)), id, v.search)
	}
	var b strings.Builder
	shown, next := 0, 0 // hits, and the first line not yet written
	for _, h := range hits[:min(len(hits), maxHits)] {
		if b.Len() >= v.most {
			break
		}
		if first := h - v.around; first > next && next > 0 {
			b.WriteString("--\n")
		}
		for i := max(next, h-v.around, 0); i < min(h+v.around+1, len(lines)); i++ {
			mark := " "
			if _, hit := slices.BinarySearch(hits, i); hit {
				mark = ">"
			}
			fmt.Fprintf(&b, "%s%d | %s\n", mark, i+1, v.window(lines[i]))
			next = i + 1
		}
		shown++
	}
	fmt.Fprintf(&b, "[%d of %d lines match", len(hits), len(lines))
	if shown < len(hits) {
		fmt.Fprintf(&b, ", %d are shown; go on with \"lines\":\"%d-\"", shown, hits[shown]+1)
	}
	return b.String() + "]"
}

// window cuts a long line to the surroundings of its first match.
func (v view) window(line string) string {
	at := v.search.FindStringIndex(line)
	if len(line) <= tools.MaxOutLine || at == nil || at[0] < tools.MaxOutLine/2 {
		return tools.Shorten(line, tools.MaxOutLine)
	}
	from := at[0] - tools.MaxOutLine/4
	for !utf8.RuneStart(line[from]) {
		from--
	}
	return "…" + tools.Shorten(line[from:], tools.MaxOutLine)
}

// noOutput returns the error for a handle without an output.
func noOutput(s session.Shell, id string) error {
	var n int
	if _, err := fmt.Sscanf(id, "b%d", &n); err == nil && n > 0 && n <= s.Handles {
		return fmt.Errorf("the command %s ended with the workspace in which it ran. Start it again if you need it", id)
	}
	return fmt.Errorf("there is no output %q: a result names the id of what it left out", id)
}
