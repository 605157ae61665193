package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "It's a Secret to Everybody"

const comment = `{"action":"created","comment":{"id":5,"updated_at":"2026-03-04T05:06:07Z"},"issue":{"number":1},` +
	`"repository":{"full_name":"octo/hello"},"sender":{"login":"octocat"}}`

// parse reads comments, as the bot would.
func parse(_ context.Context, event string, payload []byte) (store.Delivery, bool, error) {
	if event != "issue_comment" {
		return store.Delivery{}, false, nil
	}
	var p struct {
		Comment struct {
			ID      int64
			Updated string `json:"updated_at"`
		}
		Issue      struct{ Number int }
		Repository struct {
			Name string `json:"full_name"`
		}
		Sender struct{ Login string }
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return store.Delivery{}, false, fmt.Errorf("%w: %w", store.ErrUnparsable, err)
	}
	return store.Delivery{
		Key:    fmt.Sprint("comment ", p.Comment.ID, " ", p.Comment.Updated),
		Thread: fmt.Sprint(p.Repository.Name, "#", p.Issue.Number), Sender: p.Sender.Login, Priority: store.PriorityAnswer,
	}, true, nil
}

// memory is an intake that keeps deliveries in a slice.
type memory struct {
	mu   sync.Mutex
	got  []*store.Delivery
	fail error
	hold chan struct{}
}

func (m *memory) Put(ctx context.Context, all ...*store.Delivery) ([]bool, error) {
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	m.got = append(m.got, all...)
	return make([]bool, len(all)), nil
}

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// request makes a signed delivery.
func request(id, event, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-Hub-Signature-256", sign([]byte(body)))
	return r
}

func handler(t testing.TB, c webhook.Config) *webhook.Handler {
	t.Helper()
	c.Secret = []byte(secret)
	if c.Parse == nil {
		c.Parse = parse
	}
	h, err := webhook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRefusals(t *testing.T) {
	form := "payload=" + url.QueryEscape(comment)
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
	}
	tests := map[string]struct {
		event  string
		body   string
		change func(*http.Request)
		want   int
	}{
		"good":                    {"issue_comment", comment, nil, 202},
		"good with charset":       {"issue_comment", comment, header("Content-Type", "application/json; charset=utf-8"), 202},
		"good form":               {"issue_comment", form, header("Content-Type", "application/x-www-form-urlencoded"), 202},
		"signature missing":       {"issue_comment", comment, header("X-Hub-Signature-256"), 401},
		"signature empty":         {"issue_comment", comment, header("X-Hub-Signature-256", ""), 401},
		"signature of no secret":  {"issue_comment", comment, header("X-Hub-Signature-256", unsigned(comment)), 401},
		"signature of other body": {"issue_comment", comment, header("X-Hub-Signature-256", sign([]byte(comment+" "))), 401},
		"signature cut":           {"issue_comment", comment, header("X-Hub-Signature-256", sign([]byte(comment))[:40]), 401},
		"signature without name":  {"issue_comment", comment, header("X-Hub-Signature-256", sign([]byte(comment))[7:]), 401},
		"signature as sha1":       {"issue_comment", comment, header("X-Hub-Signature-256", "sha1="+sign([]byte(comment))[7:]), 401},
		"signature twice":         {"issue_comment", comment, header("X-Hub-Signature-256", sign([]byte(comment)), sign(nil)), 401},
		"only the old signature": {"issue_comment", comment, func(r *http.Request) {
			r.Header["X-Hub-Signature"] = r.Header["X-Hub-Signature-256"]
			r.Header.Del("X-Hub-Signature-256")
		}, 401},
		"unsigned and not JSON":   {"issue_comment", "x", header("X-Hub-Signature-256"), 401},
		"not JSON":                {"issue_comment", comment[1:], nil, 400},
		"Latin-1":                 {"issue_comment", strings.Replace(comment, "octocat", "oct\xf6cat", 1), nil, 400},
		"UTF-16":                  {"issue_comment", "\xff\xfe" + strings.Join(strings.Split(comment, ""), "\x00"), nil, 400},
		"byte order mark":         {"issue_comment", "\xef\xbb\xbf" + comment, nil, 400},
		"compressed":              {"issue_comment", "\x1f\x8b\x08" + comment, header("Content-Encoding", "gzip"), 400},
		"cut JSON":                {"issue_comment", comment[:50], nil, 400},
		"two documents":           {"issue_comment", comment + comment, nil, 400},
		"a list":                  {"issue_comment", "[" + comment + "]", nil, 400},
		"null":                    {"issue_comment", "null", nil, 400},
		"empty":                   {"issue_comment", "", nil, 400},
		"other shape":             {"issue_comment", `{"comment":7}`, nil, 400},
		"form without payload":    {"issue_comment", "x=1", header("Content-Type", "application/x-www-form-urlencoded"), 400},
		"form with two payloads":  {"issue_comment", form + "&" + form, header("Content-Type", "application/x-www-form-urlencoded"), 400},
		"broken form":             {"issue_comment", "payload=%zz", header("Content-Type", "application/x-www-form-urlencoded"), 400},
		"other content type":      {"issue_comment", comment, header("Content-Type", "text/plain"), 400},
		"no content type":         {"issue_comment", comment, header("Content-Type"), 400},
		"no delivery id":          {"issue_comment", comment, header("X-GitHub-Delivery"), 400},
		"delivery id with spaces": {"issue_comment", comment, header("X-GitHub-Delivery", "a b"), 400},
		"long delivery id":        {"issue_comment", comment, header("X-GitHub-Delivery", strings.Repeat("a", 65)), 400},
		"no event":                {"", comment, nil, 400},
		"event with a line break": {"a\nb", comment, nil, 400},
		"GET":                     {"issue_comment", comment, func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"other path":              {"issue_comment", comment, func(r *http.Request) { r.URL.Path = "/webhook/" }, 404},
		"ping":                    {"ping", `{"zen":"Keep it logically awesome."}`, nil, 200},
		"unsigned ping":           {"ping", `{"zen":"Keep it logically awesome."}`, header("X-Hub-Signature-256"), 401},
		"event nobody needs":      {"watch", `{"action":"started"}`, nil, 202},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m memory
			parsed := 0
			h := handler(t, webhook.Config{Intake: &m, Parse: func(_ context.Context, event string, payload []byte) (store.Delivery, bool, error) {
				parsed++
				return parse(t.Context(), event, payload)
			}})
			r := request("d1", test.event, test.body)
			if test.change != nil {
				test.change(r)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("status is %d, want %d: %s", w.Code, test.want, w.Body)
			}
			stored := strings.HasPrefix(name, "good")
			if (len(m.got) == 1) != stored {
				t.Errorf("stored %d deliveries", len(m.got))
			}
			if test.want == 401 && parsed != 0 {
				t.Error("the payload was parsed before the signature was checked")
			}
			if stored && (m.got[0].ID != "d1" || m.got[0].Thread != "octo/hello#1" || m.got[0].Sender != "octocat" ||
				m.got[0].Key != "comment 5 2026-03-04T05:06:07Z" || m.got[0].Priority != store.PriorityAnswer || string(m.got[0].Payload) != comment) {
				t.Errorf("stored %+v", m.got[0])
			}
		})
	}
}

func unsigned(body string) string {
	sum := hmac.New(sha256.New, nil)
	sum.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(sum.Sum(nil))
}

func TestEveryByteCounts(t *testing.T) {
	var m memory
	h := handler(t, webhook.Config{Intake: &m})
	good := sign([]byte(comment))
	send := func(body []byte, signature string) {
		r := request("d1", "issue_comment", string(body))
		r.Header.Set("X-Hub-Signature-256", signature)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 401 {
			t.Errorf("status is %d for body %q with signature %q", w.Code, body, signature)
		}
	}
	for i := range comment {
		changed := []byte(comment)
		changed[i] ^= 1
		send(changed, good)
	}
	for i := range good {
		changed := []byte(good)
		changed[i] ^= 1
		send([]byte(comment), string(changed))
	}
	if len(m.got) != 0 {
		t.Errorf("stored %d forged deliveries", len(m.got))
	}
}

// TestSize sends bodies around the limit, announced and not.
func TestSize(t *testing.T) {
	prefix, suffix := `{"pad":"`, `"}`
	for _, test := range []struct {
		size      int
		announced bool
		want      int
	}{
		{webhook.MaxBody, true, 202}, {webhook.MaxBody, false, 202}, {webhook.MaxBody + 1, true, 413}, {webhook.MaxBody + 1, false, 413}, {1 << 30, true, 413},
	} {
		t.Run(fmt.Sprint(test.size, " ", test.announced), func(t *testing.T) {
			var m memory
			all := func(context.Context, string, []byte) (store.Delivery, bool, error) {
				return store.Delivery{Thread: "a/b#1"}, true, nil
			}
			h := handler(t, webhook.Config{Intake: &m, Parse: all})
			body := []byte(prefix + strings.Repeat("x", min(test.size, webhook.MaxBody+1)-len(prefix)-len(suffix)) + suffix)
			r := request("d1", "push", string(body))
			r.ContentLength = int64(test.size)
			if !test.announced {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.want || (len(m.got) == 1) != (test.want == 202) {
				t.Errorf("status is %d and %d are stored, want status %d: %s", w.Code, len(m.got), test.want, w.Body)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	m := memory{hold: make(chan struct{})}
	h := handler(t, webhook.Config{Intake: &m, Memory: 1, Wait: time.Hour})
	full := `{"comment":{"id":1,"updated_at":"` + strings.Repeat("x", 20<<20) + `"}}`
	answers := make(chan int, 3)
	for i := range 3 {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(fmt.Sprint("d", i), "issue_comment", full))
			answers <- w.Code
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request("late", "issue_comment", full).WithContext(ctx))
	if w.Code != 503 {
		t.Errorf("status above the limit of memory is %d, want 503", w.Code)
	}
	for range 3 {
		m.hold <- struct{}{}
	}
	for range 3 {
		if code := <-answers; code != 202 {
			t.Errorf("status is %d after memory was free again", code)
		}
	}
}

// TestSlowSender holds the connection open without sending the body.
func TestSlowSender(t *testing.T) {
	var m memory
	server := httptest.NewServer(handler(t, webhook.Config{Intake: &m, Wait: 100 * time.Millisecond}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nX-Hub-Signature-256: " + sign(nil) + "\r\n\r\n{"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("status is %d, want 400", resp.StatusCode)
	}
}

func TestStoreFails(t *testing.T) {
	for name, err := range map[string]error{"full": store.ErrFull, "secret text": errors.New("password=hunter2")} {
		m := memory{fail: err}
		w := httptest.NewRecorder()
		handler(t, webhook.Config{Intake: &m}).ServeHTTP(w, request("d1", "issue_comment", comment))
		if w.Code != 503 || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s: status is %d, want 503; answer %q", name, w.Code, w.Body)
		}
	}
}

// TestTwoHooks is one comment that an App and a repository hook deliver, and
// the redelivery of one of them, into a real store.
func TestTwoHooks(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	h := handler(t, webhook.Config{Intake: db.Deliveries})
	var answers []string
	for _, id := range []string{"app", "hook", "app"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(id, "issue_comment", comment))
		answers = append(answers, fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())))
	}
	if diff := cmp.Diff([]string{"202 stored", "202 known already", "202 known already"}, answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	d, err := db.Deliveries.Next(t.Context(), "octo/hello#1")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Deliveries.Done(t.Context(), "", d.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Deliveries.Next(t.Context(), "octo/hello#1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a second delivery of one comment: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]webhook.Config{
		"no secret": {Intake: &memory{}, Parse: parse},
		"no intake": {Secret: []byte(secret), Parse: parse},
		"no parser": {Secret: []byte(secret), Intake: &memory{}},
	} {
		if _, err := webhook.New(c); err == nil {
			t.Errorf("%s: made a handler", name)
		}
	}
}

func FuzzServeHTTP(f *testing.F) {
	f.Add([]byte(comment), "issue_comment", "application/json", sign([]byte(comment)))
	f.Add([]byte("payload="+url.QueryEscape(comment)), "issue_comment", "application/x-www-form-urlencoded", "sha256=00")
	f.Add([]byte("{"), "push", "application/json;", "")
	f.Fuzz(func(t *testing.T, body []byte, event, kind, signature string) {
		var m memory
		r := request("d1", event, "")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", kind)
		r.Header.Set("X-Hub-Signature-256", signature)
		w := httptest.NewRecorder()
		handler(t, webhook.Config{Intake: &m}).ServeHTTP(w, r)
		right := strings.EqualFold(signature, sign(body)) && strings.HasPrefix(signature, "sha256=")
		if !right && (w.Code != 401 || len(m.got) != 0) {
			t.Errorf("status %d and %d stored without a right signature", w.Code, len(m.got))
		}
		if right && w.Code == 401 {
			t.Error("a right signature was refused")
		}
	})
}
