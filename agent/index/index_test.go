package index_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows are vectors in memory.
type rows struct {
	mu   sync.Mutex
	data map[string][]byte
	puts int
}

func (r *rows) Vectors(_ context.Context, maker string, blobs []string) (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string][]byte{}
	for _, b := range blobs {
		if d, ok := r.data[maker+b]; ok {
			out[b] = d
		}
	}
	return out, nil
}

func (r *rows) PutVectors(_ context.Context, maker, blob string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data == nil {
		r.data = map[string][]byte{}
	}
	r.data[maker+blob] = data
	r.puts++
	return nil
}

// bench is an index over a model that keeps the texts it was asked for.
type bench struct {
	t     *testing.T
	rows  *rows
	model llmtest.Embedder
	wait  func(context.Context) error
	mu    sync.Mutex
	asked []string
}

func (b *bench) open() *index.Index {
	b.t.Helper()
	m := b.model
	m.Asked = func(texts []string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, texts...)
	}
	if b.rows == nil {
		b.rows = &rows{}
	}
	x := index.New(index.Config{Embedder: m, Vectors: b.rows, Wait: b.wait, Redact: func(s string) string {
		return strings.ReplaceAll(s, "hunter2secret", "[redacted]")
	}})
	b.t.Cleanup(x.Close)
	return x
}

// take returns the texts asked since the last call, in one.
func (b *bench) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := strings.Join(b.asked, "\n--\n")
	b.asked = nil
	return out
}

// tree returns the tree of files.
func tree(files map[string]string) index.Tree {
	t := index.Tree{Repo: "octo/hello"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Files = append(t.Files, index.File{Path: name, Blob: index.BlobOf([]byte(files[name]))})
	}
	t.Read = func(_ context.Context, path string) ([]byte, error) { return []byte(files[path]), nil }
	return t
}

// ready waits until the vectors of a tree are made.
func ready(t *testing.T, x *index.Index, tr index.Tree) {
	t.Helper()
	x.Want(tr)
	synctest.Wait()
	p := x.Progress()
	if len(p) != 1 || p[0].Done != p[0].Total || p[0].Total != len(tr.Files) {
		t.Fatalf("progress is %v", p)
	}
}

// ask returns the places that answer a question.
func ask(t *testing.T, v *index.View, text string) []string {
	t.Helper()
	got, err := v.Ask(t.Context(), index.Question{Text: text, Max: 3})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range got.Hits {
		out = append(out, fmt.Sprintf("%s:%d-%d", h.Path, h.From, h.To))
	}
	return out
}

const (
	carFile  = "package a\n\n// Drive moves the vehicle.\nfunc Drive() {\n\tautomobile.start()\n}\n"
	tidyFile = "package a\n\n// Tidy sorts the shelves.\nfunc Tidy() {\n\tshelf.sort()\n}\n"
)

// A question finds code by meaning that has none of its words; the vectors of a content
// are made once, for all trees and after a restart.
func TestAskByMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		x := b.open()
		tr := tree(map[string]string{"a/car.go": carFile, "a/tidy.go": tidyFile, "vendor/x/car.go": carFile + "//\n"})
		ready(t, x, tr)
		v := &index.View{Index: x, Tree: tr}
		if got := ask(t, v, "car"); len(got) != 2 || got[0] != "a/car.go:1-6" {
			t.Errorf("found %q", got)
		}
		if strings.Count(b.take(), "func Drive") != 1 {
			t.Error("vendored code was embedded")
		}
		moved := tree(map[string]string{"b/auto.go": carFile, "a/new.go": "package b\n\n// New is new.\nfunc New() { fresh() }\n"})
		again := b.open() // as after a restart
		ready(t, again, moved)
		if asked := b.take(); strings.Contains(asked, "Drive") || !strings.Contains(asked, "fresh") {
			t.Errorf("the next commit cost %q", asked)
		}
		if got := ask(t, &index.View{Index: again, Tree: moved}, "car"); got[0] != "b/auto.go:1-4" && got[0] != "b/auto.go:1-6" {
			t.Errorf("found %q", got)
		}
	})
}

// No secret leaves for the model, in a file or in a question.
func TestSecretsStayHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		x := b.open()
		tr := tree(map[string]string{"a.go": carFile + "const key = `hunter2secret`\n"})
		ready(t, x, tr)
		if asked := b.take(); strings.Contains(asked, "hunter2secret") || !strings.Contains(asked, "[redacted]") {
			t.Errorf("embedded: %q", asked)
		}
	})
}

func TestSecretsInQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		x := b.open()
		tr := tree(map[string]string{"a.go": carFile})
		ready(t, x, tr)
		b.take()
		ask(t, &index.View{Index: x, Tree: tr}, "car with hunter2secret")
		if asked := b.take(); strings.Contains(asked, "hunter2secret") || !strings.Contains(asked, "car with [redacted]") {
			t.Errorf("asked: %q", asked)
		}
	})
}

// A file with the content of one in another tree is found only where the tree has it.
func TestOnlyFilesOfTheTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		x := b.open()
		ready(t, x, tree(map[string]string{"hidden.go": carFile, "b.go": tidyFile}))
		if got := ask(t, &index.View{Index: x, Tree: tree(map[string]string{"b.go": tidyFile})}, "car"); strings.Contains(fmt.Sprint(got), "car") || len(got) != 1 {
			t.Errorf("found %q", got)
		}
	})
}

// Files that the session changed count as they are now, and deleted ones no longer.
func TestChangedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		x := b.open()
		tr := tree(map[string]string{"a.go": carFile, "gone.go": carFile + "// old\n", "c.go": tidyFile})
		ready(t, x, tr)
		changed := map[string][]byte{"a.go": []byte(tidyFile + "// new\n"), "gone.go": nil, "d.go": []byte(carFile + "// d\n")}
		v := &index.View{Index: x, Tree: tr, Changed: func(context.Context) (index.Changes, error) {
			return index.Changes{Files: changed}, nil
		}}
		if got := ask(t, v, "car"); got[0] != "d.go:1-7" || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "gone") }) {
			t.Errorf("found %q", got)
		}
		b.take()
		if ask(t, v, "car"); strings.Contains(b.take(), "Drive") {
			t.Error("a changed file was embedded twice")
		}
		big := strings.Repeat("func Drive() {\n\tautomobile.start()\n\tautomobile.stop()\n\n\n\n\n\n\n\n\n\n}\n", 201)
		changed["big.go"] = []byte("package a\n" + big)
		got, err := v.Ask(t.Context(), index.Question{Text: "car", Max: 3})
		if err != nil || got.Late != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		got, err = v.Ask(t.Context(), index.Question{Text: "car", Max: 3, Under: "elsewhere"})
		if err != nil || len(got.Hits) != 0 || got.Late != 0 {
			t.Errorf("below another directory: %+v, %v", got, err)
		}
	})
}

// A chunk that the model refuses is skipped and counted; its neighbors have vectors.
func TestRefusedChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, model: llmtest.Embedder{Fail: func(text string) error {
			if strings.Contains(text, "poison") {
				return &llm.Error{Kind: llm.Invalid, Public: "no", Err: errors.New("no vector")}
			}
			return nil
		}}}
		x := b.open()
		bad := "package a\n\n" + strings.Repeat("// Bad is bad.\nfunc Bad() {\n\tpoison()\n\n\n\n\n\n\n\n}\n", 1) + carFile
		tr := tree(map[string]string{"a.go": bad, "b.go": tidyFile})
		ready(t, x, tr)
		if p := x.Progress()[0]; p.Skipped != 1 || p.Trouble != "" || !strings.Contains(p.String(), "1 chunks skipped") {
			t.Errorf("progress is %v", p)
		}
		if got := ask(t, &index.View{Index: x, Tree: tr}, "car"); len(got) == 0 || !strings.HasPrefix(got[0], "a.go:") {
			t.Errorf("found %q", got)
		}
	})
}

// A server that is away delays the work; nothing is skipped, and it goes on later.
func TestOutage(t *testing.T) {
	for _, kind := range []llm.Kind{llm.Unreachable, llm.Cut} {
		synctest.Test(t, func(t *testing.T) {
			var away atomic.Bool
			b := &bench{t: t, model: llmtest.Embedder{Fail: func(text string) error {
				if away.Load() && !strings.HasPrefix(text, "func main") {
					return &llm.Error{Kind: kind, Public: "the server is away", Err: errors.New("refused")}
				}
				return nil
			}}}
			x := b.open()
			files := map[string]string{}
			for i := range 20 {
				files[fmt.Sprintf("f%02d.go", i)] = fmt.Sprintf("package a\n\n// F%d drives the car.\nfunc F%d() {}\n", i, i)
			}
			away.Store(true)
			tr := tree(files)
			x.Want(tr)
			synctest.Wait()
			if p := x.Progress(); len(p) != 1 || p[0].Trouble == "" || p[0].Done > 8 {
				t.Errorf("kind %d: progress is %v", kind, p)
			}
			away.Store(false)
			ready(t, x, tr)
			if got := ask(t, &index.View{Index: x, Tree: tr}, "car"); len(got) != 3 {
				t.Errorf("kind %d: found %q", kind, got)
			}
		})
	}
}

// Work in the background waits while a conversation streams.
func TestLull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l index.Lull
		b := &bench{t: t, wait: l.Wait}
		x := b.open()
		release := make(chan struct{})
		go func() {
			l.Of(talking{release}).Stream(t.Context(), llm.Request{})(func(llm.Part, error) bool { return true })
		}()
		synctest.Wait()
		tr := tree(map[string]string{"a.go": carFile})
		x.Want(tr)
		synctest.Wait()
		if asked := b.take(); strings.Contains(asked, "Drive") {
			t.Errorf("asked during the conversation: %q", asked)
		}
		close(release)
		synctest.Wait()
		if asked := b.take(); !strings.Contains(asked, "Drive") {
			t.Errorf("asked after the conversation: %q", asked)
		}
		if p := x.Progress(); p[0].Done != 1 {
			t.Errorf("progress is %v", p)
		}
	})
}

// talking is a model that answers when it is told.
type talking struct{ until chan struct{} }

func (talking) Name() string { return "m" }

func (talking) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{}, nil
}

func (m talking) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		<-m.until
		yield(llm.Part{Done: true}, nil)
	}
}

func TestCut(t *testing.T) {
	body := strings.Repeat("\twork()\n", 20)
	text := "package a\n\nimport \"fmt\"\n\n// One is\n// first.\nfunc One() {\n" + body + "}\n\nfunc Two() {\n" + body + "}\n\nvar x = 1\n"
	var got []string
	for _, c := range index.Cut("a.go", []byte(text)) {
		first, _, _ := strings.Cut(c.Text, "\n")
		got = append(got, fmt.Sprintf("%d-%d %s", c.From, c.To, first))
	}
	want := []string{"1-29 package a", "30-53 func Two() {"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{
		"node_modules/a.js": "x", "a/vendor/b.go": "package b", "a.min.js": "x", "go.sum": "x", "b.go": "// Code generated by x. DO NOT EDIT.\npackage b",
		"bin": "a\x00b", "one.js": strings.Repeat("x", 9000), "empty.go": "\n\n}\n", "id.key": "x",
	} {
		if got := index.Cut(name, []byte(text)); got != nil {
			t.Errorf("%s has %v", name, got)
		}
	}
	lines := 0
	for _, c := range index.Cut("a.txt", []byte(strings.Repeat("word\n", 1000))) {
		if c.From != lines+1 {
			t.Errorf("chunk begins at %d, not %d", c.From, lines+1)
		}
		lines = c.To
	}
	if lines != 1000 {
		t.Errorf("chunks have %d lines", lines)
	}
}

func TestWordsAndJoin(t *testing.T) {
	got := index.Words("Where is parseHTTPHeader called, and how does the retry_limit work?")
	if diff := cmp.Diff([]string{"parsehttpheader", "parse", "http", "header", "called", "retry_limit", "retry", "limit", "work"}, got); diff != "" {
		t.Error(diff)
	}
	a, b, c := index.Hit{Path: "a", From: 1, To: 9}, index.Hit{Path: "b", From: 1, To: 9}, index.Hit{Path: "c", From: 5, To: 9}
	near := b
	near.From, near.To, near.Near = 5, 20, 0.5
	joined := index.Join(2, []index.Hit{a, b}, []index.Hit{near, c})
	if diff := cmp.Diff([]index.Hit{{Path: "b", From: 1, To: 9, Near: 0.5}, a}, joined); diff != "" {
		t.Error(diff)
	}
	if d := index.Stem("redactions"); d != index.Stem("redacted") {
		t.Errorf("stems differ: %s", d)
	}
}
