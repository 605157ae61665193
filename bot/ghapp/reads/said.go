package reads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Said is a text by a user, in the form of GitHub's event for it.
type Said struct {
	ID      string // id of the text
	Event   string
	Payload []byte
}

// TextsSince returns the texts written in a repository since a time: issues, pull requests,
// comments and reviews. For a token it replaces the list of missed deliveries.
func TextsSince(ctx context.Context, c *ghapp.Client, at thread.Ref, since time.Time) ([]Said, error) {
	l := listing{client: c, at: at, since: since.UTC().Truncate(time.Second)}
	changed := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"asc"}, "since": {l.since.Format(time.RFC3339)}}
	if err := l.read(ctx, "", &l.repository); err != nil {
		return nil, err
	}
	err := l.list(ctx, "issues", changed, l.thread)
	return l.found, err
}

// Follow polls one thread for new texts. It is not safe for concurrent use.
type Follow struct {
	Client *ghapp.Client
	At     thread.Ref
	Since  time.Time

	repository, was json.RawMessage
	again           bool
}

// Look returns the texts since Since, if the thread has changed. For an unchanged
// thread it sends only a conditional request, which does not count against the rate
// limit.
func (f *Follow) Look(ctx context.Context) ([]Said, error) {
	l := listing{client: f.Client, at: f.At, since: f.Since.UTC().Truncate(time.Second), repository: f.repository}
	if l.repository == nil {
		if err := l.read(ctx, "", &l.repository); err != nil {
			return nil, err
		}
		f.repository = l.repository
	}
	var now json.RawMessage
	if err := l.read(ctx, fmt.Sprintf("issues/%d", f.At.Number), &now); err != nil {
		return nil, err
	}
	// GitHub's times are in seconds, so two changes within one second may look like one.
	// After a change the thread is therefore listed twice.
	same := bytes.Equal(now, f.was)
	if same && !f.again { //control:quiet-threads-cost-nothing
		return nil, nil
	}
	var w written
	if err := json.Unmarshal(now, &w); err != nil {
		return nil, &ghapp.Error{Op: opSaid, Kind: ghapp.Temporary, Err: err}
	}
	if err := l.thread(ctx, now, w); err != nil {
		return nil, err
	}
	f.was, f.again = now, !same
	return l.found, nil
}

// listing collects the texts written in a repository.
type listing struct {
	client     *ghapp.Client
	at         thread.Ref
	since      time.Time
	repository json.RawMessage
	found      []Said
}

// written is the common part of issues, comments and reviews.
type written struct {
	ID          int64
	Number      int
	User        json.RawMessage
	Created     time.Time       `json:"created_at"`
	Submitted   time.Time       `json:"submitted_at"` // reviews only, which have no other time
	PullRequest json.RawMessage `json:"pull_request"`
}

func (l *listing) read(ctx context.Context, path string, into any) error {
	_, err := page(ctx, l.client, ghapp.Ask{Op: opSaid, Thread: l.at, Path: path}, into)
	return err
}

const opSaid = "list texts"

// list calls each for every entry of a list, on all pages.
func (l *listing) list(ctx context.Context, path string, query url.Values,
	each func(context.Context, json.RawMessage, written) error) error {
	query.Set("per_page", "100")
	for page := 1; ; page++ {
		query.Set("page", strconv.Itoa(page))
		var items []json.RawMessage
		if err := l.read(ctx, path+"?"+query.Encode(), &items); err != nil {
			return err
		}
		for _, raw := range items {
			var w written
			if err := json.Unmarshal(raw, &w); err != nil {
				return &ghapp.Error{Op: opSaid, Kind: ghapp.Temporary, Err: err}
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

// thread adds an issue or a pull request and its comments.
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
			comment, err := asCreated(comment)
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

// reviews adds the reviews of a pull request. The list of threads omits the head
// branch, which decides whether a review is an answer, so the pull request is read
// separately.
func (l *listing) reviews(ctx context.Context, number int) error {
	var pull json.RawMessage
	return l.list(ctx, fmt.Sprintf("pulls/%d/reviews", number), url.Values{}, func(ctx context.Context, raw json.RawMessage, w written) error {
		if w.Created = w.Submitted; w.Created.Before(l.since) { // too old, or not yet submitted
			return nil
		}
		if pull == nil {
			if err := l.read(ctx, fmt.Sprintf("pulls/%d", number), &pull); err != nil {
				return err
			}
		}
		return l.add("pull_request_review", "submitted", w, map[string]json.RawMessage{"pull_request": pull, "review": raw}) //control:listed-reviews
	})
}

// asCreated resets the update time of a comment to its creation time. The event of an
// edited comment then has the key of the first one, so it is recognized if that one was
// received.
func asCreated(comment json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(comment, &fields); err != nil {
		return nil, &ghapp.Error{Op: opSaid, Kind: ghapp.Temporary, Err: err}
	}
	fields["updated_at"] = fields["created_at"] //control:listed-as-new
	return json.Marshal(fields)
}

// add adds an event, unless its text is too old.
func (l *listing) add(kind, action string, w written, with map[string]json.RawMessage) error {
	if w.Created.Before(l.since) {
		return nil
	}
	with["action"], with["repository"], with["sender"] = json.RawMessage(strconv.Quote(action)), l.repository, w.User
	payload, err := json.Marshal(with)
	l.found = append(l.found, Said{fmt.Sprintf("%s-%d", kind, w.ID), kind, payload})
	return err
}
