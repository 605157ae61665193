package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/lsp/lsptest"
)

// bench is a client of a fake server on some files.
type bench struct {
	*testing.T
	*lsp.Client
	dir string
}

// patience is the time limit of a wait. It is reached only by a hang.
const patience = 10 * time.Minute

func open(t *testing.T, lies string, files map[string]string) bench {
	t.Helper()
	return openThat(t, &lsptest.Server{Lies: lies}, files)
}

// gate is the time that a server takes: it tells that it waits, until it is opened, at the latest at the
// end of the test.
type gate struct {
	waits chan struct{}
	opens <-chan struct{}
	open  context.CancelFunc
}

func newGate(t *testing.T) *gate {
	g := &gate{waits: make(chan struct{}, 100)}
	ctx, open := context.WithCancel(t.Context()) // done before the test waits for the server's end
	g.opens, g.open = ctx.Done(), open
	return g
}

func (g *gate) wait() {
	g.waits <- struct{}{}
	<-g.opens
}

func openThat(t *testing.T, server *lsptest.Server, files map[string]string) bench {
	t.Helper()
	b, err := try(t, server, files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func try(t *testing.T, server *lsptest.Server, files map[string]string) (bench, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(far) }()
	described := lsp.Server{Name: "fake", Languages: map[string]string{".x": "x"}, Settings: []byte(`{"a":{"b":7}}`)}
	if strings.Contains(server.Lies, lsptest.TSServer) {
		described.TSServer = "typescript.tsserverRequest"
	}
	c, err := lsp.Start(t.Context(), near, lsp.Config{
		Root:   dir,
		Server: described,
		Start:  patience,
		Call:   patience,
	})
	t.Cleanup(func() {
		if c != nil {
			c.Close()
		}
		<-served
	})
	return bench{t, c, dir}, err
}

func (b bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b bench) sync(name, text string) {
	b.Helper()
	if err := b.Sync(b.Context(), b.path(name), []byte(text)); err != nil {
		b.Fatal(err)
	}
}

// find returns the answer to a question as "name:line".
func (b bench) find(ask lsp.Ask, name string, line, at int) string {
	b.Helper()
	places, err := b.Find(b.Context(), ask, b.path(name), lsp.Position{Line: line, Byte: at})
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	for _, p := range places {
		out = append(out, fmt.Sprintf("%s:%d", filepath.Base(p.Path), p.Line+1))
	}
	return strings.Join(out, " ")
}

var two = map[string]string{"a.x": "func Hub\nHub\n", "b.x": "\nuse Hub\n"}

func TestNavigation(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{"", lsptest.Asks, lsptest.Modified, lsptest.UTF8} {
		t.Run(lies, func(t *testing.T) {
			b := open(t, lies, two)
			b.sync("a.x", two["a.x"])
			if got := b.find(lsp.Definition, "a.x", 1, 1); got != "a.x:1" {
				t.Errorf("definition is %q", got)
			}
			if got := b.find(lsp.Declared, "a.x", 0, 5); got != "a.x:1 a.x:2 b.x:2" {
				t.Errorf("references are %q", got)
			}
			if got, err := b.Symbols(t.Context(), b.path("a.x")); err != nil || len(got) != 1 || got[0].Name != "Hub" {
				t.Errorf("symbols are %+v, %v", got, err)
			}
			if got, err := b.Search(t.Context(), "Hub"); err != nil || len(got) != 1 || got[0].Path != b.path("a.x") {
				t.Errorf("index has %+v, %v", got, err)
			}
			if got, err := b.Hover(t.Context(), b.path("a.x"), lsp.Position{Byte: 5}); err != nil ||
				got != "```go\nfunc Hub\n```" {
				t.Errorf("hover is %q, %v", got, err)
			}
			if _, err := b.Hierarchy(t.Context(), "subtypes", b.path("a.x"), lsp.Position{}, 1, 9); !errors.Is(err, lsp.ErrLacks) {
				t.Errorf("a hierarchy that the server does not have: %v", err)
			}
		})
	}
}

// TestEncodings: a character beyond ASCII stands in front of the name, and one beyond the basic
// plane.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ä 𐐀 Hub BROKEN\nfunc Hub\n", "\xe4\xf6\xfc Hub BROKEN\nfunc Hub\n"} { // also bytes of no character
		for _, lies := range []string{"", lsptest.UTF8} {
			b := open(t, lies, map[string]string{"a.x": text})
			b.sync("a.x", text)
			if got := b.find(lsp.Definition, "a.x", 0, strings.Index(text, "Hub")); got != "a.x:2" {
				t.Errorf("%q %s: definition is %q", text, lies, got)
			}
			got := b.Diagnose(t.Context(), b.path("a.x"), patience)
			if len(got.Items) != 1 || got.Items[0].Column != strings.Index(text, "BROKEN")+1 {
				t.Errorf("%q %s: diagnosis is %+v", text, lies, got)
			}
		}
	}
	for lies, name := range map[string]string{lsptest.UTF7: "utf-7", lsptest.UTF32: "utf-32"} {
		if _, err := try(t, &lsptest.Server{Lies: lies}, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("an encoding that was not offered: %v", err)
		}
	}
}

// TestOddLines: of a file with ends of lines that a server takes as such and others do not no problem is told.
func TestOddLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x\rBROKEN\n", "x\r\nBROKEN\u2028\r\n"} {
		b := open(t, lsptest.Returns, two)
		b.sync("a.x", text)
		if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.None || len(got.Items) > 0 {
			t.Errorf("%q: %+v", text, got)
		}
		b.sync("a.x", "x\r\nBROKEN\r\n")
		if got := b.Diagnose(t.Context(), b.path("a.x"), patience); len(got.Items) != 1 || got.Items[0].Line != 2 {
			t.Errorf("lines of Windows: %+v", got)
		}
	}
}

// TestDrafts: a list that comes while the server works on is not its last word.
func TestDrafts(t *testing.T) {
	t.Parallel()
	works := newGate(t)
	b := openThat(t, &lsptest.Server{Lies: lsptest.Draft, Wait: works.wait}, two)
	b.sync("a.x", "BROKEN\n")
	<-works.waits
	b.find(lsp.Definition, "a.x", 0, 0) // the draft is here
	if got := b.Diagnose(t.Context(), b.path("a.x"), 50*time.Millisecond); got.State != lsp.Settling {
		t.Errorf("by a draft: %+v", got)
	}
	works.open()
	if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.Fresh || len(got.Items) != 1 {
		t.Errorf("at the end: %+v", got)
	}
}

// TestManyProblems: of a long list the worst problems are told, and the number of the others.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{"", lsptest.Pull} {
		b := open(t, lies, two)
		b.sync("a.x", strings.Repeat("BROKEN HINT\n", 600)+"BROKEN\n")
		got := b.Diagnose(t.Context(), b.path("a.x"), patience)
		if len(got.Items) != 500 || got.Left != 101 || got.Items[0].Line != 601 || got.Items[1].Line != 1 {
			t.Errorf("%d problems and %d more, at first %+v", len(got.Items), got.Left, got.Items[:min(2, len(got.Items))])
		}
	}
}

// TestLongProblems: of long problems the beginning is kept.
func TestLongProblems(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{lsptest.Lengthy, lsptest.Lengthy + "," + lsptest.Pull} {
		b := open(t, lies, two)
		b.sync("a.x", "BROKEN\n")
		got := b.Diagnose(t.Context(), b.path("a.x"), patience)
		if len(got.Items) != 1 || len(got.Items[0].Message) > 310 || got.Items[0].Code != "" {
			t.Errorf("%s: %.500q", lies, fmt.Sprint(got))
		}
	}
}

// TestWaveringServer: a server that no longer wants to be asked for diagnostics is not, and one that wants to from now
// on is.
func TestWaveringServer(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{lsptest.Wavers, lsptest.Turns} {
		b := open(t, lies, two)
		b.sync("a.x", "x\n")
		b.find(lsp.Definition, "a.x", 0, 0)
		b.sync("a.x", "BROKEN\n")
		if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.Fresh || len(got.Items) != 1 {
			t.Errorf("%s: diagnosis is %+v", lies, got)
		}
	}
}

// TestParting: requests that come with the end of a connection are no longer answered.
func TestParting(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := open(t, lsptest.Parting, two)
		b.sync("a.x", two["a.x"])
		ended := make(chan error)
		go func() {
			_, err := b.Find(context.WithoutCancel(t.Context()), lsp.Definition, b.path("a.x"), lsp.Position{})
			ended <- err
		}()
		b.Close()
		<-ended
	}
}

// TestLeavingServer: a server that ends well has ended.
func TestLeavingServer(t *testing.T) {
	t.Parallel()
	b, err := try(t, &lsptest.Server{Lies: lsptest.Leaves}, two)
	if err != nil {
		return // so soon
	}
	<-b.Gone()
	if _, err := b.Find(t.Context(), lsp.Definition, b.path("a.x"), lsp.Position{}); err == nil || err.Error() != "it has ended" {
		t.Errorf("it says %v", err)
	}
}

// TestManySections: a short question is no way to get an answer without end.
func TestManySections(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Greedy, two)
	b.sync("a.x", two["a.x"])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Find(ctx, lsp.Definition, b.path("a.x"), lsp.Position{Line: 1, Byte: 1}); err != nil {
		t.Error("200,000 sections of the settings were sent")
	}
}

// TestFreshness: an edit brings an error, and the next one takes it away. A list is shown only if
// it is about the text of the last edit.
func TestFreshness(t *testing.T) {
	t.Parallel()
	const good, bad = "x\n", "x\ny BROKEN\n"
	brokenNow := lsp.Diagnosis{State: lsp.Fresh, Items: []lsp.Diagnostic{{
		Line: 2, Column: 3, Severity: 1, Message: "undefined: BROKEN",
	}}}
	for _, test := range []struct {
		lies   string
		within time.Duration
		want   [2]lsp.Diagnosis // after the bad edit, after the good one
	}{
		{"", patience, [2]lsp.Diagnosis{brokenNow, {State: lsp.Fresh}}},
		{lsptest.Pull, patience, [2]lsp.Diagnosis{brokenNow, {State: lsp.Fresh}}},
		{lsptest.Pull + "," + lsptest.Kindless, patience, [2]lsp.Diagnosis{brokenNow, {State: lsp.Fresh}}},
		{lsptest.Late, patience, [2]lsp.Diagnosis{brokenNow, {State: lsp.Fresh}}},
		{lsptest.Late, 20 * time.Millisecond, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Settling}}},
		{lsptest.Never, 50 * time.Millisecond, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Settling}}},
		{lsptest.Stale, 100 * time.Millisecond, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Settling}}},
		{lsptest.Nameless, 100 * time.Millisecond, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Settling}}},
		{lsptest.Pull + "," + lsptest.Unchanged, patience, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Settling}}},
		{lsptest.Beyond, patience, [2]lsp.Diagnosis{{State: lsp.Settling}, {State: lsp.Fresh}}},
		{lsptest.Falling, patience, [2]lsp.Diagnosis{brokenNow, {State: lsp.Fresh}}},
	} {
		t.Run(test.lies, func(t *testing.T) {
			server := &lsptest.Server{Lies: test.lies}
			if test.within < patience { // it is later than that
				server.Wait = newGate(t).wait
			}
			b := openThat(t, server, map[string]string{"a.x": good})
			b.sync("a.x", good)
			for i, text := range []string{bad, good} {
				b.sync("a.x", text)
				got := b.Diagnose(t.Context(), b.path("a.x"), test.within)
				got.Why = ""
				if d := cmp.Diff(test.want[i], got); d != "" {
					t.Errorf("edit %d: %s", i+1, d)
				}
			}
		})
	}
}

// TestFreshOfAllFiles: a file is fine until another one changes, in an edit or on the disk. What was said of
// it before is not shown then.
func TestFreshOfAllFiles(t *testing.T) {
	t.Parallel()
	const long, short = patience, 100 * time.Millisecond
	for _, test := range []struct {
		lies   string
		within time.Duration
		want   lsp.State
	}{
		{"", long, lsp.Fresh},
		{lsptest.Pull, long, lsp.Fresh},
		{lsptest.TSServer, long, lsp.Fresh},
		{lsptest.Late, long, lsp.Fresh},
		{lsptest.Late, short, lsp.Settling},
		{lsptest.Idle, short, lsp.Settling},
		{lsptest.Nameless, short, lsp.Settling},
	} {
		for _, change := range []string{"an edit", "the disk"} {
			t.Run(test.lies+" "+change, func(t *testing.T) {
				files := map[string]string{"a.x": "func Hub\n", "b.x": "needs Hub\n"}
				server := &lsptest.Server{Lies: test.lies}
				if test.within < patience { // it is later than that
					server.Wait = newGate(t).wait
				}
				b := openThat(t, server, files)
				b.sync("b.x", files["b.x"])
				if change == "an edit" {
					b.sync("a.x", files["a.x"])
				}
				if test.want == lsp.Fresh {
					if got := b.Diagnose(t.Context(), b.path("b.x"), long); got.State != lsp.Fresh || len(got.Items) > 0 {
						t.Fatalf("at first: %+v", got)
					}
				}
				if change == "an edit" {
					b.sync("a.x", "func Other\n")
				} else if err := errors.Join(os.WriteFile(b.path("a.x"), []byte("func Other\n"), 0o644),
					b.Watched(t.Context(), []lsp.Event{{Path: b.path("a.x"), Kind: lsp.Changed}})); err != nil {
					t.Fatal(err)
				}
				got := b.Diagnose(t.Context(), b.path("b.x"), test.within)
				if got.State != test.want || (len(got.Items) == 1) != (test.want == lsp.Fresh) {
					t.Errorf("after the change: %+v", got)
				}
			})
		}
	}
}

// TestListsInOrder: the list of an earlier text that comes after that of a later one is not heard.
func TestListsInOrder(t *testing.T) {
	t.Parallel()
	slow, lists := newGate(t), make(chan struct{}, 3)
	b := openThat(t, &lsptest.Server{Lies: lsptest.Late, Wait: func() {
		if lists <- struct{}{}; len(lists) == 2 {
			slow.wait()
		}
	}}, two)
	for _, text := range []string{"x\n", "BROKEN\n"} {
		b.sync("a.x", text)
		for n := len(lists); n == 0; n = len(lists) {
			b.find(lsp.Definition, "a.x", 0, 0)
		}
	}
	<-slow.waits
	b.sync("a.x", "y\n")
	for n := range 100 {
		if got := b.Diagnose(t.Context(), b.path("a.x"), patience/60); got.State != lsp.Fresh || len(got.Items) > 0 {
			t.Fatalf("question %d: %+v", n, got)
		}
		slow.open()
		b.find(lsp.Definition, "a.x", 0, 0)
	}
}

// TestOvertaken: another file changes while the server thinks. Its answer is about the files before.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	thinks := newGate(t)
	b := openThat(t, &lsptest.Server{Lies: lsptest.Pull + "," + lsptest.Late, Wait: thinks.wait},
		map[string]string{"a.x": "func Hub\n", "b.x": "needs Hub\n"})
	b.sync("b.x", "needs Hub\n")
	b.Ready(t.Context(), patience) // the question is not put off
	got := make(chan lsp.Diagnosis)
	go func() { got <- b.Diagnose(t.Context(), b.path("b.x"), patience) }()
	<-thinks.waits
	b.sync("a.x", "func Other\n")
	thinks.open()
	if d := <-got; d.State != lsp.Fresh || len(d.Items) != 1 {
		t.Errorf("after the change: %+v", d)
	}
}

// TestReady: the first answer across files waits for the work that the server announced.
func TestReady(t *testing.T) {
	t.Parallel()
	works := newGate(t)
	b := openThat(t, &lsptest.Server{Lies: lsptest.Busy, Wait: works.wait}, two)
	b.sync("a.x", two["a.x"])
	if got := b.find(lsp.References, "a.x", 0, 5); got != "a.x:1 a.x:2" {
		t.Errorf("a server that is busy knows %q", got)
	}
	if b.Ready(t.Context(), time.Millisecond) {
		t.Error("a server that is busy is ready")
	}
	works.open()
	if !b.Ready(t.Context(), patience) {
		t.Error("a server that has ended its work is not ready")
	}
	usual := b.SetPause(time.Hour)
	if b.Ready(t.Context(), time.Millisecond) {
		t.Error("a server is ready that may begin its next work")
	}
	b.SetPause(usual)
	if got := b.find(lsp.References, "a.x", 0, 5); got != "a.x:1 a.x:2 b.x:2" {
		t.Errorf("references are %q", got)
	}
}

// TestOddAnswers: a second answer to one question is none to the next, escaped paths are read, a place in no file
// keeps its name, and null or nothing is an answer without places, but no list of problems.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{lsptest.Twice, lsptest.Escaped} {
		b := open(t, lies, two)
		b.sync("a.x", "func Hub\nHub BROKEN\n")
		for range 20 {
			if got := b.find(lsp.Definition, "a.x", 1, 1); got != "a.x:1" {
				t.Fatalf("%s: definition is %q", lies, got)
			}
			if got := b.find(lsp.Declared, "a.x", 0, 5); got != "a.x:1 a.x:2 b.x:2" {
				t.Fatalf("%s: references are %q", lies, got)
			}
		}
		if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.Fresh || len(got.Items) != 1 {
			t.Errorf("%s: diagnosis is %+v", lies, got)
		}
	}
	for lies, uri := range map[string]string{lsptest.Else: "jdt://contents/", lsptest.Host: "file://elsewhere/"} {
		b := open(t, lies, two)
		b.sync("a.x", two["a.x"])
		got, err := b.Find(t.Context(), lsp.Definition, b.path("a.x"), lsp.Position{Line: 1, Byte: 1})
		if err != nil || len(got) != 1 || got[0].Path != "" || !strings.HasPrefix(got[0].URI, uri) {
			t.Errorf("a place in no file is %+v, %v", got, err)
		}
	}
	b := open(t, lsptest.Itemless, two)
	b.sync("a.x", "x\n")
	b.find(lsp.Definition, "a.x", 0, 0) // the list is here
	b.Ready(t.Context(), patience)
	if got := b.Diagnose(t.Context(), b.path("a.x"), 100*time.Millisecond); got.State != lsp.Settling {
		t.Errorf("by a list without problems, not even none: %+v", got)
	}
	b = open(t, lsptest.Itemless+","+lsptest.Pull, two)
	b.sync("a.x", "x\n")
	if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.None {
		t.Errorf("asked for a list without problems, not even none: %+v", got)
	}
	b = open(t, lsptest.Null+","+lsptest.Pull, two)
	b.sync("a.x", "BROKEN\n")
	if got := b.find(lsp.Declared, "a.x", 0, 1); got != "" {
		t.Errorf("null is %q", got)
	}
	if list, err := b.Symbols(t.Context(), b.path("a.x")); err != nil || len(list) != 0 {
		t.Errorf("symbols are %+v, %v", list, err)
	}
	if text, err := b.Hover(t.Context(), b.path("a.x"), lsp.Position{}); err != nil || text != "" {
		t.Errorf("hover is %q, %v", text, err)
	}
	if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.None || !strings.Contains(got.Why, "it gave no list") {
		t.Errorf("diagnosis is %+v", got)
	}
}

// TestLacunae: nulls in a list are left out, and a list of problems with one is none. A definition without the
// range of its name has the range around it, and a symbol without any is none of the first line.
func TestLacunae(t *testing.T) {
	t.Parallel()
	for _, lies := range []string{lsptest.Nulls, lsptest.Nulls + "," + lsptest.Pull, lsptest.Rangeless} {
		b := open(t, lies, two)
		b.sync("a.x", two["a.x"])
		b.Ready(t.Context(), patience)
		if got := b.find(lsp.Definition, "a.x", 1, 1); got != "a.x:1" {
			t.Errorf("%s: definition is %q", lies, got)
		}
		if got := b.find(lsp.Declared, "a.x", 0, 5); got != "a.x:1 a.x:2 b.x:2" {
			t.Errorf("%s: references are %q", lies, got)
		}
		if list, err := b.Symbols(t.Context(), b.path("a.x")); err != nil || len(list) != 1 || list[0].Name != "Hub" {
			t.Errorf("%s: symbols are %+v, %v", lies, list, err)
		}
		list, err := b.Search(t.Context(), "Hub")
		if err != nil || (len(list) == 0) != (lies == lsptest.Rangeless) {
			t.Errorf("%s: index has %+v, %v", lies, list, err)
		}
		if lies == lsptest.Rangeless {
			continue
		}
		if got := b.Diagnose(t.Context(), b.path("a.x"), 100*time.Millisecond); got.State == lsp.Fresh || len(got.Items) > 0 {
			t.Errorf("%s: diagnosis is %+v", lies, got)
		}
	}
}

// TestListsOfOtherDocuments: a list that came before a document was opened is not for it, nor is one for a
// document of this name that was closed.
func TestListsOfOtherDocuments(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Never+","+lsptest.Early, two)
	b.find(lsp.Definition, "a.x", 0, 0) // the lists are here
	b.sync("a.x", "BROKEN\n")
	b.Ready(t.Context(), patience)
	if got := b.Diagnose(t.Context(), b.path("a.x"), 50*time.Millisecond); got.State != lsp.Settling {
		t.Errorf("by a list from before: %+v", got)
	}
	b = open(t, lsptest.Never+","+lsptest.Former, two)
	b.sync("a.x", "x\n")
	if err := b.Forget(t.Context(), b.path("a.x")); err != nil {
		t.Fatal(err)
	}
	b.sync("a.x", "BROKEN\n")
	b.find(lsp.Definition, "a.x", 0, 0)
	b.Ready(t.Context(), patience)
	if got := b.Diagnose(t.Context(), b.path("a.x"), 50*time.Millisecond); got.State != lsp.Settling {
		t.Errorf("by a list for a closed document: %+v", got)
	}
}

// TestNegativeNumbers: places that no text has are no problem of one.
func TestNegativeNumbers(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Negative, two)
	b.sync("a.x", "func Hub\nHub BROKEN\n")
	if got := b.Diagnose(t.Context(), b.path("a.x"), patience); got.State != lsp.Settling || len(got.Items) > 0 {
		t.Errorf("diagnosis is %+v", got)
	}
	tree, err := b.Hierarchy(t.Context(), "incoming", b.path("a.x"), lsp.Position{Byte: 5}, 3, 9)
	if err != nil || len(tree.Nodes) > 0 {
		t.Errorf("callers are %+v, %v", tree, err)
	}
}

// TestManyRequests: a server that asks without reading is not heard for ever.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	began := make(chan struct{})
	go func() {
		defer close(began)
		greeted(bufio.NewReader(far), far)
	}()
	c, err := lsp.Start(t.Context(), near, lsp.Config{Root: "/", Server: lsp.Server{Name: "fake"}, Start: patience})
	if err == nil {
		t.Cleanup(c.Close)
	}
	<-began
	if err := far.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	text := `{"jsonrpc":"2.0","id":1,"method":"workspace/configuration"}`
	n := 0
	for ; n < 20_000 && err == nil; n++ {
		_, err = fmt.Fprintf(far, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	if n == 20_000 {
		t.Errorf("%d requests were taken at a time", n)
	}
	_ = far.Close()
}

// TestLateAnswers: an answer that comes after its time is none to the next question.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Later, two)
	b.sync("a.x", two["a.x"])
	for n, ask := range []lsp.Ask{lsp.Definition, lsp.Declared, lsp.Implementations} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		got, err := b.Find(ctx, ask, b.path("a.x"), lsp.Position{Byte: 5})
		cancel()
		if !errors.Is(err, lsp.ErrSilent) {
			t.Errorf("question %d has the answer %+v, %v", n, got, err)
		}
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Silent, two)
	b.sync("a.x", two["a.x"])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Find(ctx, lsp.References, b.path("a.x"), lsp.Position{Byte: 5}); !errors.Is(err, lsp.ErrSilent) {
		t.Errorf("a server that says nothing: %v", err)
	}
}

// TestGivenUp: a server hears of a question that is not waited for any longer.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	index := filepath.Join(t.TempDir(), "index")
	b := openThat(t, &lsptest.Server{Lies: lsptest.Silent, Index: index}, two)
	b.sync("a.x", two["a.x"])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Find(ctx, lsp.References, b.path("a.x"), lsp.Position{Byte: 5}); !errors.Is(err, lsp.ErrSilent) {
		t.Errorf("a server that says nothing: %v", err)
	}
	until := time.Now().Add(10 * time.Second)
	text, err := os.ReadFile(index)
	for ; err != nil && time.Now().Before(until); text, err = os.ReadFile(index) {
		<-time.After(10 * time.Millisecond)
	}
	if string(text) != "$/cancelRequest 1\n" {
		t.Errorf("the server heard %q", text)
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Crash, two)
	b.sync("a.x", two["a.x"])
	if _, err := b.Find(t.Context(), lsp.References, b.path("a.x"), lsp.Position{Byte: 5}); err == nil {
		t.Error("a server that ended has answered")
	}
	<-b.Gone()
}

// TestFiles: files that change on the disk are known after the server was told.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := open(t, "", two)
	b.sync("a.x", two["a.x"])
	if err := os.WriteFile(b.path("c.x"), []byte("Hub\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(b.path("b.x")), b.Watched(t.Context(), []lsp.Event{
		{Path: b.path("b.x"), Kind: lsp.Deleted}, {Path: b.path("c.x"), Kind: lsp.Created},
	})); err != nil {
		t.Fatal(err)
	}
	if got := b.find(lsp.References, "a.x", 0, 5); got != "a.x:1 a.x:2 c.x:1" {
		t.Errorf("references are %q", got)
	}
	if err := b.Forget(t.Context(), b.path("a.x")); err != nil || len(b.Opened()) != 0 {
		t.Errorf("a closed document is open: %v %v", b.Opened(), err)
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	go func() { // a right answer, and 40 MiB of spaces
		in := bufio.NewReader(far)
		_, _ = in.ReadString('{') // the header
		var request struct{ ID json.RawMessage }
		_ = json.NewDecoder(io.MultiReader(strings.NewReader("{"), in)).Decode(&request)
		go func() { _, _ = io.Copy(io.Discard, far) }()
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}%s}`, request.ID, strings.Repeat(" ", 40<<20))
		_, _ = fmt.Fprintf(far, "Content-Length: %d\r\n\r\n%s", len(answer), answer)
	}()
	fake := lsp.Config{Root: "/", Server: lsp.Server{Name: "fake"}, Start: patience}
	if _, err := lsp.Start(t.Context(), near, fake); err == nil {
		t.Fatal("a message of 40 MiB was read")
	}
	for _, length := range []string{"-5", "99999999999"} {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Write([]byte("Content-Length: " + length + "\r\n\r\n"))
			_, _ = io.Copy(io.Discard, far)
		}()
		if _, err := lsp.Start(t.Context(), near, fake); err == nil {
			t.Errorf("a message of %s bytes was read", length)
		}
	}
}

func write(to io.Writer, text string) {
	_, _ = fmt.Fprintf(to, "Content-Length: %d\r\n\r\n%s", len(text), text) // the reader sees a failure
}

// greeted is a server until it was greeted.
func greeted(in *bufio.Reader, out io.Writer) {
	read := func() (id json.RawMessage) {
		head, err := textproto.NewReader(in).ReadMIMEHeader()
		n, _ := strconv.Atoi(head.Get("Content-Length"))
		data := make([]byte, n)
		if _, rerr := io.ReadFull(in, data); err != nil || rerr != nil {
			return nil
		}
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(data, &m)
		return m.ID
	}
	write(out, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}`, read()))
	read() // initialized
	read() // the configuration
}

// TestTalkativeServer: a server that writes much before it reads on stops no text.
func TestTalkativeServer(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	in, talks := bufio.NewReader(far), make(chan bool)
	go func() {
		greeted(in, far)
		for i := range 100 {
			write(far, `{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"file:///a.x","diagnostics":[]}}`)
			if i == 0 {
				close(talks)
			}
		}
		_, _ = io.Copy(io.Discard, in)
	}()
	c, err := lsp.Start(t.Context(), near, lsp.Config{Root: "/", Server: lsp.Server{Name: "fake"}, Start: patience})
	if err != nil {
		t.Fatal(err)
	}
	<-talks
	sent := make(chan error, 1)
	go func() { sent <- c.Sync(context.WithoutCancel(t.Context()), "/b.x", make([]byte, 1<<20)) }()
	select {
	case err = <-sent:
	case <-time.After(patience):
		err = errors.New("not sent")
	}
	if err != nil {
		t.Error(err)
	}
	_ = far.Close()
	c.Close()
}

// TestServersEditNothing: a server that asks for an edit is told that it was not made.
func TestServersEditNothing(t *testing.T) {
	t.Parallel()
	b := open(t, lsptest.Asks, two)
	b.sync("a.x", two["a.x"])
	if got := b.find(lsp.Definition, "a.x", 1, 1); got != "a.x:1" {
		t.Errorf("a server whose edit is refused answers %q", got)
	}
}

func TestRootOf(t *testing.T) {
	t.Parallel()
	go1 := lsp.Configured("gopls", nil, nil)
	has := map[string]bool{"/w/go.mod": true, "/w/sub/go.mod": true}
	exists := func(dir, name string) bool { return has[filepath.Join(dir, name)] }
	for file, want := range map[string]string{"/w/a.go": "/w", "/w/sub/x/a.go": "/w/sub", "/w/other/a.go": "/w"} {
		if got := go1.RootOf("/w", file, exists); got != want {
			t.Errorf("the root of %s is %s, want %s", file, got, want)
		}
	}
}
