package ghtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // GitHub still sends the older signature
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Delivery is one attempt to deliver an event.
type Delivery struct {
	ID         int64
	GUID       string // the same for every attempt
	Event      string
	Action     string
	At         time.Time
	Redelivery bool
	Status     int // HTTP status of the receiver, 0 when it could not be reached
	Payload    []byte

	installation, repository int64
	sent                     bool
}

type hookState struct {
	url   string
	queue []*Delivery
	log   []*Delivery // in the order of sending
	busy  bool
	wake  chan struct{}
}

// SetWebhook says where events go from now on; empty for nowhere, and then
// nothing is kept either, as with an app whose webhook is off.
func (s *Server) SetWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.url = url
}

// Deliveries returns the attempts so far, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Delivery, 0, len(s.hooks.log))
	for _, d := range s.hooks.log {
		out = append(out, *d)
	}
	return out
}

// Flush returns when every event so far was sent and answered.
func (s *Server) Flush(ctx context.Context) error {
	return s.Wait(ctx, func(s *Server) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.hooks.queue) == 0 && !s.hooks.busy
	})
}

func (s *Server) findDelivery(id int64) *Delivery {
	for _, d := range s.hooks.log {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func guid() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand does not fail
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) enqueue(d *Delivery) {
	if s.hooks.url == "" {
		return
	}
	d.ID, d.Status, d.sent = s.nextID(), 0, false
	s.hooks.queue = append(s.hooks.queue, d)
	select {
	case s.hooks.wake <- struct{}{}:
	default:
	}
}

// event says what happened and who did it.
type event struct {
	name, action string
	by           *user
}

// emit queues one event about r. The payload gets repository, sender and
// installation as GitHub adds them. The lock is held.
func (s *Server) emit(r *repo, ev event, payload object) {
	if ev.action != "" {
		payload["action"] = ev.action
	}
	payload["sender"] = s.filled("simple-user", s.userShape(ev.by))
	d := &Delivery{GUID: guid(), Event: ev.name, Action: ev.action}
	in := s.installed(r)
	if in == nil {
		return
	}
	payload["repository"] = s.filled("repository", s.repoShape(r))
	if r.owner.kind == "Organization" {
		payload["organization"] = object{"login": r.owner.login, "id": r.owner.id}
	}
	payload["installation"] = object{"id": in.id, "node_id": "MDIzOkludGVncmF0aW9u" + itoa(in.id)}
	d.installation, d.repository = in.id, r.id
	b, err := json.Marshal(payload)
	if err != nil {
		s.log.Error("encode event", "err", err)
		return
	}
	d.Payload = b
	s.enqueue(d)
}

func (s *Server) deliverLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer client.CloseIdleConnections()
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		<-s.closed
		cancel()
	}()
	for {
		select {
		case <-s.closed:
			return
		case <-s.hooks.wake:
		}
		for {
			d, url := s.nextDelivery()
			if d == nil {
				break
			}
			s.finish(d, s.send(ctx, client, url, d))
		}
	}
}

func (s *Server) nextDelivery() (*Delivery, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hooks.url == "" {
		s.hooks.queue = nil // there is nowhere to send to any more
	}
	if len(s.hooks.queue) == 0 {
		return nil, ""
	}
	d := s.hooks.queue[0]
	s.hooks.queue = s.hooks.queue[1:]
	s.hooks.busy = true
	d.At = s.now()
	return d, s.hooks.url
}

func (s *Server) finish(d *Delivery, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Status, d.sent = status, true
	s.hooks.log = append(s.hooks.log, d)
	s.hooks.busy = false
	s.touch()
}

// send posts one delivery as GitHub does and returns the status, 0 for none.
func (s *Server) send(ctx context.Context, client *http.Client, url string, d *Delivery) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Payload))
	if err != nil {
		s.log.Warn("deliver event", "err", err)
		return 0
	}
	secret := s.App().WebhookSecret
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitHub-Hookshot/ghtest")
	h.Set("X-GitHub-Event", d.Event)
	h.Set("X-GitHub-Delivery", d.GUID)
	h.Set("X-GitHub-Hook-ID", "42")
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	h.Set("X-GitHub-Hook-Installation-Target-ID", itoa(s.App().ID))
	sum1 := hmac.New(sha1.New, []byte(secret))
	sum1.Write(d.Payload)
	h.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(sum1.Sum(nil)))
	h.Set("X-Hub-Signature-256", Sign(secret, d.Payload))
	resp, err := client.Do(req)
	if err != nil {
		s.log.Warn("deliver event", "event", d.Event, "err", err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		s.log.Debug("read webhook answer", "err", err)
	}
	return resp.StatusCode
}

// Sign returns the value of X-Hub-Signature-256 for a payload.
func Sign(secret string, payload []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(payload)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// Deliver sends any payload, signed, as an event of its own, waits for the
// answer and returns the attempt.
func (s *Server) Deliver(ctx context.Context, event string, payload []byte) (Delivery, error) {
	var head struct {
		Action string `json:"action"`
	}
	if err := json.Unmarshal(payload, &head); err != nil {
		return Delivery{}, fmt.Errorf("deliver event: %w", err)
	}
	s.mu.Lock()
	if s.hooks.url == "" {
		s.mu.Unlock()
		return Delivery{}, fmt.Errorf("deliver event %s: no webhook is set", event)
	}
	d := &Delivery{GUID: guid(), Event: event, Action: head.Action, Payload: payload}
	s.enqueue(d)
	s.mu.Unlock()
	return s.await(ctx, d)
}

// Redeliver sends an earlier delivery again under the same GUID, waits for
// the answer and returns the new attempt.
func (s *Server) Redeliver(ctx context.Context, id int64) (Delivery, error) {
	s.mu.Lock()
	old := s.findDelivery(id)
	if old == nil {
		s.mu.Unlock()
		return Delivery{}, fmt.Errorf("redeliver %d: no such delivery", id)
	}
	d := *old
	d.Redelivery = true
	s.enqueue(&d)
	s.mu.Unlock()
	return s.await(ctx, &d)
}

func (s *Server) await(ctx context.Context, d *Delivery) (Delivery, error) {
	var out Delivery
	err := s.Wait(ctx, func(s *Server) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		out = *d
		return d.sent
	})
	return out, err
}

// The events, each with the parts that GitHub documents for it.

func (s *Server) emitComment(action string, c *comment, by *user, before string) {
	issue := s.filled("issue", s.issueShape(c.issue))
	p := object{"issue": issue, "comment": s.filled("issue-comment", s.commentShape(c))}
	if action == "edited" {
		p["changes"] = object{"body": object{"from": before}}
	}
	s.emit(c.issue.repo, event{"issue_comment", action, by}, p)
}

func (s *Server) emitIssue(action string, is *issue, by *user, extra object) {
	if is.pull != nil {
		s.emitPull(action, is, by, extra)
		return
	}
	p := object{"issue": s.filled("issue", s.issueShape(is))}
	for k, v := range extra {
		p[k] = v
	}
	s.emit(is.repo, event{"issues", action, by}, p)
}

func (s *Server) emitPull(action string, is *issue, by *user, extra object) {
	p := object{"number": is.number, "pull_request": s.filled("pull-request", s.pullDetail(is))}
	for k, v := range extra {
		p[k] = v
	}
	s.emit(is.repo, event{"pull_request", action, by}, p)
}

func (s *Server) emitReview(action string, is *issue, rv *review, by *user) {
	shape := s.filled("pull-request-review", s.reviewShape(is, rv)).(object)
	shape["state"] = strings.ToLower(rv.state)
	s.emit(is.repo, event{"pull_request_review", action, by}, object{"review": shape,
		"pull_request": s.filled("pull-request-simple", s.pullShape(is))})
}

func (s *Server) emitReviewComment(action string, c *comment, by *user, before string) {
	p := object{"comment": s.filled("pull-request-review-comment", s.reviewCommentShape(c)),
		"pull_request": s.filled("pull-request-simple", s.pullShape(c.issue))}
	if action == "edited" {
		p["changes"] = object{"body": object{"from": before}}
	}
	s.emit(c.issue.repo, event{"pull_request_review_comment", action, by}, p)
}

func (s *Server) emitCheck(action string, c *checkRun, by *user) {
	run := s.filled("check-run", s.checkShape(c)).(object)
	run["check_suite"] = s.suiteShape(c)
	s.emit(c.repo, event{"check_run", action, by}, object{"check_run": run})
}

// suiteShape is the check suite of a check; here every check has its own.
func (s *Server) suiteShape(c *checkRun) object {
	var branch any
	for name, sha := range c.repo.heads {
		if sha == c.sha {
			branch = name
		}
	}
	id := c.id + suiteOffset
	return object{"id": id, "node_id": "CS_" + itoa(id), "head_sha": c.sha, "head_branch": branch, "status": c.status,
		"conclusion": nullable(c.conclusion), "url": s.api(c.repo, "/check-suites/"+itoa(id)), "before": c.sha, "after": c.sha,
		"pull_requests": s.pullsMinimal(c.repo, c.sha), "app": s.ciApp(c.byApp),
		"created_at": stamp(c.started), "updated_at": stamp(c.started)}
}

// suiteOffset keeps the ids of suites apart from those of runs.
const suiteOffset = 500000

// headCommit tells the commit at the tip of a push.
func (s *Server) headCommit(m move) any {
	v, err := s.commitShape(m.repo, m.after)
	if err != nil {
		return nil
	}
	in := v["commit"].(object)
	author := in["author"].(object)
	for _, who := range []any{author, in["committer"]} {
		name, _ := who.(object)["name"].(string)
		if u := s.users[strings.ToLower(name)]; u != nil {
			who.(object)["username"] = u.login
		}
	}
	out := object{"id": m.after, "tree_id": in["tree"].(object)["sha"], "message": in["message"], "timestamp": author["date"],
		"url": v["html_url"], "author": author, "committer": in["committer"], "distinct": true,
		"added": []string{}, "removed": []string{}, "modified": []string{}}
	if m.before == "" {
		return out
	}
	files, err := m.repo.dir.diffFiles(m.before, m.after)
	for _, f := range files {
		list := map[string]string{"added": "added", "removed": "removed"}[f.status]
		if list == "" {
			list = "modified"
		}
		out[list] = append(out[list].([]string), f.name)
	}
	if err != nil {
		s.log.Debug("compare push", "err", err)
	}
	return out
}
