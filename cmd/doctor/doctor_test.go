package doctor

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

// known is a model of which only the abilities are asked.
type known llm.Capabilities

func (known) Name() string { return "known" }

func (k known) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities(k), nil
}

func (known) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] { return nil }

func able(length int) func(string) (llm.Model, error) {
	return func(string) (llm.Model, error) {
		return known{Tools: true, ContextLength: length}, nil
	}
}

// said is what findings say, a line each.
func said(list []Finding) string {
	var b strings.Builder
	for _, f := range list {
		mark := "wrong"
		if f.OK {
			mark = "ok"
		}
		b.WriteString(mark + " " + f.Name + ": " + f.Detail + " | " + f.Remedy + "\n")
	}
	return b.String()
}

// wants checks that each text stands in what was said.
func wants(t *testing.T, list []Finding, all ...string) {
	t.Helper()
	for _, want := range all {
		if got := said(list); !strings.Contains(got, want) {
			t.Errorf("got\n%swant %q", got, want)
		}
	}
}

// hub starts a GitHub with one repository, on which the App is installed.
func hub(t *testing.T, cfg ghtest.Config) *ghtest.Server {
	t.Helper()
	cfg.Dir = t.TempDir()
	gh, err := ghtest.New(cfg)
	if err == nil {
		err = gh.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gh.Close() })
	gh.AddUser("kim", "write")
	return gh
}

func withRepo(t *testing.T, gh *ghtest.Server) *ghtest.Server {
	t.Helper()
	if _, err := gh.AddRepo("team", "app", ghtest.Source{Files: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	return gh
}

func asApp(gh *ghtest.Server) Config {
	app := gh.App()
	return Config{GitHub: http.DefaultTransport, Log: slog.New(slog.DiscardHandler), Server: config.Server{GitHub: config.GitHub{API: gh.URL(), AppID: app.ID, Key: app.Key}}}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	gh := withRepo(t, hub(t, ghtest.Config{}))
	well := asApp(gh)
	wants(t, well.github(t.Context()), "ok GitHub: "+gh.URL()+" knows the App", "ok clock", "ok installations: team: with all permissions")
	if strings.Contains(said(well.github(t.Context())), "wrong") {
		t.Errorf("something is wrong of what is well:\n%s", said(well.github(t.Context())))
	}

	wrongKey := asApp(gh)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	wrongKey.Server.GitHub.Key = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	wants(t, wrongKey.github(t.Context()), "answers 401 Unauthorized | Is github.private_key_file a key of the App")

	noKey := asApp(gh)
	noKey.Server.GitHub.Key, noKey.Server.GitHub.PrivateKeyFile = []byte("no key"), "/etc/app.pem"
	wants(t, noKey.github(t.Context()), "wrong GitHub: it was not asked: there is no private key of an App to be read in /etc/app.pem | Put the App's private key there")
	if got := noKey.deliveries(t.Context()); len(got) > 0 {
		t.Errorf("the key is told twice: %v", got)
	}

	fast := asApp(gh)
	fast.Now = func() time.Time { return time.Now().Add(5 * time.Minute) }
	wants(t, fast.github(t.Context()), "wrong clock: this machine's clock is 5m", "ahead of GitHub's | Have it set by NTP")
	fast.Server.GitHub.Key = wrongKey.Server.GitHub.Key
	wants(t, fast.github(t.Context()), "Set the clock of this machine first")

	gone := asApp(gh)
	gone.Server.GitHub.API = "http://127.0.0.1:1"
	wants(t, gone.github(t.Context()), "wrong GitHub: it does not answer: dial tcp 127.0.0.1:1: connect: connection refused | Can this machine reach it?")

	none := Config{GitHub: http.DefaultTransport}
	wants(t, none.github(t.Context()), "there is no access to it | Set github.app_id")

	token := asApp(gh)
	token.Server.GitHub = config.GitHub{API: gh.URL(), Token: "ghp_none", Repository: "team/app"}
	wants(t, token.github(t.Context()), "answers 401 Unauthorized | Has the token expired")
}

func TestWhatAnAppMayDo(t *testing.T) {
	t.Parallel()
	poor := withRepo(t, hub(t, ghtest.Config{Permissions: map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "read", "statuses": "read", "actions": "read", "members": "read"}}))
	c := asApp(poor)
	wants(t, c.github(t.Context()), "wrong permissions: the App lacks pull_requests: write, checks: write | On the App's page, Permissions & events")

	nowhere := asApp(hub(t, ghtest.Config{}))
	wants(t, nowhere.github(t.Context()), "wrong installations: the App is installed nowhere | Install it: ")
}

// TestEnterprise: an address without /api/v3 is told with the right one.
func TestEnterprise(t *testing.T) {
	t.Parallel()
	gh := withRepo(t, hub(t, ghtest.Config{}))
	to, err := url.Parse(gh.URL())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v3/", http.StripPrefix("/api/v3", httputil.NewSingleHostReverseProxy(to)))
	mux.HandleFunc("/api/v3/meta", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"verifiable_password_authentication": true}`)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	c := asApp(gh)
	c.Server.GitHub.API = site.URL
	wants(t, c.github(t.Context()), "wrong GitHub: "+site.URL+" answers 404", "| Set github.api to "+site.URL+"/api/v3/")
	c.Server.GitHub.API = site.URL + "/api/v3/"
	wants(t, c.github(t.Context()), "ok GitHub: ")
}

// TestDeliveries: webhooks that did not arrive are counted, and why.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(hook.Close)
	gh := withRepo(t, hub(t, ghtest.Config{WebhookURL: hook.URL}))
	c := asApp(gh)
	wants(t, c.deliveries(t.Context()), "ok deliveries: ")
	if _, err := gh.OpenIssue("team/app", "kim", "Title", "Text"); err != nil {
		t.Fatal(err)
	}
	if err := gh.Wait(t.Context(), func(*ghtest.Server) bool { return strings.Contains(said(c.deliveries(t.Context())), "wrong") }); err != nil {
		t.Fatal(err)
	}
	wants(t, c.deliveries(t.Context()), "of a day did not arrive; the last answer was Unauthorized | The secret of the App's webhook is not HANDRAIL_WEBHOOK_SECRET")
	c.Server.GitHub.Poll = policy.Duration(time.Minute)
	if got := c.deliveries(t.Context()); got != nil {
		t.Errorf("who polls needs no webhook: %v", got)
	}
}

// TestModel: the findings about a model's server, one for each of its faults.
func TestModel(t *testing.T) {
	t.Parallel()
	var asked sync.Map // paths
	answers := func(paths map[string]string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Store(r.URL.Path, true)
			text, ok := paths[r.URL.Path]
			switch {
			case !ok:
				http.NotFound(w, r)
			case text == "key" && r.Header.Get("Authorization") != "Bearer right":
				w.WriteHeader(http.StatusUnauthorized)
			default:
				_, _ = io.WriteString(w, text)
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	ollama := answers(map[string]string{"/api/tags": `{"models":[{"name":"a:latest"},{"name":"b:7b"}]}`})
	other := answers(map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`})
	locked := answers(map[string]string{"/v1/models": "key"})
	for name, c := range map[string]struct {
		model  config.Model
		length int
		want   []string
	}{
		"there":          {config.Model{Ollama: ollama, Name: "a"}, 40960, []string{"ok model: Ollama at " + ollama + " has a |", "ok context: 32768 tokens, made for 40960; calls travel in the server's own form"}},
		"not pulled":     {config.Model{Ollama: ollama, Name: "c:1b"}, 0, []string{"does not have c:1b; it has: a:latest, b:7b | Pull it where Ollama runs: ollama pull c:1b"}},
		"no name":        {config.Model{Ollama: ollama}, 0, []string{"wrong model: no model is named"}},
		"away":           {config.Model{Ollama: "127.0.0.1:1", Name: "a"}, 0, []string{"http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused | Start Ollama there"}},
		"of another":     {config.Model{Ollama: other, Name: "a"}, 0, []string{"answers 404 to a request for Ollama | Is it Ollama?"}},
		"openai":         {config.Model{BaseURL: other + "/v1", Name: "a"}, 0, []string{"ok model: " + other + "/v1 has a"}},
		"without v1":     {config.Model{BaseURL: other, Name: "a"}, 0, []string{"its API is below /v1 | Set model.base_url to " + other + "/v1"}},
		"wrong path":     {config.Model{BaseURL: other + "/x", Name: "a"}, 0, []string{"/x/models answers 404 | model.base_url must be"}},
		"unknown":        {config.Model{BaseURL: other + "/v1", Name: "b"}, 0, []string{`does not list "b"; it has: a`}},
		"key":            {config.Model{BaseURL: locked + "/v1", Name: "a"}, 0, []string{"it answers 401 | Set HANDRAIL_API_KEY"}},
		"more than it":   {config.Model{Ollama: ollama, Name: "a", Context: 65536}, 40960, []string{"wrong context: model.context is 65536, and the model was made for 40960"}},
		"made for words": {config.Model{Ollama: ollama, Name: "a"}, 2048, []string{"wrong context: the model was made for 2048 tokens; a session needs 8192"}},
	} {
		d := Config{Server: config.Server{Model: c.model}, HTTP: http.DefaultTransport, Model: able(c.length)}
		t.Run(name, func(t *testing.T) { wants(t, d.model(t.Context()), c.want...) })
	}
	if _, ok := asked.Load("/v1/api/tags"); ok {
		t.Error("a server with OpenAI's API is asked for the models of Ollama")
	}
}

// TestPlaces: the directory and the database are looked at where they are.
func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{Log: slog.New(slog.DiscardHandler), Server: config.Server{Data: filepath.Join(dir, "new", "data")}}
	wants(t, c.data(t.Context()), "ok data: "+c.Server.Data+" can be written, ")
	wants(t, c.database(t.Context()), "handrail.db is made when the server starts")
	c.Server.Database = file
	wants(t, c.database(t.Context()), "wrong database: it cannot be opened: ", "| Is the file one of handrail's")
	c.Server.Database = filepath.Join(dir, "good.db")
	if err := os.WriteFile(c.Server.Database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, c.database(t.Context()), "ok database: "+c.Server.Database+", with the tables of this version")
	c.Server.Database = "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"
	wants(t, c.database(t.Context()), "wrong database: it cannot be opened: ", "| Does PostgreSQL run there")
	c.Server.Data = filepath.Join(file, "below")
	wants(t, c.data(t.Context()), "wrong data: ", "Name ")
	c.Server.Database = ""
	if got := c.database(t.Context()); len(got) > 0 {
		t.Errorf("a database is promised where none can be made: %v", got)
	}
	c.Server.Database = filepath.Join("/proc/none", "own.db")
	wants(t, c.database(t.Context()), "wrong database: /proc cannot be written: ", "or name another: database, or HANDRAIL_DATABASE")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 4 {
		t.Errorf("something is left behind: %v %v", left, err)
	}
}

// TestExamine: the whole is well only when all that is needed is.
func TestExamine(t *testing.T) {
	t.Parallel()
	c := asApp(withRepo(t, hub(t, ghtest.Config{})))
	c.Server.Data, c.Server.Model = t.TempDir(), config.Model{Ollama: "127.0.0.1:1", Name: "a"}
	c.Model, c.HTTP = able(0), http.DefaultTransport
	c.Engines = func(context.Context) []Finding { return []Finding{passed("workspace", "here")} }
	r := c.Examine(t.Context())
	var out strings.Builder
	Say(&door.Console{Out: &out, Width: 200}, r)
	if r.OK || !strings.Contains(out.String(), "✗ model") || !strings.Contains(out.String(), "  → Start Ollama") || !strings.Contains(out.String(), "✔ workspace") || !strings.HasSuffix(out.String(), "until each ✗ is fixed.\n") {
		t.Errorf("it says\n%s", out.String())
	}
}

// TestPing: a ping that did not arrive is sent again, and what came of it is said.
func TestPing(t *testing.T) {
	t.Parallel()
	gh := withRepo(t, hub(t, ghtest.Config{}))
	c := asApp(gh)
	wants(t, []Finding{c.Ping(t.Context())}, "wrong webhook: GitHub sent no ping yet")
	var status atomic.Int32
	status.Store(http.StatusBadGateway)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer srv.Close()
	gh.SetWebhook(srv.URL)
	check := &ghcheck.Server{Server: gh}
	if _, err := check.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, []Finding{c.Ping(t.Context())}, "wrong webhook: GitHub's ping did not arrive: the answer was 502 Bad Gateway | GitHub does not reach the server")
	status.Store(http.StatusUnauthorized)
	wants(t, []Finding{c.Ping(t.Context())}, "wrong webhook: GitHub's ping was refused | The secret")
	status.Store(http.StatusOK)
	wants(t, c.deliveries(t.Context()), "ok webhook: GitHub's ping arrived", "ok deliveries: ")
	gh.SetWebhook("http://127.0.0.1:1/webhook")
	if _, err := check.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, []Finding{c.Ping(t.Context())}, "wrong webhook: GitHub's ping did not arrive: there was no answer")
}
