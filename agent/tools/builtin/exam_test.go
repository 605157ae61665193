package builtin_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's ids
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

var (
	examProjects = flag.String("search.projects", "", "directory of the projects of testdata/search")
	examServer   = flag.String("search.server", "", "address of an OpenAI-compatible server with an embedding model")
	examModel    = flag.String("search.model", "all-minilm-l6-v2", "its model")
	examVectors  = flag.String("search.vectors", "", "directory that keeps the vectors")
)

// question is one of the exam: which lines of a project answer it. Every second one of a project is
// kept aside: only the others may be looked at while the search is changed.
type question struct {
	project, path, text string
	from, to            int
	aside               bool
}

// directory keeps vectors in files.
type directory string

func (d directory) name(maker, blob string) string {
	return filepath.Join(string(d), fmt.Sprintf("%x", sha256.Sum256([]byte(maker+" "+blob))))
}

func (d directory) Vectors(_ context.Context, maker string, blobs []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, b := range blobs {
		switch data, err := os.ReadFile(d.name(maker, b)); {
		case err == nil:
			out[b] = data
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return out, nil
}

func (d directory) PutVectors(_ context.Context, maker, blob string, data []byte) error {
	return os.WriteFile(d.name(maker, blob), data, 0o600)
}

// project is an opened project, with the tools that search it.
type project struct {
	files       map[string]string
	grep        tools.Tool
	text, joint tools.Tool // codebase_search without and with the model
}

func openProject(t *testing.T, name string) project {
	t.Helper()
	p := project{files: map[string]string{}}
	var tree index.Tree
	root := filepath.Join(*examProjects, name)
	if err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(at)
		p.files[rel] = string(data)
		id := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)) //nolint:gosec // git's ids
		tree.Files = append(tree.Files, index.File{Path: rel, Blob: fmt.Sprintf("%x", id)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(*examServer)
	if err != nil {
		t.Fatal(err)
	}
	model, err := openai.New(openai.Config{URL: u, Model: *examModel})
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	end := sync.OnceFunc(func() { close(ready) })
	x := index.New(index.Config{
		Embedder: model,
		Vectors:  directory(*examVectors),
		Redact:   func(s string) string { return s },
		Told: func(is index.Progress) {
			if is.Total > 0 && is.Done == is.Total {
				end()
			}
		},
	})
	t.Cleanup(x.Close)
	tree.Repo = name
	tree.Read = func(_ context.Context, path string) ([]byte, error) { return []byte(p.files[path]), nil }
	x.Want(tree)
	select {
	case <-ready:
		t.Log(x.Progress())
	case <-time.After(time.Hour):
		t.Fatalf("the index is not ready: %v", x.Progress())
	}
	ws := toolstest.Open(t, p.files).WS
	find := func(view *index.View) (grep, meaning tools.Tool) {
		for _, tool := range builtin.Tools(tools.Config{Files: ws, Search: ws, Meaning: view}) {
			switch tool.Spec().Name {
			case "search_workspace":
				grep = tool
			case "codebase_search":
				meaning = tool
			}
		}
		return grep, meaning
	}
	p.grep, p.text = find(nil)
	_, p.joint = find(&index.View{Index: x, Tree: tree})
	return p
}

// readQuestions reads the exam, and finds the lines that answer it in the projects.
func readQuestions(t *testing.T, projects map[string]project) (out []question) {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/search/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(data)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		q := question{project: part[0], path: part[1], text: part[3], aside: n[part[0]]%2 == 1}
		n[q.project]++
		file := strings.Split(projects[q.project].files[q.path], "\n")
		depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }
		at := slices.IndexFunc(file, func(s string) bool {
			return strings.HasPrefix(s, part[2]) || strings.HasPrefix(part[2], "def ") && strings.HasPrefix(strings.TrimSpace(s), part[2])
		})
		if at < 0 {
			t.Fatalf("%s has no %q", q.path, part[2])
		}
		q.from, q.to = at+1, len(file)
		for i := at + 1; i < len(file); i++ {
			if s := strings.TrimSpace(file[i]); s != "" && depth(file[i]) <= depth(file[at]) && !strings.ContainsAny(s[:1], ")]}") {
				q.to = i
				break
			}
		}
		out = append(out, q)
	}
	return out
}

var (
	chunkLine = regexp.MustCompile(`(?m)^── (.+):(\d+)-(\d+)`)
	matchLine = regexp.MustCompile(`(?m)^(?:── (.+) ──|→ (\d+): )`)
)

// sees reports whether one of the first hits of a search is an answer to a question.
func (q question) sees(t *testing.T, tool tools.Tool, arguments ...any) bool {
	t.Helper()
	call := session.Call{ID: "c1", Name: tool.Spec().Name, Arguments: []byte(toolstest.Arguments(arguments...))}
	res, err := tool.Run(t.Context(), call, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range chunkLine.FindAllStringSubmatch(res.Content, -1) {
		from, _ := strconv.Atoi(m[2]) // of digits
		to, _ := strconv.Atoi(m[3])   // of digits
		if m[1] == q.path && from <= q.to && to >= q.from {
			return true
		}
	}
	const firstHits = 10
	path, n := "", 0
	for _, m := range matchLine.FindAllStringSubmatch(res.Content, -1) {
		if m[1] != "" {
			path = m[1]
			continue
		}
		line, _ := strconv.Atoi(m[2]) // of digits
		if n++; n > firstHits {
			break
		}
		if path == q.path && line >= q.from && line <= q.to {
			return true
		}
	}
	return false
}

// maxReaderTurns is the number of searches after which a scripted reader gives up.
const maxReaderTurns = 8

// byWords returns the number of searches after which a reader sees the answer who searches for the
// words of the question, the longest first.
func (q question) byWords(t *testing.T, grep tools.Tool, turns int) int {
	t.Helper()
	words := index.Words(q.text)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, w := range words {
		if turns++; turns > maxReaderTurns || q.sees(t, grep, "query", w, "ignoreCase", true) {
			break
		}
	}
	return min(turns, maxReaderTurns+1)
}

// score sums up the answers to questions.
type score struct {
	n, words, text, joint   int // questions; those found at once by the first word, by text, and with the model
	readsWords, readsSearch int // searches of the reader
}

func (s score) String() string {
	share := func(n int) string { return fmt.Sprintf("%d %%", (200*n+s.n)/(2*s.n)) }
	mean := func(n int) string { return fmt.Sprintf("%.1f", float64(n)/float64(s.n)) }
	return fmt.Sprintf("%d | %s | %s | %s | %s | %s",
		s.n, share(s.words), share(s.text), share(s.joint), mean(s.readsWords), mean(s.readsSearch))
}

// TestSearchExam compares codebase_search with search_workspace on real projects, with a real model.
func TestSearchExam(t *testing.T) {
	if *examServer == "" {
		t.Skip("NEEDS a server with an embedding model: make search-exam")
	}
	names := [...]string{"cobra", "chi", "requests", "click", "express", "commander"}
	projects := map[string]project{}
	for _, name := range names {
		projects[name] = openProject(t, name)
	}
	scores := map[string]*score{}
	for _, q := range readQuestions(t, projects) {
		p := projects[q.project]
		one := score{n: 1, readsWords: q.byWords(t, p.grep, 0), readsSearch: 1}
		if one.readsWords == 1 {
			one.words = 1
		}
		if q.sees(t, p.text, "query", q.text) {
			one.text = 1
		}
		switch {
		case q.sees(t, p.joint, "query", q.text):
			one.joint = 1
		case q.sees(t, p.joint, "query", q.text, "max", 20):
			one.readsSearch = 2
		default:
			one.readsSearch = q.byWords(t, p.grep, 2)
		}
		t.Logf("%s %s: %+v: %s", q.project, q.path, one, q.text)
		for _, of := range []string{q.project, map[bool]string{false: "to tune by", true: "kept aside"}[q.aside], "all"} {
			if scores[of] == nil {
				scores[of] = &score{}
			}
			s := scores[of]
			s.n, s.words, s.text, s.joint = s.n+1, s.words+one.words, s.text+one.text, s.joint+one.joint
			s.readsWords, s.readsSearch = s.readsWords+one.readsWords, s.readsSearch+one.readsSearch
		}
	}
	for _, of := range append(names[:], "to tune by", "kept aside", "all") {
		t.Logf("| %s | %s |", of, scores[of])
	}
	if aside := scores["kept aside"]; aside.joint <= aside.text {
		t.Errorf("of the questions kept aside the model finds %d, and the text alone %d", aside.joint, aside.text)
	}
}
