// Package reader connects the tools of agent/tools/github to bot/ghapp/reads. It names
// the author of each text, and how to read the omitted parts.
package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/pattern"
)

const (
	maxLinked   = 5
	maxThreads  = 30
	maxFiles    = 300  // in a list
	maxSearched = 3000 // in a search for one file
	maxChecks   = 100
	pathBytes   = 300
)

// Reader reads one thread and the others of its repository.
type Reader struct {
	client *ghapp.Client
	ref    thread.Ref
	hides  Hides
}

// Hides returns a filter for the files of a pull request that are hidden from the agent.
type Hides func(ctx context.Context, p ghapp.Pull) (func(path string) bool, error)

// New returns the reader for a session on a thread. Hides may be nil.
func New(client *ghapp.Client, ref thread.Ref, hides Hides) Reader { return Reader{client, ref, hides} }

// hidden returns the filter for hidden files of the current pull request.
func (r Reader) hidden(ctx context.Context) (func(path string) bool, error) {
	if r.hides == nil {
		return func(string) bool { return false }, nil
	}
	p, err := r.client.GetPull(ctx, r.ref)
	if err != nil {
		return nil, err
	}
	return r.hides(ctx, p)
}

const isHidden = ".agentignore hides what is in it from you"

// Read implements [github.Source].
func (r Reader) Read(ctx context.Context, q github.Query) (github.Page, error) {
	if q.Number > 0 {
		r.ref.Number = int(q.Number)
	}
	page, err := map[github.Part]func(context.Context, github.Query) (github.Page, error){
		github.Issue: r.issue, github.Comments: r.comments, github.PullRequest: r.pull, github.Diff: r.diff,
		github.ReviewThreads: r.threads, github.Checks: r.checks, github.JobLog: r.log,
	}[q.Part](ctx, q)
	if errors.Is(err, ghapp.ErrNotFound) {
		return page, r.notFoundError(ctx, q)
	}
	return page, err
}

// notFoundError returns the error for the model if the queried item was not found.
func (r Reader) notFoundError(ctx context.Context, q github.Query) error {
	if q.Part == github.JobLog {
		return fmt.Errorf(
			"there is no log of a job %d here, or the job still runs; github with what \"checks\" lists jobs and how they are",
			q.Job,
		)
	}
	is, err := r.client.Issue(ctx, r.ref)
	switch {
	case errors.Is(err, ghapp.ErrNotFound):
		return fmt.Errorf("there is no #%d in this repository", r.ref.Number)
	case err == nil && !is.IsPull:
		return fmt.Errorf("#%d is an issue, not a pull request; give the number of a pull request", r.ref.Number)
	}
	return fmt.Errorf("GitHub has nothing of that kind for #%d", r.ref.Number)
}

// describeAuthor describes the author of a text.
func describeAuthor(author, relation string, bot bool) string {
	if author == "" {
		author = "an account that is gone"
	}
	if bot {
		return author + ", a bot"
	}
	if relation == "" || relation == "NONE" {
		return author + ", not of this repository"
	}
	return author + ", " + strings.ToLower(strings.ReplaceAll(relation, "_", " "))
}

func (r Reader) issue(ctx context.Context, _ github.Query) (github.Page, error) {
	is, err := r.client.Issue(ctx, r.ref)
	if err != nil {
		return github.Page{}, err
	}
	linked, left, err := reads.Linked(ctx, r.client, is, maxLinked)
	if err != nil {
		return github.Page{}, err
	}
	what := "issue"
	if is.IsPull {
		what = "pull request"
	}
	page := github.Page{Head: fmt.Sprintf("%s #%d, %s, %d comments", what, is.Ref.Number, is.State, is.Comments)}
	page.Items = append(
		page.Items,
		github.Item{
			Label: "title and labels",
			Plain: true,
			Text:  strings.Join(append([]string{is.Title}, is.Labels...), "\nlabel: "),
		},
		github.Item{Label: "text by " + describeAuthor(is.Author, is.Relation, false), Text: is.Body, HTML: is.HTML},
	)
	for _, o := range linked {
		page.Items = append(
			page.Items,
			github.Item{Label: fmt.Sprintf("title of linked #%d, %s", o.Ref.Number, o.State), Plain: true, Text: o.Title},
		)
	}
	if left > 0 {
		page.More = fmt.Sprintf("%d more linked issues are not shown", left)
	}
	return page, nil
}

func comment(cm reads.Comment, what string) github.Item {
	it := github.Item{Label: fmt.Sprintf("%s %d by %s, %s", what, cm.Position, describeAuthor(cm.Author, cm.Relation, cm.Bot), cm.Created.UTC().Format("2006-01-02 15:04")), Text: cm.Body, HTML: cm.HTML}
	if !cm.Edited.IsZero() {
		it.Label += ", edited later"
	}
	return it
}

func (r Reader) comments(ctx context.Context, q github.Query) (github.Page, error) {
	list, err := reads.Comments(ctx, r.client, r.ref, reads.Window{Before: int(q.Before), Max: int(min(q.Max, 100))})
	if err != nil {
		return github.Page{}, err
	}
	page := github.Page{
		Head: fmt.Sprintf("%d of %d comments on #%d, newest first", len(list.List), list.Total, r.ref.Number),
	}
	for _, cm := range list.List {
		it := comment(cm, "comment")
		it.Next = fmt.Sprintf("before=%d", cm.Position)
		page.Items = append(page.Items, it)
	}
	if list.Older > 0 {
		page.More = fmt.Sprintf("older comments: before=%d", list.Older)
	}
	return page, nil
}

// stat formats a file for a list.
func stat(f reads.File) string {
	line := fmt.Sprintf("%s +%d -%d", f.Path, f.Additions, f.Deletions)
	if f.Status != "" {
		line = f.Status + " " + line
	}
	if f.Previous != "" {
		line += ", was " + f.Previous
	}
	return line
}

func stats(list []reads.File) string {
	lines := make([]string, 0, len(list))
	for _, f := range list {
		lines = append(lines, stat(f))
	}
	return strings.Join(lines, "\n")
}

func (r Reader) pull(ctx context.Context, _ github.Query) (github.Page, error) {
	p, err := r.client.GetPull(ctx, r.ref)
	if err != nil {
		return github.Page{}, err
	}
	files, err := reads.Files(ctx, r.client, r.ref, maxFiles)
	if err != nil {
		return github.Page{}, err
	}
	state := p.State
	if p.Merged {
		state = "merged"
	} else if p.Draft {
		state += ", draft"
	}
	page := github.Page{Head: fmt.Sprintf("pull request #%d, %s, at %.12s, %d files, +%d -%d", p.Ref.Number, state, p.HeadSHA, files.Total, files.Additions, files.Deletions)}
	page.Items = []github.Item{
		{Label: "title, and branches", Plain: true, Text: fmt.Sprintf("%s\nfrom %s into %s", p.Title, p.Head, p.Base)},
		{Label: "description by " + p.Author, Text: p.Body, HTML: p.HTML},
		{Label: "changed files", Plain: true, Text: stats(files.List)},
	}
	if n := files.Total - len(files.List); n > 0 {
		page.More = fmt.Sprintf("%d more files are not listed", n)
	}
	return page, nil
}

func (r Reader) diff(ctx context.Context, q github.Query) (github.Page, error) {
	if q.Path != "" {
		return r.fileDiff(ctx, q)
	}
	hides, err := r.hidden(ctx)
	if err != nil {
		return github.Page{}, err
	}
	d, err := reads.PullDiff(ctx, r.client, r.ref, q.Bytes, hides)
	if err != nil {
		return github.Page{}, err
	}
	page := github.Page{
		Head: fmt.Sprintf("diff of #%d, %d of %d files", r.ref.Number, len(d.Files), len(d.Files)+len(d.Left)+len(d.Hidden)),
	}
	for _, f := range d.Files {
		it := github.Item{Label: "diff of " + f.Path, Plain: true, Text: f.Patch}
		if f.Cut {
			it.Label += ", its beginning"
		}
		page.Items = append(page.Items, it)
	}
	if len(d.Hidden) > 0 {
		page.Items = append(
			page.Items,
			github.Item{Label: "files that .agentignore hides from you", Plain: true, Text: stats(d.Hidden)},
		)
	}
	if len(d.Left) > 0 {
		page.Items = append(page.Items, github.Item{Label: "files that had no room", Plain: true, Text: stats(d.Left)})
		page.More = "ask for the files that had no room with path"
	}
	return page, nil
}

func (r Reader) fileDiff(ctx context.Context, q github.Query) (github.Page, error) {
	files, err := reads.Files(ctx, r.client, r.ref, maxSearched)
	if err != nil {
		return github.Page{}, err
	}
	i := slices.IndexFunc(files.List, func(f reads.File) bool { return f.Path == strings.TrimPrefix(q.Path, "./") })
	if i < 0 {
		return github.Page{}, fmt.Errorf(
			"#%d does not change %.*s; github with what \"pull_request\" lists what it changes",
			r.ref.Number,
			pathBytes,
			q.Path,
		)
	}
	f := files.List[i]
	hides, err := r.hidden(ctx)
	if err != nil {
		return github.Page{}, err
	}
	if f.HiddenBy(hides) {
		return github.Page{}, fmt.Errorf("%.*s is in #%d; %s", pathBytes, f.Path, r.ref.Number, isHidden)
	}
	page := github.Page{Head: fmt.Sprintf("diff of %.*s of #%d", pathBytes, f.Path, r.ref.Number)}
	if f.Patch == "" {
		page.More = "GitHub shows no diff of it: it is binary, too large, or only its name has changed"
	}
	lines := strings.SplitAfter(f.Patch, "\n")
	from := min(int(q.After), len(lines))
	to, size := from, 0
	for to < len(lines) && (size+len(lines[to]) <= q.Bytes || to == from) {
		size += len(lines[to])
		to++
	}
	page.Items = []github.Item{{Label: "diff of " + stat(f), Plain: true, Text: strings.Join(lines[from:to], "")}}
	if to < len(lines) {
		page.More = fmt.Sprintf("lines %d to %d of %d; go on with after=%d", from+1, to, len(lines), to)
	}
	return page, nil
}

func (r Reader) threads(ctx context.Context, _ github.Query) (github.Page, error) {
	list, err := reads.ReviewThreads(ctx, r.client, r.ref, maxThreads)
	if err != nil {
		return github.Page{}, err
	}
	hides, err := r.hidden(ctx)
	if err != nil {
		return github.Page{}, err
	}
	page := github.Page{
		Head: fmt.Sprintf("unresolved review threads of #%d: %d; resolved: %d", r.ref.Number, len(list.List), list.Resolved),
	}
	for _, t := range list.List {
		where := fmt.Sprintf("lines of %s up to line %d", t.Path, t.Line)
		if t.Outdated {
			where += ", which have changed since"
		}
		if hides(t.Path) { //control:hidden-thread
			t.Hunk = "(" + isHidden + ")"
		}
		page.Items = append(page.Items, github.Item{Label: where, Plain: true, Text: t.Hunk})
		for _, cm := range t.Comments {
			page.Items = append(page.Items, comment(cm, "comment on them,"))
		}
	}
	if list.Unread > 0 {
		page.More = fmt.Sprintf("%d more threads are not shown", list.Unread)
	}
	return page, nil
}

func (r Reader) checks(ctx context.Context, _ github.Query) (github.Page, error) {
	p, err := r.client.GetPull(ctx, r.ref)
	if err != nil {
		return github.Page{}, err
	}
	list, err := reads.Checks(ctx, r.client, p.HeadSHA)
	if err != nil {
		return github.Page{}, err
	}
	slices.SortStableFunc(list, func(a, b reads.Check) int { return rank(a) - rank(b) })
	var failed, running int
	var lines []string
	for _, k := range list {
		line := fmt.Sprintf("%s: %s", k.State, k.Name)
		if k.Failed() {
			failed++
		} else if k.Running() {
			running++
		}
		if k.Title != "" {
			line += " (" + k.Title + ")"
		}
		if k.Job != 0 {
			line += fmt.Sprintf(", job %d", k.Job)
		}
		lines = append(lines, line)
	}
	page := github.Page{Head: fmt.Sprintf("checks of #%d at %.12s: %d; failed: %d; still running: %d", r.ref.Number, p.HeadSHA, len(list), failed, running)}
	if n := len(lines) - maxChecks; n > 0 {
		lines, page.More = lines[:maxChecks], fmt.Sprintf(
			"%d more checks are not listed; those that failed are listed first",
			n,
		)
	}
	if len(lines) > 0 {
		page.Items = []github.Item{
			{Label: "checks, with what they say of themselves", Plain: true, Text: strings.Join(lines, "\n")},
		}
	}
	return page, nil
}

// rank sorts failed checks first, then running ones.
func rank(k reads.Check) int {
	switch {
	case k.Failed():
		return 0
	case k.Running():
		return 1
	}
	return 2
}

// stampRE matches the timestamp at the beginning of each line of a log.
var stampRE = pattern.Lazy(`(?m)^\x{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z `)

func (r Reader) log(ctx context.Context, q github.Query) (github.Page, error) {
	log, err := reads.JobLog(ctx, r.client, q.Job, reads.Tail{Before: q.Before, MaxBytes: q.Bytes})
	if err != nil {
		return github.Page{}, err
	}
	page := github.Page{
		Head: fmt.Sprintf("log of job %d, bytes %d to %d of %d", q.Job, log.From, log.From+int64(len(log.Text)), log.Total),
	}
	page.Items = []github.Item{{Label: "log", Plain: true, Text: stampRE().ReplaceAllString(log.Text, "")}}
	switch {
	case log.From > 0:
		page.More = fmt.Sprintf("what is before: before=%d", log.From)
	case log.Cut:
		page.More = "the log is longer than what was read of it"
	}
	return page, nil
}
