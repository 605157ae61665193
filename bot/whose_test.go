package bot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// payload is an event as GitHub sends it, with values changed: "a.b=JSON".
func (w *world) payload(kind, action string, changes ...string) []byte {
	w.t.Helper()
	kim := fmt.Sprintf(`{"login":"kim","id":%d,"type":"User"}`, w.gh.UserID("kim"))
	post := fmt.Sprintf(`{"number":%d,"title":"A fault","body":"/agent fix it","user":%s}`, w.issue.Number, kim)
	text := fmt.Sprintf(`{"id":%d,"body":"/agent fix it","user":%s,"updated_at":"2026-08-01T10:00:00Z"}`, 7000+w.n, kim)
	p := map[string]any{}
	must(w.t, json.Unmarshal(fmt.Appendf(nil, `{"action":%q,"sender":%s,"installation":{"id":%d},
		"repository":{"id":1,"name":"widget","full_name":"acme/widget","owner":{"login":"acme"},"default_branch":"main"},
		"issue":%s,"pull_request":%s,"comment":%s,"review":%s}`, action, kim, w.inst, post, post, text, text), &p))
	for part, kinds := range map[string]string{"issue": "issues issue_comment", "pull_request": "pull_request pull_request_review pull_request_review_comment",
		"comment": "issue_comment pull_request_review_comment", "review": "pull_request_review"} {
		if !strings.Contains(" "+kinds+" ", " "+kind+" ") {
			delete(p, part)
		}
	}
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		at, keys := p, strings.Split(path, ".")
		for _, k := range keys[:len(keys)-1] {
			if at[k] == nil {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		var v any
		must(w.t, json.Unmarshal([]byte(value), &v))
		at[keys[len(keys)-1]] = v
	}
	out, err := json.Marshal(p)
	must(w.t, err)
	return out
}

// askWatchers gives a delivery to the bot, and reports whether it opened a session
// with what it was asked.
func (w *world) hear(b *bot.Bot, kind string, payload []byte) (kept, opened bool) {
	w.t.Helper()
	src, ok, err := b.Source(w.t.Context(), kind, payload)
	must(w.t, err)
	w.n++
	if !ok { // what older servers have kept is judged once more
		src.Thread = w.issue.Key()
	}
	_, err = w.store.Deliveries.Put(w.t.Context(), &store.Delivery{ID: fmt.Sprint("heard", w.n), Event: kind, Key: fmt.Sprint("heard", w.n), Thread: src.Thread, Payload: payload})
	must(w.t, err)
	ran := false
	w.run = func(ctx context.Context, work bot.Work) (session.Outcome, error) {
		ran = true
		return finish("Done.")(ctx, work)
	}
	must(w.t, b.Work(w.t.Context(), w.issue.Key()))
	return ok, ran
}

// listens is a bot with settings of its own.
func (w *world) listens(github ghapp.Config, set func(*bot.Config)) *bot.Bot {
	w.t.Helper()
	github.APIURL, github.Spacing = w.gh.URL(), -1
	if github.Token == "" {
		github.AppID, github.PrivateKey = w.gh.App().ID, w.gh.App().Key
	}
	client, err := ghapp.New(github)
	must(w.t, err)
	cfg := bot.Config{Store: w.store.Store, GitHub: client, Runner: w, Watchers: watchers, Policy: policy.DefaultConfig(), Model: "m"}
	if set != nil {
		set(&cfg)
	}
	b, err := bot.New(cfg)
	must(w.t, err)
	return b
}

// GitHub tells of the bot's own edits, too. They are dropped when they arrive; that a text
// of the bot's was deleted, or that a person changed their own, is looked at.
func TestOwnEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.listens(ghapp.Config{Own: ownKey(t, "one")}, nil)
	app, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), AppID: w.gh.App().ID, PrivateKey: w.gh.App().Key, Spacing: -1, Own: ownKey(t, "one")})
	must(t, err)
	client, err := app.For(t.Context(), w.issue, w.inst)
	must(t, err)
	ref, err := client.Perform(t.Context(), ghapp.Write{Key: "progress-s1", Kind: ghapp.WriteComment, Thread: w.issue, Body: "End it with `/agent stop`."})
	must(t, err)
	own := w.own()[0]
	taken := func(action, body string) bool {
		text, err := json.Marshal(body)
		must(t, err)
		_, ok, err := b.Source(t.Context(), "issue_comment", fmt.Appendf(nil, `{"action":%q,"sender":{"login":"kim","id":5,"type":"User"},"repository":{"id":1,"full_name":"acme/widget"},
			"issue":{"number":%d},"comment":{"id":%d,"body":%s,"user":{"login":"kim","id":5,"type":"User"}},"changes":{"body":{"from":"/agent fix it"}}}`, action, w.issue.Number, ref.ID, text))
		must(t, err)
		return ok
	}
	if taken("edited", own) {
		t.Error("the bot's own edit is looked at")
	}
	if !taken("deleted", own) || !taken("edited", "/agent mend it") || !taken("edited", own+" /agent stop") {
		t.Error("what a person deleted or edited is not looked at")
	}
}

// Only what the author says here and now is a wish, and only through what is let in.
func TestWhoseWordsCount(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	w.gh.AddUser("lee", "write")
	lee := fmt.Sprintf(`{"login":"lee","id":%d,"type":"User"}`, w.gh.UserID("lee"))
	self := fmt.Sprintf(`{"login":%q,"id":%d,"type":"Bot"}`, w.gh.App().Login, w.gh.UserID(w.gh.App().Login))
	b := w.listens(ghapp.Config{}, func(c *bot.Config) { c.Apps = []int64{99} })
	for _, tt := range []struct {
		name, kind, action string
		changes            []string
		want               bool
	}{
		{"a comment", "issue_comment", "created", nil, true},
		{"an issue", "issues", "opened", nil, true},
		{"a pull request", "pull_request", "opened", nil, true},
		{"a review", "pull_request_review", "submitted", nil, true},
		{"a comment on the diff", "pull_request_review_comment", "created", nil, true},
		{"an issue that somebody with rights moved", "issues", "opened", []string{"issue.user=" + lee}, false},
		{"a pull request of another author", "pull_request", "opened", []string{"pull_request.user=" + lee}, false},
		{"a comment of another author", "issue_comment", "created", []string{"comment.user=" + lee}, false},
		{"a review of another author", "pull_request_review", "submitted", []string{"review.user=" + lee}, false},
		{"an author that is gone", "issue_comment", "created", []string{"comment.user=null"}, false},
		{"moved from another issue", "issues", "opened", []string{`changes.old_issue={"number":4}`}, false},
		{"moved from another repository", "issues", "opened", []string{`changes.old_repository={"full_name":"a/b"}`}, false},
		{"transferred", "issues", "transferred", nil, false},
		{"an edit", "issue_comment", "edited", []string{"sender=" + lee}, false},
		{"through another App", "issue_comment", "created", []string{`comment.performed_via_github_app={"id":78}`}, false},
		{"an issue through another App", "issues", "opened", []string{`issue.performed_via_github_app={"id":78}`}, false},
		{"through an App on the list", "issue_comment", "created", []string{`comment.performed_via_github_app={"id":99}`}, true},
		{"in an issue that another App opened", "issue_comment", "created", []string{`issue.performed_via_github_app={"id":78}`}, true},
		{"through the own App", "issue_comment", "created", []string{fmt.Sprintf(`comment.performed_via_github_app={"id":%d}`, w.gh.App().ID)}, false},
		{"the own account", "issue_comment", "created", []string{"comment.user=" + self, "sender=" + self}, false},
	} {
		changes := tt.changes
		if tt.want {
			changes = append(changes, fmt.Sprintf("sender.seen=%d", w.n))
		}
		payload := w.payload(tt.kind, tt.action, changes...)
		payload = []byte(strings.ReplaceAll(string(payload), "/agent fix it", fmt.Sprintf("/agent plan %d", w.n))) // each a session of its own
		if _, ran := w.hear(b, tt.kind, payload); ran != tt.want {
			t.Errorf("%s: ran %t, want %t", tt.name, ran, tt.want)
		}
	}
}

// What comes from another repository is dropped before it is kept, and told once.
func TestOtherRepositories(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	var log strings.Builder
	for _, tt := range []struct {
		list string
		want bool
	}{{"", true}, {"acme/widget", true}, {"ACME/*", true}, {"other/x acme/Widget", true}, {"acme/wid", false}, {"acmes/*", false}, {"other/widget", false}} {
		log.Reset()
		b := w.listens(ghapp.Config{}, func(c *bot.Config) {
			c.Repositories, c.Log = strings.Fields(tt.list), slog.New(slog.NewTextHandler(&log, nil))
		})
		for i := range 3 {
			payload := []byte(strings.ReplaceAll(string(w.payload("issue_comment", "created")), "/agent fix it", fmt.Sprintf("/agent plan %d", w.n)))
			if kept, ran := w.hear(b, "issue_comment", payload); kept != tt.want || ran != tt.want {
				t.Errorf("%q, comment %d: kept %t, ran %t, want %t", tt.list, i, kept, ran, tt.want)
			}
		}
		if told := strings.Count(log.String(), "not served"); told != map[bool]int{true: 0, false: 1}[tt.want] {
			t.Errorf("%q: told %d times:\n%s", tt.list, told, log.String())
		}
	}
}

// A bot that writes with a person's token serves that person, and does not
// hear itself. Nobody else can pass for it, or be silenced by its marker.
func TestOwnWordsWithAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, err := w.gh.Token("kim")
	must(t, err)
	b := w.listens(ghapp.Config{Token: token, Own: ownKey(t, "one")}, nil)
	client := func(own string) *ghapp.Client {
		app, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), Token: token, Spacing: -1, Own: ownKey(t, own)})
		must(t, err)
		c, err := app.For(t.Context(), w.issue, 0)
		must(t, err)
		return c
	}
	n := 0
	written := func(secret, text string) (body string, id int64) {
		n++
		ref, err := client(secret).Perform(t.Context(), ghapp.Write{Key: fmt.Sprint("k", n), Kind: ghapp.WriteComment, Thread: w.issue, Body: text})
		must(t, err)
		for _, c := range w.gh.Thread(w.issue).Comments {
			if c.ID == ref.ID {
				body = c.Body
			}
		}
		return body, ref.ID
	}
	hears := func(name, body string, id int64, want bool) {
		t.Helper()
		text, err := json.Marshal(body)
		must(t, err)
		if _, ran := w.hear(b, "issue_comment", w.payload("issue_comment", "created", "comment.body="+string(text), fmt.Sprintf("comment.id=%d", id))); ran != want {
			t.Errorf("%s: ran %t, want %t", name, ran, want)
		}
	}
	own, id := written("one", "Done.\n\n/agent plan a")
	hears("its own comment", own, id, false)
	hears("its own comment, as GitHub may keep it", strings.ReplaceAll(own, "\n", "\r\n")+"\r\n", id, false)
	hears("the person whose token it is", "/agent plan b", 7101, true)
	hears("its comment copied, and a command", own+"\n\n/agent plan c", 7102, true)
	hears("a command, and its comment copied", "/agent plan d\n\n"+own, 7103, true)
	hears("a command before its marker", "/agent plan e"+own[strings.LastIndex(own, "\n\n<!--"):], 7104, true)
	hears("a marker that somebody made up", "/agent plan f\n\n<!-- handrail:k1 "+strings.Repeat("a", 26)+" -->", 7105, true)
	hears("an older marker that somebody made up", "/agent plan g\n\n<!-- handrail:k1 -->", 7106, true)
	forged, id := written("two", "/agent plan h")
	hears("a server with another secret", strings.Replace(forged, `\/agent`, "/agent", 1), id, true) // no server writes it so

	old := "/agent plan i\n\n<!-- handrail:old -->"
	must(t, w.store.Intents.Intend(t.Context(), store.Fence{}, &store.Intent{Key: "old", Kind: "comment"}))
	hears("an older server's comment, not known to be made", old, 7201, true)
	must(t, w.store.Intents.Done(t.Context(), store.Fence{}, "old", `{"id":7202}`))
	hears("an older server's comment, as recorded", old, 7202, false)
	hears("its marker in another comment", strings.Replace(old, "plan i", "plan j", 1), 7203, true)
}

// ownKey is a server's key for its own words.
func ownKey(t *testing.T, from string) *secret.Key {
	t.Helper()
	k, err := secret.DeriveKey(secret.Value(from), "own words")
	if err != nil {
		t.Fatal(err)
	}
	return k
}
