package reads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Check is a check run or a commit status.
type Check struct {
	Name      string
	App       string // slug of the App that made the check run; empty for a status
	State     string // success, failure, cancelled, …; queued, in_progress or pending while running
	Job       int64  // GitHub Actions job with a readable log; 0 if there is none
	Title     string // written by the check, like Summary; a status has only Title
	Summary   string
	URL       string
	Started   time.Time
	Completed time.Time

	ID, Suite int64 // check runs only; they increase over time
	AppID     int64
}

// Failed reports whether the check ended without success.
func (c Check) Failed() bool {
	return slices.Contains(
		[]string{"failure", "error", "timed_out", "cancelled", "action_required", "startup_failure"},
		c.State,
	)
}

// Running reports whether the check is still running or queued.
func (c Check) Running() bool {
	return slices.Contains([]string{"queued", "in_progress", "pending", "waiting", "requested"}, c.State)
}

const checkPages = 3

// Checks returns the newest check runs and statuses of a commit by name, at most 300 of
// each. If the App may not read statuses, a single check named "commit statuses" says
// so.
func Checks(ctx context.Context, c *ghapp.Client, sha string) ([]Check, error) {
	return checks(ctx, c, sha, "latest")
}

// OthersChecks is [Checks] with every attempt of a check run and without the bot's own.
func OthersChecks(ctx context.Context, c *ghapp.Client, sha string) ([]Check, error) {
	all, err := checks(ctx, c, sha, "all")
	return slices.DeleteFunc(all, func(k Check) bool {
		return ghapp.IsOwn(c, k.AppID) || k.State == unreadable //control:own-checks
	}), err
}

// unreadable is the state of checks that the App may not read.
const unreadable = "unreadable"

func checks(ctx context.Context, c *ghapp.Client, sha, filter string) ([]Check, error) {
	out, err := checkRuns(ctx, c, sha, filter)
	if err != nil {
		return nil, err
	}
	for next := 1; next != 0 && next <= checkPages; {
		var got struct {
			Statuses []struct {
				State, Context, Description string
				Target                      string    `json:"target_url"`
				Updated                     time.Time `json:"updated_at"`
			}
		}
		next, err = page(
			ctx,
			c,
			ghapp.Ask{
				Op:   "read statuses",
				Path: fmt.Sprintf("commits/%s/status?per_page=%d&page=%d", url.PathEscape(sha), pageSize, next),
			},
			&got,
		)
		var e *ghapp.Error
		if errors.As(err, &e) && e.Kind == ghapp.Permanent &&
			e.Status == http.StatusForbidden { // many Apps lack this permission
			out = append(out, Check{Name: "commit statuses", State: unreadable, Title: e.Err.Error()})
			break
		}
		if err != nil {
			return nil, err
		}
		for _, s := range got.Statuses {
			out = append(out, Check{Name: s.Context, State: s.State, Title: s.Description, URL: s.Target, Completed: s.Updated})
		}
	}
	slices.SortStableFunc(out, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func checkRuns(ctx context.Context, c *ghapp.Client, sha, filter string) (out []Check, err error) {
	for next := 1; next != 0 && next <= checkPages; {
		var got struct {
			Runs []struct {
				ID                       int64
				Name, Status, Conclusion string
				Details                  string             `json:"details_url"`
				HTMLURL                  string             `json:"html_url"`
				Started                  time.Time          `json:"started_at"`
				Completed                time.Time          `json:"completed_at"`
				Suite                    struct{ ID int64 } `json:"check_suite"`
				App                      struct {
					ID   int64
					Slug string
				}
				Output struct{ Title, Summary string }
			} `json:"check_runs"`
		}
		next, err = page(
			ctx,
			c,
			ghapp.Ask{
				Op: "list check runs",
				Path: fmt.Sprintf(
					"commits/%s/check-runs?filter=%s&per_page=%d&page=%d",
					url.PathEscape(sha),
					filter,
					pageSize,
					next,
				),
			},
			&got,
		)
		if err != nil {
			return nil, err
		}
		for _, r := range got.Runs {
			k := Check{
				Name:      r.Name,
				App:       r.App.Slug,
				State:     r.Status,
				Title:     r.Output.Title,
				Summary:   r.Output.Summary,
				URL:       r.HTMLURL,
				Started:   r.Started,
				Completed: r.Completed,
				ID:        r.ID,
				Suite:     r.Suite.ID,
				AppID:     r.App.ID,
			}
			if r.Status == "completed" {
				k.State = r.Conclusion
			}
			if r.App.Slug == "github-actions" {
				k.Job = jobOf(r.Details, r.ID)
			}
			out = append(out, k)
		}
	}
	return out, nil
}

var jobRE = pattern.Lazy(`/actions/runs/\d+/jobs?/(\d+)`)

// jobOf returns the job id of a check run: the one in its address, or else the id of
// the run.
func jobOf(details string, run int64) int64 {
	if m := jobRE().FindStringSubmatch(details); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return n
		}
	}
	return run
}

// Log is a part of a job log. It consists of whole lines, unless a line is longer than
// the requested part.
type Log struct {
	Text  string
	From  int64 // offset of Text in the log, in bytes
	Total int64 // size of the log, in bytes
	Cut   bool  // the log is longer than Total; the rest was not read
}

// Tail selects a part of a log: at most Most bytes that end at offset Before. 0 means
// the end of the log.
type Tail struct {
	Before   int64
	MaxBytes int
}

const (
	maxLog  = 64 << 20 // maximum number of bytes read from a log
	maxTail = 1 << 20  // maximum number of bytes kept
)

// JobLog returns the selected part of a job's log.
func JobLog(ctx context.Context, c *ghapp.Client, job int64, t Tail) (Log, error) {
	body, err := c.Away(ctx, ghapp.Ask{Op: "read log", Path: fmt.Sprintf("actions/jobs/%d/logs", job)})
	if err != nil {
		return Log{}, err
	}
	defer body.Close()
	most := min(max(t.MaxBytes, 1), maxTail)
	end := int64(maxLog)
	if t.Before > 0 {
		end = min(end, t.Before)
	}
	var out Log
	var kept []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := body.Read(chunk)
		if part := end - out.Total; part > 0 {
			kept = append(kept, chunk[:min(int64(n), part)]...)
			kept = kept[max(0, len(kept)-most-1):] // plus the preceding byte
		}
		if out.Total += int64(n); out.Total >= maxLog {
			out.Cut = true
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Log{}, &ghapp.Error{Op: "read log", Kind: ghapp.Temporary, Err: errors.New("it broke off in the middle")}
		}
	}
	out.From = min(end, out.Total) - int64(len(kept))
	if len(kept) > most { // start at the next line
		skip := 1
		if i := strings.IndexByte(string(kept), '\n'); i >= 0 && i+1 < len(kept) {
			skip = i + 1
		}
		kept, out.From = kept[skip:], out.From+int64(skip)
	}
	out.Text = strings.ToValidUTF8(string(kept), "�")
	return out, nil
}
