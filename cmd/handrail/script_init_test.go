package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// firstHour is what somebody does who begins.
var firstHour = []scriptVerb{
	{"init", "[FLAG...]", 0, 9, (*stage).init},
	{"init-says", "PATTERN", 1, 1, (*stage).initSays},
	{"init-ends", "", 0, 0, (*stage).initEnds},
}

// beginning is a `handrail init` that runs.
type beginning struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	said strings.Builder
}

// scriptEdge puts TLS before the story's model, with a certificate that no machine trusts and that
// is in ca.pem, and asks for a key if one is given.
func scriptEdge(ts *testscript.TestScript, neg bool, key []string) {
	s, ok := ts.Value(stageKey{}).(*stage)
	if !ok || s.model == nil || neg || len(key) > 1 {
		ts.Fatalf("usage: edge [KEY], behind model")
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(key) > 0 && r.Header.Get("Authorization") != "Bearer "+key[0] {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.model.handler.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust it
	srv.StartTLS()
	ts.Defer(srv.Close)
	ts.Setenv("OLLAMA_HOST", srv.URL)
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
}

// site is the GitHub of the story with its page on which Apps are made: it gives the
// story's App for a code, once.
func (s *stage) site() http.Handler {
	home, err := url.Parse(s.gh.URL())
	if err != nil {
		panic(err)
	}
	mux, given := http.NewServeMux(), false
	mux.Handle("/", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(home)
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error { return readdress(r, s.gh.URL(), "http://"+r.Request.Host) },
	})
	mux.HandleFunc("POST /api/v3/app-manifests/the-code/conversions", func(w http.ResponseWriter, r *http.Request) {
		if given {
			http.NotFound(w, r)
			return
		}
		given = true
		app := s.gh.App()
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": app.ID, "html_url": "http://" + r.Host + "/apps/handrail", "pem": string(app.Key), "webhook_secret": app.WebhookSecret})
	})
	return mux
}

// readdress has an answer of the API speak of the address at which it was asked.
func readdress(r *http.Response, from, to string) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

// init starts `handrail init` and is the person at the browser, who presses the button.
func (s *stage) init(ts *testscript.TestScript, args []string) error {
	gh := httptest.NewServer(s.site())
	ts.Defer(gh.Close)
	cmd := exec.Command("handrail", append([]string{"init", "--github", gh.URL, "--listen", "127.0.0.1:0", "--dir", ts.MkAbs("bot")}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "OLLAMA_HOST"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	s.begun = &beginning{cmd: cmd, out: bufio.NewReader(out)}
	ts.Defer(func() { _ = cmd.Process.Kill() })
	first, err := s.begun.until(regexp.MustCompile(`http://\S+/setup\?code=\S+`))
	if err != nil {
		return err
	}
	return pressButton(first)
}

var (
	formTo   = regexp.MustCompile(`action="([^"]*)"`)
	manifest = regexp.MustCompile(`name="manifest" value="([^"]*)"`)
)

// pressButton opens the page, and has the App made as GitHub does it.
func pressButton(address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, Timeout: patience}
	text, err := page200(browser, address)
	if err != nil {
		return err
	}
	to, what := formTo.FindStringSubmatch(text), manifest.FindStringSubmatch(text)
	if to == nil || what == nil {
		return fmt.Errorf("the page has no form:\n%s", text)
	}
	form, err := url.Parse(html.UnescapeString(to[1]))
	if err != nil {
		return err
	}
	var wish struct {
		Back string `json:"redirect_url"`
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(what[1])), &wish); err != nil {
		return err
	}
	text, err = page200(browser, wish.Back+"?code=the-code&state="+form.Query().Get("state"))
	if err == nil && !strings.Contains(text, "/apps/handrail/installations/new") {
		err = fmt.Errorf("the page has no link to install the App:\n%s", text)
	}
	return err
}

func page200(browser *http.Client, address string) (string, error) {
	resp, err := browser.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s\n%s", resp.Status, text)
	}
	return string(text), err
}

// until reads what was said up to a line that matches, and returns the match.
func (b *beginning) until(pattern *regexp.Regexp) (string, error) {
	for {
		line, err := b.out.ReadString('\n')
		b.said.WriteString(line)
		if found := pattern.FindString(line); found != "" {
			return found, nil
		}
		if err != nil {
			return "", fmt.Errorf("handrail init does not say %s: %w\n%s", pattern, err, b.said.String())
		}
	}
}

func (s *stage) initSays(_ *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile(args[0])
	if err != nil || s.begun == nil {
		return errors.Join(err, errors.New("begin with init, and a pattern"))
	}
	_, err = s.begun.until(pattern)
	return err
}

// initEnds waits for the end of `handrail init`, and prints all that it said. The server
// is started with the files that it wrote, and nothing else.
func (s *stage) initEnds(ts *testscript.TestScript, _ []string) error {
	if s.begun == nil {
		return errors.New("begin with init")
	}
	rest, err := io.ReadAll(s.begun.out)
	s.begun.said.Write(rest)
	fmt.Fprint(ts.Stdout(), s.begun.said.String())
	if err := errors.Join(err, s.begun.cmd.Wait()); err != nil {
		return fmt.Errorf("%w\n%s", err, s.begun.said.String())
	}
	s.env = []string{"HANDRAIL_WORKSPACE=local"}
	for line := range strings.Lines(ts.ReadFile("bot/handrail.env")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.HasPrefix(name, "HANDRAIL_") {
			s.env = append(s.env, name+"="+strings.Trim(value, "'"))
		}
	}
	return nil
}
