package setup

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/secret"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	hookSecret   = "the-secret-of-the-webhook"
	clientSecret = "the-secret-of-the-client"
)

// hub is the part of a GitHub that gives an App for a code, once.
func hub(t *testing.T) (address, key string) {
	t.Helper()
	priv, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	key = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(priv)}))
	given := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v3/app-manifests/thecode/conversions" || r.Header.Get("Authorization") != "" || given {
			http.NotFound(w, r)
			return
		}
		given = true
		w.WriteHeader(http.StatusCreated)
		must(t, json.NewEncoder(w).Encode(map[string]any{"id": 4711, "slug": "handrail-team", "html_url": "http://" + r.Host + "/apps/handrail-team",
			"pem": key, "webhook_secret": hookSecret, "client_secret": clientSecret}))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, key
}

// unasked has a model that nobody answers for.
func unasked(cfg config.Server, log *slog.Logger) doctor.Config {
	cfg.Model.Ollama = "127.0.0.1:1"
	return doctor.Config{Server: cfg, Log: log, GitHub: http.DefaultTransport, HTTP: http.DefaultTransport}
}

// begun is a handrail init that waits.
type begun struct {
	t     *testing.T
	first string // address that it printed
	rest  *bufio.Reader
	ended chan error
	stop  context.CancelFunc
}

func begin(t *testing.T, v *Verb) *begun {
	t.Helper()
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	b := &begun{t: t, rest: bufio.NewReader(r), ended: make(chan error, 1), stop: stop}
	t.Cleanup(stop)
	v.Listen, v.Model, v.NoWait = "127.0.0.1:0", "qwen3:8b", true
	go func() {
		err := v.Run(ctx, &door.Console{Out: out, Err: out}, unasked)
		out.CloseWithError(errors.Join(err, io.EOF))
		b.ended <- err
	}()
	for !strings.HasPrefix(b.first, "http") {
		line, err := b.rest.ReadString('\n')
		must(t, err)
		b.first = strings.TrimSpace(line)
	}
	_, err := b.rest.ReadString('\n')
	must(t, err)
	_, err = b.rest.ReadString('\n')
	must(t, err)
	return b
}

func (b *begun) at(path string) string {
	u, err := url.Parse(b.first)
	must(b.t, err)
	return "http://" + u.Host + path
}

// browser is one with its own cookies.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &http.Client{Jar: jar, Timeout: 2 * time.Minute}
}

func get(t *testing.T, c *http.Client, address string) (int, string, http.Header) {
	t.Helper()
	resp, err := c.Get(address)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, html.UnescapeString(string(text)), resp.Header
}

var formOf = regexp.MustCompile(`action="([^"]*)"><input type="hidden" name="manifest" value="(.*)"><button>`)

// TestSetup plays the browser of somebody who creates an App on an enterprise server, for
// an organization, without a public address.
func TestSetup(t *testing.T) {
	t.Parallel()
	gh, key := hub(t)
	dir := t.TempDir()
	b := begin(t, &Verb{Dir: dir, GitHub: gh, Organization: "acme"})
	me := browser(t)
	_, text, head := get(t, me, b.first)
	form := formOf.FindStringSubmatch(text)
	if form == nil || strings.Contains(text, "<script") || !strings.Contains(head.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("the page is\n%s\n%v", text, head)
	}
	to, err := url.Parse(form[1])
	must(t, err)
	if !strings.HasPrefix(form[1], gh+"/organizations/acme/settings/apps/new?state=") {
		t.Errorf("the form goes to %s", form[1])
	}
	var manifest struct {
		RedirectURL string            `json:"redirect_url"`
		Rights      map[string]string `json:"default_permissions"`
		Public      bool
		Hook        struct{ URL string } `json:"hook_attributes"`
	}
	must(t, json.Unmarshal([]byte(form[2]), &manifest))
	if manifest.RedirectURL != b.at("/setup/created") || manifest.Public || manifest.Hook.URL != "https://handrail.invalid/webhook" || manifest.Rights["contents"] != "write" || manifest.Rights["workflows"] != "" {
		t.Errorf("the manifest is %s", form[2])
	}
	status, text, _ := get(t, me, manifest.RedirectURL+"?code=thecode&state="+to.Query().Get("state"))
	if status != http.StatusOK || !strings.Contains(text, gh+"/apps/handrail-team/installations/new") {
		t.Fatalf("%d\n%s", status, text)
	}
	said, _ := io.ReadAll(b.rest)
	must(t, <-b.ended)
	for _, hidden := range []string{hookSecret, clientSecret, strings.Split(key, "\n")[1]} {
		if strings.Contains(text, hidden) || strings.Contains(string(said), hidden) {
			t.Errorf("%s is shown", hidden)
		}
	}
	if _, err := http.Get(b.at("/setup")); err == nil {
		t.Error("the page is still there")
	}
	for _, name := range []string{"handrail.yml", "handrail.env", "handrail.pem"} {
		if is, err := os.Stat(filepath.Join(dir, name)); err != nil || is.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, is, err)
		}
	}
	env := environment(t, filepath.Join(dir, "handrail.env"))
	cfg, err := config.Read(filepath.Join(dir, "handrail.yml"), func(name string) string { return env[name] })
	must(t, err)
	if cfg.GitHub.AppID != 4711 || cfg.GitHub.Poll == 0 || cfg.GitHub.API != gh+"/api/v3/" || cfg.Model.Name != "qwen3:8b" || len(cfg.LogKey) < 40 || cfg.GitHub.WebhookSecret != "" {
		t.Errorf("the configuration is %+v", cfg)
	}
	if !strings.Contains(string(said), "handrail serve --config '"+filepath.Join(dir, "handrail.yml")+"'") || !strings.Contains(string(said), "/agent ask") {
		t.Errorf("at its end it says\n%s", said)
	}
}

// environment reads a file as a shell does.
func environment(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			out[name] = strings.Trim(value, "'")
		}
	}
	return out
}

// TestWithAddress: with a public address GitHub calls it, and its secret is kept.
func TestWithAddress(t *testing.T) {
	t.Parallel()
	gh, _ := hub(t)
	dir := t.TempDir()
	b := begin(t, &Verb{Dir: dir, GitHub: gh, Address: "https://bot.example/", Workflows: true})
	me := browser(t)
	_, text, _ := get(t, me, b.first)
	form := formOf.FindStringSubmatch(text)
	if form == nil || !strings.Contains(form[2], `"url":"https://bot.example/webhook"`) || !strings.Contains(form[2], `"workflows":"write"`) || !strings.HasPrefix(form[1], gh+"/settings/apps/new?state=") {
		t.Fatalf("the page is\n%s", text)
	}
	to, err := url.Parse(form[1])
	must(t, err)
	get(t, me, b.at("/setup/created?code=thecode&state="+to.Query().Get("state")))
	_, _ = io.ReadAll(b.rest)
	must(t, <-b.ended)
	env := environment(t, filepath.Join(dir, "handrail.env"))
	cfg, err := config.Read(filepath.Join(dir, "handrail.yml"), func(name string) string { return env[name] })
	must(t, err)
	if cfg.GitHub.Poll != 0 || cfg.GitHub.WebhookSecret != hookSecret {
		t.Errorf("the configuration is %+v", cfg)
	}
}

// TestWhoMayOpen: the page is for the browser that came first with the code, and for
// answers to what it asked.
func TestWhoMayOpen(t *testing.T) {
	t.Parallel()
	gh, _ := hub(t)
	dir := t.TempDir()
	b := begin(t, &Verb{Dir: dir, GitHub: gh})
	for _, path := range []string{"/setup", "/setup?code=wrong", "/setup?code=", "/setup/created?code=thecode&state=x", "/", "/handrail.env"} {
		if status, text, _ := get(t, browser(t), b.at(path)); status != http.StatusForbidden || strings.Contains(text, "state=") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	me := browser(t)
	status, text, _ := get(t, me, b.first)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if status, _, _ := get(t, browser(t), b.first); status != http.StatusForbidden {
		t.Errorf("the code works twice: %d", status)
	}
	for _, state := range []string{"", "x"} {
		if _, text, _ := get(t, me, b.at("/setup/created?code=thecode&state="+state)); !strings.Contains(text, "belongs to another request") {
			t.Errorf("state %q: %s", state, text)
		}
	}
	form := formOf.FindStringSubmatch(text)
	to, err := url.Parse(form[1])
	must(t, err)
	for _, code := range []string{"another", "../app", ""} { // each state holds once
		if _, text, _ := get(t, me, b.at("/setup/created?code="+url.QueryEscape(code)+"&state="+to.Query().Get("state"))); !strings.Contains(text, "This did not work") {
			t.Errorf("code %q: %s", code, text)
		}
	}
	b.stop()
	_, _ = io.ReadAll(b.rest)
	if err := <-b.ended; err == nil {
		t.Error("it says that all went well")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("written: %v %v", list, err)
	}
}

// TestNothingIsOverwritten: what is there stays, also what came meanwhile.
func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "handrail.env")
	must(t, write(name, "mine"))
	if err := write(name, "other"); err == nil {
		t.Error("it is written over")
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "mine" {
		t.Errorf("it holds %s %v", text, err)
	}
	v := &Verb{Dir: filepath.Dir(name), Model: "m", Listen: "127.0.0.1:0"}
	if err := v.Run(t.Context(), &door.Console{Out: io.Discard, Err: io.Discard}, unasked); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("with files that are there it says %v", err)
	}
}

// TestWrongUse: what cannot work is said before anything is opened.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, v := range []Verb{
		{BaseURL: "http://127.0.0.1:1/v1"}, {Model: "m", GitHub: "http://github.example"}, {Model: "m", GitHub: "github"}, {Model: "m", Organization: "a/b"},
		{Model: "m", Address: "http://bot.example"}, {Model: "m", Address: "bot.example"}, {Model: "m", BaseURL: "x"}, {Model: "m", GitHub: "https://github.example/api/v3"},
	} {
		v.Dir, v.Listen = t.TempDir(), "127.0.0.1:0"
		var use door.UsageError
		if err := v.Run(t.Context(), &door.Console{Out: io.Discard, Err: io.Discard}, unasked); !errors.As(err, &use) {
			t.Errorf("%s: %v", fmt.Sprintf("%+v", v), err)
		}
	}
}

// TestKeyOfTheModel: the key of the model's server is written where the server reads it.
func TestKeyOfTheModel(t *testing.T) {
	t.Parallel()
	_, pem := hub(t)
	for key, want := range map[string]bool{"sk-1": true, "": true, "sk'1": false} {
		v := &Verb{Dir: t.TempDir(), Listen: "127.0.0.1:8080", Model: "m", BaseURL: "https://models.example/v1", key: secret.Value(key)}
		f, err := filesIn(v.Dir).writeAll(v, granted.App{ID: 1, Key: []byte(pem)})
		if want != (err == nil) {
			t.Fatalf("%q: %v", key, err)
		}
		if err != nil {
			continue
		}
		data, err := os.ReadFile(f.Environment)
		if must(t, err); strings.Contains(string(data), "HANDRAIL_API_KEY") != (key != "") || !strings.Contains(string(data), key) || v.secrets["HANDRAIL_API_KEY"] != key {
			t.Errorf("%q: %s", key, data)
		}
	}
}
