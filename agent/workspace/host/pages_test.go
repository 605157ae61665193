package host

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// fakeBrowser is the variable that makes the test's program a browser of that kind.
const fakeBrowser = "HANDRAIL_FAKE_BROWSER"

// browse answers every call of the DevTools protocol with an empty page: as "hungry" it takes memory
// with the first, as "lame" it does not start.
func browse(kind string) {
	if kind == "lame" {
		fmt.Fprintln(os.Stderr, "error while loading shared libraries: libnss3.so")
		os.Exit(127)
	}
	var memory [][]byte
	in, out := bufio.NewReader(os.NewFile(3, "in")), os.NewFile(4, "out")
	for {
		data, err := in.ReadBytes(0)
		if err != nil {
			os.Exit(0)
		}
		var call struct{ ID int }
		if json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &call) != nil {
			os.Exit(1)
		}
		if kind == "hungry" && memory == nil {
			memory = append(memory, bytes.Repeat([]byte{1}, 200<<20))
		}
		fmt.Fprintf(out, `{"id":%d,"result":{"targetId":"t","sessionId":"s","executionContextId":1,`+
			`"frameTree":{"frame":{"id":"f"}},"result":{"value":{"url":"http://localhost/","title":"Fake"}}}}`+"\x00", call.ID)
	}
}

// withBrowser serves a directory with a browser of a kind on the PATH, "" for none.
func withBrowser(t *testing.T, kind string, limits workspace.Limits) *workspace.Workspace {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s\n", fakeBrowser, kind, self)
		if err := os.WriteFile(filepath.Join(bin, "chromium"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/bin/sh", filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	cfg := Config{Root: t.TempDir(), Env: []string{"PATH=" + bin}, Limits: limits, slower: unhurried}
	go func() { ended <- Serve(t.Context(), theirs, cfg) }()
	ws, err := workspace.Connect(t.Context(), workspace.Config{Engine: "test", Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(ws.Close(t.Context()), <-ended); err != nil {
			t.Error(err)
		}
	})
	return ws
}

// launched opens a page of a server on this machine.
func launched(t *testing.T, ws *workspace.Workspace) (workspace.PageView, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return ws.Page(t.Context(), workspace.PageStep{Action: workspace.PageLaunch, URL: "http://" + l.Addr().String()})
}

// leftFiles returns the directories of browsers that are left.
func leftFiles(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "browser-*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestBrowserEnds: a browser ends when it is closed, with the workspace, and if it takes too much
// memory; its files go with it, and the next launch starts a new one.
func TestBrowserEnds(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	screenshot := workspace.PageStep{Action: workspace.PageScreenshot}
	ws := withBrowser(t, "good", workspace.Limits{})
	if name, err := ws.Chromium(t.Context()); err != nil || name != "chromium" {
		t.Errorf("the browser is %q, %v", name, err)
	}
	if _, err := ws.Page(t.Context(), screenshot); err == nil || !strings.Contains(err.Error(), "no browser is open") {
		t.Errorf("before the launch: %v", err)
	}
	for range 2 {
		if v, err := launched(t, ws); err != nil || v.Title != "Fake" || len(leftFiles(t, tmp)) != 1 {
			t.Fatalf("%+v, %v, %q", v, err, leftFiles(t, tmp))
		}
	}
	if _, err := ws.Page(t.Context(), workspace.PageStep{Action: workspace.PageClose}); err != nil || len(leftFiles(t, tmp)) > 0 {
		t.Errorf("after the close: %v, %q", err, leftFiles(t, tmp))
	}
	if v, err := launched(t, ws); err != nil || v.Title != "Fake" {
		t.Errorf("after another launch: %+v, %v", v, err)
	}
	if err := ws.Close(t.Context()); err != nil {
		t.Error(err)
	}

	ws = withBrowser(t, "hungry", workspace.Limits{MemoryBytes: 300 << 20})
	_, err := launched(t, ws)
	for until := time.Now().Add(10 * time.Minute); err == nil && time.Now().Before(until); {
		<-time.After(100 * time.Millisecond)
		_, err = ws.Page(t.Context(), screenshot)
	}
	if err == nil || !strings.Contains(err.Error(), "more than 150 MB") {
		t.Errorf("a browser with too much memory: %v", err)
	}
}

// TestNoBrowserStarts: a workspace without a browser says so, and one that lacks a library says which.
func TestNoBrowserStarts(t *testing.T) {
	t.Parallel()
	ws := withBrowser(t, "", workspace.Limits{})
	if name, err := ws.Chromium(t.Context()); err != nil || name != "" {
		t.Errorf("the browser is %q, %v", name, err)
	}
	if _, err := launched(t, ws); err == nil || !strings.Contains(err.Error(), "there is no Chromium") {
		t.Errorf("none: %v", err)
	}
	if _, err := launched(t, withBrowser(t, "lame", workspace.Limits{})); err == nil || !strings.Contains(err.Error(), "libnss3.so") {
		t.Errorf("one without its library: %v", err)
	}
}
