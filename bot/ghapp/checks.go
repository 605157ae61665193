package ghapp

import (
	"context"
	"time"

	"github.com/google/go-github/v62/github"
)

// CheckSpec is a check run as it should be. Status is queued, in_progress or
// completed; Conclusion is set with the last of them only.
type CheckSpec struct {
	ID         int64 // of the run to update
	Name       string
	SHA        string
	Status     string
	Conclusion string
	Title      string
	Summary    string
	Text       string
	DetailsURL string
}

// Check is a check run as GitHub has it.
type Check struct {
	ID                 int64
	Name, SHA          string
	Status, Conclusion string
	Title, Summary     string
	Text               string
	ExternalID         string
	AppID              int64
	URL                string
	Completed          time.Time
}

func check(r *github.CheckRun) Check {
	out := Check{ID: r.GetID(), Name: r.GetName(), SHA: r.GetHeadSHA(), Status: r.GetStatus(), Conclusion: r.GetConclusion(),
		ExternalID: r.GetExternalID(), AppID: r.GetApp().GetID(), URL: r.GetHTMLURL(), Completed: r.GetCompletedAt().Time}
	if o := r.Output; o != nil {
		out.Title, out.Summary, out.Text = o.GetTitle(), o.GetSummary(), o.GetText()
	}
	return out
}

// Checks returns the newest check run of every name on a commit or branch.
func (c *Client) Checks(ctx context.Context, ref string) ([]Check, error) {
	return c.checks(ctx, ref, &github.ListCheckRunsOptions{})
}

func (c *Client) checks(ctx context.Context, ref string, opt *github.ListCheckRunsOptions) ([]Check, error) {
	var out []Check
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		opt.ListOptions = o
		list, resp, err := c.gh.Checks.ListCheckRunsForRef(ctx, c.owner, c.repo, ref, opt)
		if err != nil {
			return resp, c.readError("list check runs", err)
		}
		for _, r := range list.CheckRuns {
			out = append(out, check(r))
		}
		return resp, nil
	})
	return out, err
}

func checkOutput(s CheckSpec) *github.CheckRunOutput {
	if s.Title == "" && s.Summary == "" && s.Text == "" {
		return nil
	}
	out := &github.CheckRunOutput{Title: &s.Title, Summary: &s.Summary}
	if s.Text != "" {
		out.Text = &s.Text
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (c *Client) createCheck(ctx context.Context, key string, s CheckSpec) (Ref, error) {
	r, _, err := c.gh.Checks.CreateCheckRun(ctx, c.owner, c.repo, github.CreateCheckRunOptions{
		Name: s.Name, HeadSHA: s.SHA, ExternalID: &key, Status: optional(s.Status), Conclusion: optional(s.Conclusion),
		DetailsURL: optional(s.DetailsURL), Output: checkOutput(s)})
	if err != nil {
		return Ref{}, c.writeError("create check run", err)
	}
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, nil
}

func (c *Client) updateCheck(ctx context.Context, s CheckSpec) (Ref, error) {
	r, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.owner, c.repo, s.ID, github.UpdateCheckRunOptions{
		Name: s.Name, Status: optional(s.Status), Conclusion: optional(s.Conclusion),
		DetailsURL: optional(s.DetailsURL), Output: checkOutput(s)})
	if err != nil {
		return Ref{}, c.writeError("update check run", err)
	}
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, nil
}

func (c *Client) findCheck(ctx context.Context, key string, s CheckSpec) (Ref, bool, error) {
	opt := &github.ListCheckRunsOptions{CheckName: &s.Name, Filter: github.String("all")}
	list, err := c.checks(ctx, s.SHA, opt)
	for _, r := range list {
		if r.ExternalID == key && (c.app.cfg.AppID == 0 || r.AppID == c.app.cfg.AppID) {
			return Ref{ID: r.ID, URL: r.URL}, true, nil
		}
	}
	return Ref{}, false, err
}

func (c *Client) checkIs(ctx context.Context, s CheckSpec) (Ref, bool, error) {
	r, _, err := c.gh.Checks.GetCheckRun(ctx, c.owner, c.repo, s.ID)
	if err != nil {
		return Ref{}, false, c.readError("read check run", err)
	}
	got := check(r)
	same := got.Status == s.Status && got.Conclusion == s.Conclusion && got.Title == s.Title && got.Summary == s.Summary && got.Text == s.Text
	return Ref{ID: got.ID, URL: got.URL}, same, nil
}
