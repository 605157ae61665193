// Package github holds the tools that read the GitHub thread of a session. They change
// nothing, know no other repository, and have no token: a [Source] makes the requests.
package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Part is a readable part of a thread.
type Part int

// The parts.
const (
	Issue Part = iota
	Comments
	PullRequest
	Diff
	ReviewThreads
	Checks
	JobLog
)

// Query is the request of a call.
type Query struct {
	Part   Part
	Number int64  // issue or pull request; 0 means the session's own thread
	Path   string // file of a diff; empty means all
	Job    int64
	Before int64 // upper bound: a comment's position, or a byte of a log
	After  int64 // lower bound: a line of a diff
	Max    int64 // maximum number of comments
	Bytes  int   // maximum size of the text in bytes
}

// Page is the answer to a [Query].
type Page struct {
	Head  string // title
	Items []Item // texts written by users and programs
	More  string // omitted content, and how to get it; empty if complete
}

// Item is an untrusted text. Label names its author.
type Item struct {
	Label string
	Text  string
	HTML  string // GitHub's rendering of Text; "" if unknown
	Plain bool   // a diff or a log, not Markdown
	Next  string // how to request the following content; empty if impossible
}

// Source reads from GitHub. Its errors, such as for a missing item, are worded for the
// model.
type Source interface {
	Read(ctx context.Context, q Query) (Page, error)
}

// Limits of one answer.
const (
	maxItem  = 8_000  // bytes of a comment or description
	maxBytes = 24_000 // bytes of all items
	comments = 20     // default number of comments
)

// words are the names of the parts.
var words = [...]string{
	Issue:         "issue",
	Comments:      "comments",
	PullRequest:   "pull_request",
	Diff:          "diff",
	ReviewThreads: "review_threads",
	Checks:        "checks",
	JobLog:        "job_log",
}

var (
	what = tools.Param{
		Name:     "what",
		Required: true,
		Doc:      "Which.",
		Enum:     words[:],
		Aliases:  []string{"part", "kind", "resource", "type"},
	}
	number = tools.Param{Name: "number", Form: tools.Number, Doc: "Issue or pull request; this thread's own when absent.",
		Aliases: []string{"issue_number", "pull_number", "pr_number", "issue", "pull_request", "pr", "id"}}
	path = tools.Param{
		Name:    "path",
		Doc:     "For diff: only this file.",
		Aliases: []string{"file", "filename", "file_path"},
	}
	job = tools.Param{
		Name:    "job",
		Form:    tools.Number,
		Doc:     "For job_log: its number, from checks.",
		Aliases: []string{"job_id"},
	}
	before = tools.Param{
		Name:    "before",
		Form:    tools.Number,
		Doc:     "For what is older.",
		Aliases: []string{"cursor", "older_than"},
	}
	after = tools.Param{
		Name:    "after",
		Form:    tools.Number,
		Doc:     "With path: from this line on.",
		Aliases: []string{"offset", "start_line"},
	}
	maxParam = tools.Param{Name: "max", Form: tools.Number, Aliases: []string{"limit", "count", "per_page"}}
)

// doc is the description of the tool for models.
const doc = "Read what is on GitHub about this repository: an issue or pull_request, its comments (newest first), " +
	"a pull request's diff, its unresolved review_threads, the checks of its newest commit, the job_log of one of them."

// Tools returns the tools of a session. nonce marks their fences. Only the first is
// offered to models; the others accept names that models know for its parts.
func Tools(source Source, nonce string) []tools.Tool {
	r := reader{source, nonce}
	needed := job
	needed.Required, needed.Aliases = true, []string{"job_id", "id"}
	return []tools.Tool{
		r.tool(
			0,
			tools.Sheet{
				Name:    "github",
				Doc:     doc,
				Aliases: []string{"github_read", "read_github"},
				Example: `{"what":"checks"}`,
				Params:  []tools.Param{what, number, path, job, before, after, maxParam},
			},
		),
		r.tool(
			Issue,
			tools.Sheet{Name: "github_issue", Aliases: []string{"get_issue", "read_issue"}, Params: []tools.Param{number}},
		),
		r.tool(
			Comments,
			tools.Sheet{
				Name:    "github_comments",
				Aliases: []string{"get_issue_comments", "read_comments", "list_comments"},
				Params:  []tools.Param{number, before, maxParam},
			},
		),
		r.tool(
			PullRequest,
			tools.Sheet{
				Name:    "github_pull_request",
				Aliases: []string{"get_pull_request", "read_pull_request"},
				Params:  []tools.Param{number},
			},
		),
		r.tool(
			Diff,
			tools.Sheet{
				Name:    "github_pull_request_diff",
				Aliases: []string{"get_pull_request_diff", "pull_request_diff"},
				Params:  []tools.Param{number, path, after},
			},
		),
		r.tool(
			ReviewThreads,
			tools.Sheet{
				Name:    "github_review_threads",
				Aliases: []string{"get_review_comments", "review_comments"},
				Params:  []tools.Param{number},
			},
		),
		r.tool(
			Checks,
			tools.Sheet{
				Name:    "github_checks",
				Aliases: []string{"get_checks", "check_runs", "list_checks"},
				Params:  []tools.Param{number},
			},
		),
		r.tool(
			JobLog,
			tools.Sheet{
				Name:    "github_job_log",
				Aliases: []string{"get_job_logs", "job_log", "read_job_log"},
				Example: `{"job":4711}`,
				Params:  []tools.Param{needed, before},
			},
		),
	}
}

type reader struct {
	source Source
	nonce  string
}

func (r reader) tool(part Part, s tools.Sheet) tools.Tool {
	s.Kind = policy.Read
	if s.Example == "" {
		s.Example = `{"number":12}`
	}
	return tools.New(s,
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := query(part, a)
			return policy.Action{Kind: policy.Read}, err
		},
		func(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			q, err := query(part, a)
			if err != nil {
				return tools.Result{}, err
			}
			page, err := r.source.Read(ctx, q)
			if err != nil {
				return tools.Result{}, err
			}
			head := untrusted.EscapeLine(page.Head)
			return tools.Result{Content: r.show(head, page), Title: "Read " + head}, nil
		})
}

func query(part Part, a tools.Args) (Query, error) {
	q := Query{Part: part, Bytes: maxBytes, Max: comments}
	word, err := a.Text("what")
	errs := []error{err}
	if at := slices.Index(words[:], strings.ToLower(strings.TrimSpace(word))); at >= 0 {
		q.Part = Part(at)
	} else if word != "" {
		return q, a.Wrong("%q is none of %s", word, strings.Join(words[:], ", "))
	}
	for name, to := range map[string]*int64{"number": &q.Number, "job": &q.Job, "before": &q.Before, "after": &q.After, "max": &q.Max} {
		s, err := a.Text(name)
		if s = strings.TrimLeft(strings.TrimSpace(s), "#"); err == nil && s != "" {
			if *to, err = strconv.ParseInt(s, 10, 64); err != nil || *to < 0 {
				err = a.WrongType(name, "a whole number")
			}
		}
		errs = append(errs, err)
	}
	q.Path, err = a.Text("path")
	if q.Part == JobLog && q.Job == 0 {
		return q, a.Wrong("missing argument %q; checks gives the numbers of jobs", "job")
	}
	return q, errors.Join(append(errs, err)...)
}

// show formats an answer. It strips invisible content from untrusted texts, and fences
// them with marks that they cannot close.
func (r reader) show(head string, page Page) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	room, more := maxBytes, page.More
	for i, it := range page.Items {
		text := strings.ToValidUTF8(it.Text, "�")
		if it.Plain {
			text = tools.Shorten(untrusted.StripEscapes(text), maxBytes)
		} else {
			text, _ = untrusted.Clean(text, it.HTML) //control:github-tools-clean
			text = tools.Shorten(text, maxItem)
		}
		if room -= len(text); room < 0 && i > 0 {
			more = fmt.Sprintf("%d more had no room", len(page.Items)-i)
			if next := page.Items[i-1].Next; next != "" {
				more += "; go on with " + next
			}
			break
		}
		b.WriteString(untrusted.Fence(r.nonce, it.Label, strings.TrimRight(text, "\n")) + "\n") //control:github-tools-fence
	}
	if more != "" {
		b.WriteString("[" + untrusted.EscapeLine(more) + "]\n")
	}
	return b.String()
}
