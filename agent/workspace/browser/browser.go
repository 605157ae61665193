// Package browser drives a headless Chromium by its DevTools protocol, of which it needs some
// thirty calls. It runs beside the tool host inside the workspace and shows pages of servers on the
// workspace's own loopback interface.
//
// Everything that the page says, also through the browser, is untrusted: it is bounded here, and
// the caller marks it as foreign.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits of the texts of one step.
const (
	maxLines   = 400 // of an outline
	maxEvents  = 50  // console messages and failed requests, each
	maxText    = 300 // bytes of each
	maxPending = 200 // requests
)

// Names returns the names of the program, in order of preference.
func Names() []string {
	return []string{
		"chromium-headless-shell", "chrome-headless-shell", "headless_shell", "chromium", "chromium-browser",
		"google-chrome-stable", "google-chrome",
	}
}

// Argv returns the command line of a program, with its files in dir. The browser speaks the DevTools
// protocol over standard input and output.
//
// It has no sandbox of its own: its pages are code of the workspace, whose commands run without one, too.
func Argv(program, dir string) []string {
	const redirect = `exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>"$HANDRAIL_BROWSER_LOG"`
	return []string{
		"sh", "-c", redirect, program,
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + path.Join(dir, "profile"), "--no-sandbox",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-crash-reporter", "--disable-breakpad", "--no-first-run",
		"--no-default-browser-check", "--no-proxy-server",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--disable-default-apps", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
		"--disable-search-engine-choice-screen", "--disable-site-isolation-trials", "--disable-smooth-scrolling",
		"--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints",
		"--mute-audio", "--hide-scrollbars", "--force-device-scale-factor=1", "--force-color-profile=srgb",
		"--password-store=basic", "--use-mock-keychain", "--renderer-process-limit=2",
		"--js-flags=--max-old-space-size=512", "--disk-cache-size=33554432", "--lang=en-US",
		fmt.Sprintf("--window-size=%d,%d", workspace.PageWidth, workspace.PageHeight), "about:blank",
	}
}

// Environ returns the environment of a browser with its files in dir, besides the workspace's.
func Environ(dir string) map[string]string {
	return map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_CACHE_HOME": dir, "HANDRAIL_BROWSER_LOG": path.Join(dir, "log"),
	}
}

// Browser is a running browser with one page. Its methods are safe for concurrent use; steps are
// carried out one after the other.
type Browser struct {
	*conn
	session string // of the page
	frame   string // its main frame
	target  string

	step sync.Mutex // held during a step

	mu       sync.Mutex
	news     chan struct{} // closed and replaced when something below changes
	loading  bool
	crashed  bool
	pending  map[string]string // requests by id
	quiet    time.Time         // of the last change of pending
	open     string            // URL that the page opened in a window of its own
	view     workspace.PageView
	last     int      // number of the last element
	previous []string // outline of the previous step
	page     string   // its URL without the fragment
}

// Start takes over a browser that was started with [Argv]. When ctx ends, or the browser does, the
// pipe is closed.
func Start(ctx context.Context, pipe io.ReadWriteCloser) (*Browser, error) {
	b := &Browser{news: make(chan struct{}), pending: map[string]string{}}
	b.conn = &conn{pipe: pipe, events: b.event, gone: make(chan struct{}), waiting: map[int]chan message{}}
	go b.read()
	var made struct {
		ID string `json:"targetId"`
	}
	var in struct {
		ID string `json:"sessionId"`
	}
	err := b.call(ctx, "", "Target.createTarget", object{"url": "about:blank"}, &made)
	if err == nil {
		b.target = made.ID
		err = b.call(ctx, "", "Target.attachToTarget", object{"targetId": made.ID, "flatten": true}, &in)
	}
	if err == nil {
		b.mu.Lock()
		b.session = in.ID
		b.mu.Unlock()
		err = b.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start browser: %w", err), pipe.Close())
	}
	return b, nil
}

// Gone returns a channel that is closed when the browser has ended.
func (b *Browser) Gone() <-chan struct{} { return b.gone }

// prepare limits the page and asks for its events.
func (b *Browser) prepare(ctx context.Context) error {
	downloads := object{"behavior": "deny", "eventsEnabled": true} //control:browser-downloads
	for _, c := range []struct {
		browser bool
		method  string
		params  object
	}{
		{true, "Browser.setDownloadBehavior", downloads},
		{true, "Target.setDiscoverTargets", object{"discover": true}},
		{false, "Page.enable", nil},
		{false, "Runtime.enable", nil},
		{false, "Log.enable", nil},
		{false, "Network.enable", object{"maxTotalBufferSize": 1 << 20, "maxResourceBufferSize": 1 << 18}},
		{false, "Inspector.enable", nil},
		{false, "Page.setInterceptFileChooserDialog", object{"enabled": true}},
		{false, "Emulation.setFocusEmulationEnabled", object{"enabled": true}},
	} {
		session := b.session
		if c.browser {
			session = ""
		}
		if err := b.call(ctx, session, c.method, c.params, nil); err != nil {
			return err
		}
	}
	var tree struct {
		Tree struct {
			Frame struct {
				ID string `json:"id"`
			} `json:"frame"`
		} `json:"frameTree"`
	}
	if err := b.call(ctx, b.session, "Page.getFrameTree", nil, &tree); err != nil {
		return err
	}
	b.mu.Lock()
	b.frame = tree.Tree.Frame.ID
	b.mu.Unlock()
	return b.resize(ctx, workspace.PageWidth, workspace.PageHeight)
}

func (b *Browser) resize(ctx context.Context, width, height int) error {
	return b.call(ctx, b.session, "Emulation.setDeviceMetricsOverride", object{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
}

// changed wakes those that wait for a change. The caller holds b.mu.
func (b *Browser) changed() {
	close(b.news)
	b.news = make(chan struct{})
}

// reply sends a call whose answer does not matter, from the reading goroutine, which must not wait
// for the browser to read.
func (b *Browser) reply(session, method string, params object) {
	go func() {
		if id, _, err := b.post(session, method, params); err == nil {
			b.forget(id)
		}
	}()
}

// line returns a text of the page as one line of limited length.
func line(s string) string {
	s = s[:min(len(s), 4*maxText)] // before the work below
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// add appends a line to a list of limited length. The caller holds b.mu.
func (b *Browser) add(list *[]string, format string, args ...any) {
	s := line(fmt.Sprintf(format, args...))
	switch n := len(*list); {
	case n > 0 && (*list)[n-1] == s:
	case n >= maxEvents:
		b.view.Left++
	default:
		*list = append(*list, s)
	}
}

// remote is a value of the page.
type remote struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

func (r remote) String() string {
	var s string
	if r.Type == "string" && json.Unmarshal(r.Value, &s) == nil {
		return s
	}
	if r.Description != "" {
		return r.Description
	}
	if r.Value == nil {
		return r.Type
	}
	return string(r.Value)
}
