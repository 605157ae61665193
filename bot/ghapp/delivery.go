package ghapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

// Delivery is one attempt of GitHub to deliver an event.
type Delivery struct {
	ID         int64
	GUID       string // the same for all attempts at one event
	Event      string
	Action     string
	At         time.Time
	Redelivery bool
	Status     int // HTTP status that the bot answered, 0 when it was not reached
}

// OK reports whether the bot took the delivery.
func (d Delivery) OK() bool { return d.Status >= 200 && d.Status < 300 }

// Deliveries returns the attempts since a time, newest first. GitHub keeps
// them for three days. Only an app can ask.
func (a *App) Deliveries(ctx context.Context, since time.Time) ([]Delivery, error) {
	if a.self == nil {
		return nil, errors.New("list deliveries: only an app can; a token has no webhook of its own")
	}
	var out []Delivery
	opt := &github.ListCursorOptions{PerPage: 100}
	for {
		list, resp, err := a.self.Apps.ListHookDeliveries(ctx, opt)
		if err != nil {
			return nil, a.fail("list deliveries", false, err)
		}
		for _, d := range list {
			if d.GetDeliveredAt().Before(since) {
				return out, nil
			}
			out = append(out, Delivery{ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(), Action: d.GetAction(),
				At: d.GetDeliveredAt().Time, Redelivery: d.GetRedelivery(), Status: d.GetStatusCode()})
		}
		if resp.Cursor == "" {
			return out, nil
		}
		opt.Cursor = resp.Cursor
	}
}

// Redeliver asks GitHub to try a delivery again. Receiving an event twice is
// harmless: it keeps its GUID.
func (a *App) Redeliver(ctx context.Context, id int64) error {
	if a.self == nil {
		return errors.New("redeliver event: only an app can; a token has no webhook of its own")
	}
	_, _, err := a.self.Apps.RedeliverHookDelivery(ctx, id)
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return nil
	}
	return a.fail("redeliver event", true, err)
}

// Said is something that a person wrote, as the event with which GitHub tells of it.
type Said struct {
	ID      string // of the text
	Event   string
	Payload []byte
}

// Said returns what people wrote in a repository since a time: issues, pull requests
// and comments. With a token it stands in for deliveries that were missed.
func (a *App) Said(ctx context.Context, at thread.Ref, since time.Time) ([]Said, error) {
	c, err := a.For(ctx, at, 0)
	if err != nil {
		return nil, err
	}
	l := listing{Client: c, since: since.UTC().Truncate(time.Second)}
	changed := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"asc"}, "since": {l.since.Format(time.RFC3339)}}
	if err := l.read(ctx, fmt.Sprintf("repos/%s/%s", c.owner, c.repo), &l.repository); err != nil {
		return nil, err
	}
	err = l.list(ctx, "issues", changed, l.thread)
	return l.found, err
}

// listing collects what was written in a repository.
type listing struct {
	*Client
	since      time.Time
	repository json.RawMessage
	found      []Said
}

// written is what is read of anything that a person wrote.
type written struct {
	ID          int64
	Number      int
	User        json.RawMessage
	Created     time.Time       `json:"created_at"`
	Submitted   time.Time       `json:"submitted_at"` // of a review, which has no other time
	PullRequest json.RawMessage `json:"pull_request"`
}

func (l *listing) read(ctx context.Context, path string, into any) error {
	req, err := l.gh.NewRequest("GET", path, nil)
	if err == nil {
		_, err = l.gh.Do(ctx, req, into)
	}
	return l.readError("list what was written", err)
}

// list calls each for everything in a listing.
func (l *listing) list(ctx context.Context, path string, query url.Values, each func(context.Context, json.RawMessage, written) error) error {
	query.Set("per_page", "100")
	for page := 1; ; page++ {
		query.Set("page", strconv.Itoa(page))
		var items []json.RawMessage
		if err := l.read(ctx, fmt.Sprintf("repos/%s/%s/%s?%s", l.owner, l.repo, path, query.Encode()), &items); err != nil {
			return err
		}
		for _, raw := range items {
			var w written
			if err := json.Unmarshal(raw, &w); err != nil {
				return &Error{Op: "list what was written", Err: err}
			}
			if err := each(ctx, raw, w); err != nil {
				return err
			}
		}
		if len(items) < 100 {
			return nil
		}
	}
}

// thread takes in an issue or a pull request, and the comments in it.
func (l *listing) thread(ctx context.Context, raw json.RawMessage, w written) error {
	pull := len(w.PullRequest) > 0 && string(w.PullRequest) != "null"
	kind, object := "issues", "issue"
	if pull {
		kind, object = "pull_request", "pull_request"
	}
	if err := l.add(kind, "opened", w, map[string]json.RawMessage{object: raw}); err != nil {
		return err
	}
	comments := func(kind, object string) func(context.Context, json.RawMessage, written) error {
		return func(_ context.Context, comment json.RawMessage, w written) error {
			comment, err := asNew(comment)
			if err != nil {
				return err
			}
			return l.add(kind, "created", w, map[string]json.RawMessage{object: raw, "comment": comment})
		}
	}
	since := func() url.Values { return url.Values{"since": {l.since.Format(time.RFC3339)}} }
	err := l.list(ctx, fmt.Sprintf("issues/%d/comments", w.Number), since(), comments("issue_comment", "issue"))
	if err != nil || !pull {
		return err
	}
	if err := l.list(ctx, fmt.Sprintf("pulls/%d/comments", w.Number), since(), comments("pull_request_review_comment", "pull_request")); err != nil {
		return err
	}
	return l.reviews(ctx, w.Number)
}

// reviews takes in the reviews of a pull request. The listing of threads does not say
// which branch it is from, and a review may be an answer by that.
func (l *listing) reviews(ctx context.Context, number int) error {
	var pull json.RawMessage
	return l.list(ctx, fmt.Sprintf("pulls/%d/reviews", number), url.Values{}, func(ctx context.Context, raw json.RawMessage, w written) error {
		if w.Created = w.Submitted; w.Created.Before(l.since) { // or not submitted yet
			return nil
		}
		if pull == nil {
			if err := l.read(ctx, fmt.Sprintf("repos/%s/%s/pulls/%d", l.owner, l.repo, number), &pull); err != nil {
				return err
			}
		}
		return l.add("pull_request_review", "submitted", w, map[string]json.RawMessage{"pull_request": pull, "review": raw}) //control:listed-reviews
	})
}

// asNew makes the event of a comment that was edited since the one with which it was
// told when it was new, so that it is known if it was.
func asNew(comment json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(comment, &fields); err != nil {
		return nil, &Error{Op: "list what was written", Err: err}
	}
	fields["updated_at"] = fields["created_at"] //control:listed-as-new
	return json.Marshal(fields)
}

// add adds an event, unless what it tells of is older.
func (l *listing) add(kind, action string, w written, with map[string]json.RawMessage) error {
	if w.Created.Before(l.since) {
		return nil
	}
	with["action"], with["repository"], with["sender"] = json.RawMessage(strconv.Quote(action)), l.repository, w.User
	payload, err := json.Marshal(with)
	l.found = append(l.found, Said{fmt.Sprintf("%s-%d", kind, w.ID), kind, payload})
	return err
}
