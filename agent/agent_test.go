package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/policy"
)

// bench is a world for one session: files, a scripted model, a log.
type bench struct {
	t      testing.TB
	model  *llmtest.Server
	log    *session.Memory
	task   session.Task
	cfg    Config
	states *states
	files  map[string]string // the base
	ws     *workspace.Workspace
	more   []tools.Tool // beside those that there are
}

// newBench scripts a model and writes the base files.
func newBench(t testing.TB, script string, files map[string]string) *bench {
	t.Helper()
	sc, err := llmtest.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(policy.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, model: llmcheck.Serve(t, sc), log: &session.Memory{}, files: files,
		task: session.Task{Session: "s1", Text: "fix a.txt", Mode: "code", Base: "base", Branch: "agent/1"}}
	b.states = &states{trees: map[string]map[string]string{"base": files}}
	u, err := url.Parse(b.model.URL())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ollama.New(ollama.Config{URL: u, Model: sc.Model.Name})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = Config{Model: m, Policy: rules, Checkpoints: b.states, Retry: llm.Retry{Base: time.Millisecond}}
	if !sc.Model.Tools {
		b.cfg.Form = llm.FormText // that of the scripts; the files form has tests of its own
	}
	return b
}

// run opens a workspace on the last saved state and works until the session
// ends or parks, as a fresh process would.
func (b *bench) run(ctx context.Context) (session.Outcome, error) { return b.runOn(ctx, b.log) }

func (b *bench) runOn(ctx context.Context, log session.Log) (session.Outcome, error) {
	b.t.Helper()
	b.open()
	defer func() {
		if err := b.ws.Close(context.WithoutCancel(ctx)); err != nil {
			b.t.Error(err)
		}
	}()
	cfg := b.cfg
	cfg.Tools = append(b.more, builtin.Tools(tools.Config{Files: b.ws, Search: b.ws, Shell: b.ws, Changes: b.ws, Start: b.ws, Root: b.ws.Root()})...)
	a, err := New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return a.Run(ctx, b.task, log)
}

func (b *bench) must(want session.Status) session.Outcome {
	b.t.Helper()
	out, err := b.run(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Status != want {
		b.t.Fatalf("status %s (%s), want %s", out.Status, out.Reason, want)
	}
	return out
}

func (b *bench) open() {
	b.t.Helper()
	at := "base"
	for _, c := range events[session.Checkpoint](b, session.TypeCheckpoint) {
		at = c.Commit
	}
	source := b.t.TempDir()
	for name, text := range b.states.trees[at] {
		p := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	e, err := local.New(local.Config{Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.ws, err = e.Open(b.t.Context(), workspace.Spec{Session: "s1", Source: source, State: filepath.Join(b.t.TempDir(), "state")})
	if err != nil {
		b.t.Fatal(err)
	}
	b.states.ws, b.states.base, b.states.last = b.ws, at, ""
}

// answer settles the only open request as a person would.
func (b *bench) answer(verdict policy.ApprovalState, reason string) {
	b.t.Helper()
	asked := events[session.Asked](b, session.TypeAsked)
	last := asked[len(asked)-1]
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: last.ID, Verdict: verdict, By: "someone", Reason: reason}))
}

func (b *bench) append(e *session.Event) {
	b.t.Helper()
	if err := b.log.Append(b.t.Context(), e); err != nil {
		b.t.Fatal(err)
	}
}

func events[T any](b *bench, of session.Type) []T {
	b.t.Helper()
	all, err := b.log.Events(context.Background(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []T
	for _, e := range all {
		if e, _ = e.Unwrap(); e.Type != of {
			continue
		}
		p, err := session.Decode[T](e)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// results are the contents of all results, in order.
func (b *bench) results() []string {
	var out []string
	for _, r := range events[session.Result](b, session.TypeResult) {
		out = append(out, r.Content)
	}
	return out
}

// states is a checkpointer that keeps whole trees in memory.
type states struct {
	ws    *workspace.Workspace
	base  string
	last  string
	trees map[string]map[string]string
	out   []string // commits that were published
	fails int      // publications that fail
	asked []Publication
}

var errUnpublished = errors.New("the remote does not answer")

func (s *states) Save(ctx context.Context, _ int, _ bool) (Saved, error) {
	changes, err := s.ws.Changes(ctx)
	if err != nil {
		return Saved{}, err
	}
	tree := map[string]string{}
	for k, v := range s.trees[s.base] {
		tree[k] = v
	}
	for _, c := range changes {
		if c.Kind == workspace.Deleted {
			delete(tree, c.Path)
			continue
		}
		r, err := s.ws.Content(ctx, c.Path)
		if err != nil {
			return Saved{}, err
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return Saved{}, err
		}
		tree[c.Path] = string(data)
	}
	id := s.keep(tree)
	out := Saved{Commit: id, Tree: id, Changed: id != s.last && (s.last != "" || id != s.keep(s.trees[s.base]))}
	s.last = id
	out.Files = s.diff(s.published(), tree)
	return out, nil
}

func (s *states) published() map[string]string {
	if len(s.out) == 0 {
		return s.trees["base"]
	}
	return s.trees[s.out[len(s.out)-1]]
}

func (s *states) keep(tree map[string]string) string {
	names := make([]string, 0, len(tree))
	for n := range tree {
		names = append(names, n)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, n := range names {
		fmt.Fprintf(h, "%q %q\n", n, tree[n])
	}
	id := hex.EncodeToString(h.Sum(nil))[:12]
	s.trees[id] = tree
	return id
}

// blobOf names a content as git does.
func blobOf(text string) string { return "100644 " + policy.BlobID(text) }

func (s *states) diff(from, to map[string]string) []session.FileChange {
	var out []session.FileChange
	for n, text := range to {
		old, ok := from[n]
		switch {
		case !ok:
			out = append(out, session.FileChange{Path: n, Kind: "create", Added: strings.Count(text, "\n"), Blob: blobOf(text)})
		case old != text:
			out = append(out, session.FileChange{Path: n, Kind: "modify", Added: 1, Removed: 1, Blob: blobOf(text), Was: blobOf(old)})
		}
	}
	for n, old := range from {
		if _, ok := to[n]; !ok {
			out = append(out, session.FileChange{Path: n, Kind: "delete", Was: blobOf(old)})
		}
	}
	slices.SortFunc(out, func(a, b session.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func (s *states) Publish(_ context.Context, p Publication) (session.Checkpoint, error) {
	s.asked = append(s.asked, p)
	if s.fails--; s.fails >= 0 {
		return session.Checkpoint{}, errUnpublished
	}
	cp := session.Checkpoint{Commit: p.Saved, Tree: p.Saved, Parent: p.Parent,
		Files: s.diff(s.trees[p.Parent], s.trees[p.Saved]), Whole: append([]session.FileChange{}, s.diff(s.trees["base"], s.trees[p.Saved])...)}
	s.out = append(s.out, p.Saved)
	return cp, nil
}

func (s *states) Diff(_ context.Context, from, to string, paths []string) (string, error) {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "%s: %q → %q\n", p, s.trees[from][p], s.trees[to][p])
	}
	return b.String(), nil
}

func (*states) Moved() bool { return false }

func (s *states) Revert(ctx context.Context, to string, paths []string) error {
	for _, p := range paths {
		text, ok := s.trees[to][p]
		if !ok {
			if err := s.ws.Remove(ctx, p); err != nil {
				return err
			}
			continue
		}
		if err := s.ws.Write(ctx, p, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
