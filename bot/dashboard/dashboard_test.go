package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// get reads a page.
func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	w.others()
	_, web := start(t, w.config())
	for path, want := range map[string][]string{
		"/": {
			"team/app#12", "waits 3 h for an approval, asked for by kim", "server-b works on it; heartbeat 3 s ago",
			"the lease of server-a ended 40 s ago; another server takes over", "waits 9 min for the model: the model is still being loaded", "until 14:47 UTC; it goes on by itself", "waits 30 s for a free place", "48 k tokens · 12 min of work",
		},
		"/?state=finished":                {"team/app#7", "team/site#2"},
		"/?repo=team/site":                {"team/site#8"},
		"/approvals":                      {"rm -rf build &amp;&amp; go test ./...", "sha256 3b9f60c2"},
		"/s/sample":                       {"Add overflows for large numbers", "Edited calc/add.go", `<span class="add">&#43;	sum := int64(a) &#43; int64(b)`, "Test the limits", "Step 2", "Thoughts", "https://github.com/team/app/issues/12"},
		"/s/sample/text/12":               {"TestAdd (0.00s)"},
		"/assets/style.css":               {"--ground"},
		"/s/running/../../?person=nobody": {"No session fits"},
	} {
		status, body := get(t, web.Client(), web.URL+path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
	if _, body := get(t, web.Client(), web.URL+"/s/sample"); strings.Contains(body, `<button class="no" name="do"`) {
		t.Error("a dashboard without a login has buttons")
	}
	if _, body := get(t, web.Client(), web.URL+"/?state=finished"); strings.Contains(body, "team/app#12") {
		t.Error("the filter lets a waiting session through")
	}
	if status, _ := get(t, web.Client(), web.URL+"/s/none"); status != http.StatusNotFound {
		t.Errorf("a session that is not there: %d", status)
	}
}

// TestPictures: pictures of a result are shown as pictures, and anything else in their place is not
// served at all.
func TestPictures(t *testing.T) {
	t.Parallel()
	w := newWorld()
	const png = "\x89PNG\r\n\x1a\n"
	w.add(w.row("seen", "team/app#30", session.PhaseRunning, time.Second),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "seen", Text: "Look.", Requester: "kim", Mode: "code"}}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Title: "Opened http://localhost:3000/", Content: "Page", Images: []session.Blob{
			{Name: `page.png"><script>alert(1)</script>`, Type: "image/png", Data: []byte(png)},
			{Name: "page.svg", Type: "image/png", Data: []byte("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")},
			{Name: "page.html", Type: "text/html", Data: []byte("<!doctype html><script>alert(1)</script>")},
		}}))
	_, web := start(t, w.config())
	_, body := get(t, web.Client(), web.URL+"/s/seen")
	shown := acting(body)
	if len(shown) != 3 || slices.ContainsFunc(shown, func(tag string) bool {
		return !strings.HasPrefix(tag, `<img class="picture" loading="lazy" src="/s/seen/picture/2/`)
	}) {
		t.Errorf("the page of the session has %q", shown)
	}
	resp, err := web.Client().Get(web.URL + "/s/seen/picture/2/0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); err != nil || string(data) != png || resp.Header.Get("Content-Type") != "image/png" ||
		!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("the picture: %q %v %v", data, resp.Header, err)
	}
	for _, path := range []string{"2/1", "2/2", "2/3", "2/-1", "1/0", "9/0"} {
		if status, body := get(t, web.Client(), web.URL+"/s/seen/picture/"+path); status != http.StatusNotFound || strings.Contains(body, "alert(1)") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestHeaders: a page loads nothing of another site and runs no script in its text, and
// is not shown under another name.
func TestHeaders(t *testing.T) {
	t.Parallel()
	_, web := start(t, newWorld().config())
	for name, tt := range map[string]struct {
		host   string
		header string
		want   int
	}{
		"loopback":     {"127.0.0.1:8081", "", http.StatusOK},
		"name":         {"localhost", "", http.StatusOK},
		"version six":  {"[::1]:8081", "", http.StatusOK},
		"rebound name": {"evil.example:8081", "", http.StatusMisdirectedRequest},
		"proxy":        {"127.0.0.1:8081", "X-Forwarded-For", http.StatusMisdirectedRequest},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		if tt.header != "" {
			req.Header.Set(tt.header, "192.0.2.1")
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, tt.want)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'; script-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", name, csp)
		}
	}
}

// hostileTexts are texts that would act on a page if they were not data.
var hostileTexts = []string{
	`<script>alert(1)</script><img src=x onerror=alert(1)>`, `"><svg/onload=alert(1)>`, "</pre></li></ol><form action=//evil.example><button>",
	"\x1b[2J\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07", "\u202egnp.exe\u2066", "a\r\ndata: x\r\nevent: state\r\n\r\n", "{{.Title}} ${alert(1)} javascript:alert(1)",
	"\x00\x08\x7f\U000e0041\u200b", "<!--", "]]>", "&lt;b&gt;",
}

// hostile adds a session of hostile texts, n events long.
func (w *world) hostile(n int) {
	r := w.row("hostile", "team/app#66", session.PhaseRunning, time.Second)
	r.Requester, r.Mode = hostileTexts[0], hostileTexts[1]
	all := strings.Join(hostileTexts, "\n")
	events := []*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "hostile", Text: all, Requester: hostileTexts[2], Branch: hostileTexts[4], Model: hostileTexts[0], Mode: "code"}})}
	events = append(events, session.NewEvent(session.TypeResult, 1, session.Result{Call: "big", OK: true, Content: strings.Repeat("0123456789abcde\n", 10<<16)}))
	for i := len(events); i < n; i++ {
		text := hostileTexts[i%len(hostileTexts)]
		switch i % 6 {
		case 0:
			events = append(events, session.NewEvent(session.TypeAnswer, i, session.Answer{Thinking: text, Content: text, Errors: []string{text}, Calls: []session.Call{{ID: fmt.Sprint("c", i), Name: text, Arguments: []byte(fmt.Sprintf("{%q:%q,\"path\":%q,\"diff\":%q}", "x", "y", "p", "+a"))}}}))
		case 1:
			events = append(events, session.NewEvent(session.TypeStarted, i, session.Started{Call: fmt.Sprint("c", i-1), Title: text}))
		case 2:
			events = append(events, session.NewEvent(session.TypeResult, i, session.Result{Call: fmt.Sprint("c", i-2), Title: text, Content: all, Changes: []session.FileChange{{Path: text, From: text, Fault: text}}}))
		case 3:
			events = append(events, session.NewEvent(session.TypeNote, i, session.Note{Kind: session.NoteKind(text), Text: text}))
		case 4:
			events = append(events, session.NewEvent(session.TypeState, i, session.Update{Todo: []session.Todo{{Text: text, Status: session.TodoStatus(text)}}, Mode: text}))
		case 5:
			events = append(events, session.NewEvent(session.TypeMessage, i, session.Message{Author: text, Text: text, Model: text}))
		}
	}
	events = append(events, session.NewEvent(session.TypeAsked, n, session.Asked{ID: "h0stile2", Kind: session.AskApproval, Tool: hostileTexts[0], Display: all, Reasons: hostileTexts, Digest: hostileTexts[1]}))
	w.add(r, events...)
}

// acting returns the parts of a page that run, load or lead elsewhere, and characters
// that act on their neighbors.
func acting(page string) (out []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" ||
					strings.Contains(a.Val, "javascript:") && a.Key != "value" || tok.Data == "script" && a.Key == "src" && a.Val != "/assets/live.js" {
					out = append(out, tok.String())
				}
				if (a.Key == "href" || a.Key == "action" || a.Key == "src") && strings.Contains(a.Val, "evil") {
					out = append(out, tok.String())
				}
			}
			if slices.Contains([]string{"svg", "iframe", "object", "base", "math"}, tok.Data) || tok.Data == "img" && !strings.Contains(tok.String(), "/assets/icon.svg") ||
				tok.Data == "script" && len(tok.Attr) == 0 {
				out = append(out, tok.String())
			}
		case html.TextToken:
			if text := string(z.Text()); strings.ContainsAny(text, "\x00\x08\x1b\x7f\u202e\u2066\u200b\U000e0041\r") {
				out = append(out, fmt.Sprintf("%q", text))
			}
		}
	}
}

// TestHostileSession: markup and control characters of a session are text, and neither
// 100,000 events nor an output of 10 MB fill the memory.
func TestHostileSession(t *testing.T) {
	longtest.Leave(t)
	w := newWorld()
	w.hostile(100_000)
	s, web := start(t, w.config())
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/s/hostile?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/s/hostile", "/s/hostile?after=50000", "/", "/approvals", "/s/hostile?sent=" + url.QueryEscape(hostileTexts[0])} {
		_, body := get(t, web.Client(), web.URL+path)
		page = append(page, body...)
	}
	if found := acting(string(page)); len(found) > 0 {
		t.Errorf("%d parts act, such as %s", len(found), found[0])
	}
	if n := len(page); n > 8<<20 {
		t.Errorf("the pages have %d bytes", n)
	}
	if strings.Count(string(page), "alert(1)") < 50 {
		t.Error("the pages do not show the texts")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the dashboard keeps %d MB", grown>>20)
	}
	if w.pageSize > pageLimit {
		t.Errorf("a page of %d events was read", w.pageSize)
	}
	runtime.KeepAlive(s)
}

// TestFirstContent: the head of a page comes before the log is read.
func TestFirstContent(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.hostile(10)
	block := make(chan struct{})
	cfg := w.config()
	cfg.Pages = func(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
		<-block
		return w.page(ctx, id, after, limit)
	}
	_, web := start(t, cfg)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/s/hostile", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var head strings.Builder
	for buf := make([]byte, 512); !strings.Contains(head.String(), "team/app#66"); {
		n, err := resp.Body.Read(buf)
		if head.Write(buf[:n]); err != nil {
			t.Fatal(err)
		}
	}
	close(block)
	if _, err := io.Copy(&head, resp.Body); err != nil || !strings.Contains(head.String(), `id="story"`) {
		t.Errorf("the rest: %v", err)
	}
}

// TestPermalinks: a link to a step leads to the page that has it, also later.
func TestPermalinks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.hostile(1000)
	_, web := start(t, w.config())
	link := regexp.MustCompile(`href="(/s/hostile\?after=\d+)#e(\d+)"`)
	for _, page := range []string{"", "?after=0", "?after=300", "?after=99999"} {
		_, body := get(t, web.Client(), web.URL+"/s/hostile"+page)
		found := link.FindAllStringSubmatch(body, -1)
		if len(found) == 0 {
			t.Fatalf("%q has no links: %s", page, body[max(0, len(body)-1500):])
		}
		for _, m := range [][]string{found[0], found[len(found)-1]} {
			if _, there := get(t, web.Client(), web.URL+m[1]); !strings.Contains(there, `id="e`+m[2]+`"`) {
				t.Errorf("%s does not show event %s", m[1], m[2])
			}
		}
	}
}

// open opens a local dashboard with its one-time code, and returns a client with the
// cookie.
func open(t *testing.T, address, code string) (*http.Client, int) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	status, _ := get(t, c, address+"/open?code="+code)
	return c, status
}

// TestOneTimeCode: a local dashboard opens once, and only with its code.
func TestOneTimeCode(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Code, cfg.Command = "K7M2", w.order
	_, web := start(t, cfg)
	if status, body := get(t, web.Client(), web.URL+"/s/sample"); status != http.StatusForbidden || strings.Contains(body, "overflow") {
		t.Errorf("without a code: %d", status)
	}
	if _, status := open(t, web.URL, "wrong"); status != http.StatusForbidden {
		t.Errorf("with a wrong code: %d", status)
	}
	c, status := open(t, web.URL, "K7M2")
	if status != http.StatusOK {
		t.Errorf("with the code: %d", status)
	}
	if _, body := get(t, c, web.URL+"/s/sample"); !strings.Contains(body, `value="approve k7m2p4xa"`) {
		t.Error("the opened session has no buttons")
	}
	if _, status := open(t, web.URL, "K7M2"); status != http.StatusForbidden {
		t.Errorf("with the code again: %d", status)
	}
}

func post(t *testing.T, c *http.Client, address string, form url.Values, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestOrders: a form becomes the text of a comment; another site cannot send it, and
// sending it twice is sending it once.
func TestOrders(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Code, cfg.Command = "code", w.order
	_, web := start(t, cfg)
	c, _ := open(t, web.URL, "code")
	at := web.URL + "/s/sample/command"
	for _, f := range []url.Values{
		{"do": {"approve k7m2p4xa"}, "text": {""}}, {"do": {"deny k7m2p4xa"}, "text": {"not the build directory"}}, {"do": {"budget"}, "text": {"+10"}},
		{"text": {"/agent also add a test"}}, {"choice": {"the first"}, "text": {""}}, {"text": {"two\r\nlines"}}, {"do": {"stop"}},
	} {
		if status, _ := post(t, c, at, f, nil); status != http.StatusOK {
			t.Errorf("%v: %d", f, status)
		}
	}
	var got []string
	for _, o := range w.orders {
		got = append(got, o.Text)
	}
	want := []string{"/agent approve k7m2p4xa", "/agent deny k7m2p4xa not the build directory", "/agent budget +10", "/agent also add a test", "the first", "two\nlines", "/agent stop"}
	if !slices.Equal(got, want) {
		t.Errorf("orders %q, want %q", got, want)
	}
	post(t, c, at, url.Values{"do": {"stop"}, "nonce": {"n"}}, nil)
	post(t, c, at, url.Values{"do": {"stop"}, "nonce": {"n"}}, nil)
	post(t, c, at, url.Values{"do": {"stop"}, "nonce": {"m"}}, nil)
	if n := len(w.orders); w.orders[n-3].ID != w.orders[n-2].ID || w.orders[n-2].ID == w.orders[n-1].ID {
		t.Error("a form that is sent twice is another order, or a new one is not")
	}
	n := len(w.orders)
	for _, h := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}} {
		if status, _ := post(t, c, at, url.Values{"do": {"approve k7m2p4xa"}}, h); status != http.StatusForbidden {
			t.Errorf("%v: %d", h, status)
		}
	}
	for _, f := range []url.Values{
		{"do": {"undo"}, "text": {"x\n/agent approve k7m2p4xa"}}, {"do": {"undo"}, "text": {"x\r/agent approve k7m2p4xa"}},
		{"do": {"stop\n/agent approve k7m2p4xa"}}, {"choice": {"/agent approve k7m2p4xa"}}, {"choice": {"yes\n/Agent approve k7m2p4xa"}},
	} {
		if status, _ := post(t, c, at, f, nil); status != http.StatusBadRequest {
			t.Errorf("%v: %d", f, status)
		}
	}
	if status, _ := post(t, c, at, url.Values{"text": {" "}}, nil); status != http.StatusBadRequest {
		t.Errorf("an empty text: %d", status)
	}
	if len(w.orders) != n {
		t.Errorf("%d orders came through", len(w.orders)-n)
	}
}

// TestReadOnly: without a login nothing can be commanded, whatever is sent.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Command = w.order
	_, web := start(t, cfg)
	if status, _ := post(t, web.Client(), web.URL+"/s/sample/command", url.Values{"do": {"stop"}}, nil); status != http.StatusForbidden || len(w.orders) > 0 {
		t.Errorf("status %d, orders %v", status, w.orders)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for name, change := range map[string]func(*Config){
		"no sessions":            func(c *Config) { c.Sessions = nil },
		"address without login":  func(c *Config) { c.URL = "https://agent.example" },
		"login without a key":    func(c *Config) { c.Login, c.Rights = &Login{}, w.right },
		"address that is no URL": func(c *Config) { c.URL = "http://[" },
	} {
		cfg := w.config()
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestParkedIsNoEnd: a run that waits does not look like one that is done.
func TestParkedIsNoEnd(t *testing.T) {
	t.Parallel()
	for status, want := range map[session.Status]string{session.StatusAwaitingApproval: "parked", session.StatusDone: "ended", session.StatusFailed: "ended"} {
		it := new(item)
		if it.ended(session.Outcome{Status: status}); it.Kind != want {
			t.Errorf("%s is %q", status, it.Kind)
		}
	}
}

// TestStanding names a reason for every state that is not the end.
func TestStanding(t *testing.T) {
	t.Parallel()
	for _, p := range session.Phases() {
		if got := standing(&store.Session{State: p}, time.Time{}); (got == "") != (p.Over()) {
			t.Errorf("%s: %q", p, got)
		}
	}
	now := time.Date(2026, 11, 28, 13, 20, 0, 0, time.FixedZone("", 3600))
	at := func(d time.Duration) time.Time { return now.Add(d) }
	const b = 2 * time.Second // beat
	for want, r := range map[string]*store.Session{
		"waits 3 h for an approval, asked for by kim":           {State: session.PhaseAwaitingApproval, Requester: "kim", AskedAt: at(-3 * time.Hour), Updated: at(-b)},
		"waits 5 min for an answer of kim":                      {State: session.PhaseAwaitingAnswer, Requester: "kim", Stall: store.Stall{Since: at(-5 * time.Minute)}, Updated: at(-b)},
		"waits 6 min for an answer of kim":                      {State: session.PhaseAwaitingAnswer, Requester: "kim", Updated: at(-6 * time.Minute)},
		"waits 2 min for the model: it does not answer; it is":  {State: session.PhaseWaitingModel, Updated: at(-2 * time.Minute)},
		"waits 9 min for the model: the model is still being l": {State: session.PhaseWaitingModel, Stall: store.Stall{Since: at(-9 * time.Minute), Why: "the model is still being loaded"}, Updated: at(-b)},
		"waits for GitHub's limit until 13:05 UTC; it goes on ": {State: session.PhaseWaitingGitHub, Stall: store.Stall{Since: at(-b), Until: at(45 * time.Minute)}, Updated: at(-b)},
		"GitHub does not answer, for 4 min; it is tried again":  {State: session.PhaseWaitingGitHub, Stall: store.Stall{Since: at(-4 * time.Minute), Until: at(-b)}, Updated: at(-b)},
		"b works on it; heartbeat 2 s ago":                      {State: session.PhaseRunning, Owner: "b", Until: at(13 * time.Second)},
		"b waits 40 s for the model: its server says nothing; it may be loading the model; heartbeat 0 s ago": {
			State: session.PhaseRunning, Owner: "b", Until: at(16 * time.Second),
			Stall: store.Stall{Since: at(-40 * time.Second), Why: "its server says nothing; it may be loading the model"},
		},
		"the lease of b ended 1 min ago; another server takes": {State: session.PhaseRunning, Owner: "b", Until: at(-time.Minute), Stall: store.Stall{Why: "x"}},
		"no server works on it now; one goes on by itself":     {State: session.PhaseRunning, Updated: at(-time.Second)},
		"waits 10 s for a free place":                          {State: session.PhaseQueued, Updated: at(-10 * time.Second)},
	} {
		w := newWorld()
		w.now = now
		r.ID, r.Thread, r.Repo, r.Data = "s", "team/app#1", "team/app", []byte(`{"title": "The greeting <is> wrong"}`)
		w.add(*r)
		cfg := w.config()
		cfg.Lease = 15 * time.Second
		_, web := start(t, cfg)
		if _, body := get(t, web.Client(), web.URL+"/"); !strings.Contains(html.UnescapeString(body), `<span class="phase">`+want) {
			t.Errorf("the list lacks %q: %s", want, body[strings.Index(body, `class="card"`):])
		} else if works := strings.Contains(want, " works on it; "); works != strings.Contains(body, `class="sign runs"`) {
			t.Errorf("%q has the sign of work that goes on: %v", want, !works)
		} else if !strings.Contains(body, "<strong>team/app#1</strong> The greeting &lt;is&gt; wrong") {
			t.Error("the list lacks the title")
		}
	}
}
