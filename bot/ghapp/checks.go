package ghapp

import (
	"context"

	"github.com/google/go-github/v62/github"
)

// CheckSpec is the desired state of a check run. Status is queued, in_progress or
// completed; Conclusion is set only if Status is completed.
type CheckSpec struct {
	ID         int64 // the run to update
	Name       string
	SHA        string
	Status     string
	Conclusion string
	Title      string
	Summary    string
	Text       string
	DetailsURL string
	Notes      []Annotation // appended to the existing ones by GitHub
}

// Annotation is a note of a check run on lines of a file. Level is failure, warning or
// notice; Text is plain text, not Markdown.
type Annotation struct {
	Path        string
	From, To    int
	Level       string
	Title, Text string
}

func checkOutput(s CheckSpec) *github.CheckRunOutput {
	if s.Title == "" && s.Summary == "" && s.Text == "" {
		return nil
	}
	out := &github.CheckRunOutput{Title: &s.Title, Summary: &s.Summary}
	if s.Text != "" {
		out.Text = &s.Text
	}
	for _, n := range s.Notes {
		out.Annotations = append(
			out.Annotations,
			&github.CheckRunAnnotation{Path: &n.Path, StartLine: &n.From, EndLine: &n.To,
				AnnotationLevel: &n.Level, Title: &n.Title, Message: &n.Text},
		)
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func createCheck(ctx context.Context, c *Client, w Write) (Ref, error) {
	s := w.Check
	r, _, err := c.gh.Checks.CreateCheckRun(ctx, c.owner, c.repo, github.CreateCheckRunOptions{
		Name: s.Name, HeadSHA: s.SHA, ExternalID: &w.Key, Status: optional(s.Status), Conclusion: optional(s.Conclusion),
		DetailsURL: optional(s.DetailsURL), Output: checkOutput(*s)})
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, c.writeError("create check run", err)
}

func findCheck(ctx context.Context, c *Client, w Write) (found Ref, ok bool, err error) {
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		opt := &github.ListCheckRunsOptions{CheckName: &w.Check.Name, Filter: github.String("all"), ListOptions: o}
		list, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.owner, c.repo, w.Check.SHA, opt)
		if err != nil {
			return resp, c.readError("list check runs", err)
		}
		for _, r := range list.CheckRuns {
			if !ok && r.GetExternalID() == w.Key && (c.app.cfg.AppID == 0 || r.GetApp().GetID() == c.app.cfg.AppID) {
				found, ok = Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, true
			}
		}
		return resp, nil
	})
	return found, ok, err
}

func updateCheck(ctx context.Context, c *Client, w Write) (Ref, error) {
	s := w.Check
	r, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.owner, c.repo, s.ID, github.UpdateCheckRunOptions{
		Name: s.Name, Status: optional(s.Status), Conclusion: optional(s.Conclusion),
		DetailsURL: optional(s.DetailsURL), Output: checkOutput(*s)})
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, c.writeError("update check run", err)
}

// checkIs reports whether a check run matches its spec.
func checkIs(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	s := w.Check
	r, _, err := c.gh.Checks.GetCheckRun(ctx, c.owner, c.repo, s.ID)
	if err != nil {
		return Ref{}, false, c.readError("read check run", err)
	}
	o := r.GetOutput()
	same := r.GetStatus() == s.Status && r.GetConclusion() == s.Conclusion && o.GetTitle() == s.Title &&
		o.GetSummary() == s.Summary &&
		o.GetText() == s.Text
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, same, nil
}

// IsOwn reports whether app is the id of the bot's own App.
func IsOwn(c *Client, app int64) bool { return app != 0 && app == c.app.cfg.AppID }
