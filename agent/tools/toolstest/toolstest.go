// Package toolstest opens a real workspace with its tools, and calls them as the gate
// does.
package toolstest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/policy"
)

// Bench is a real workspace with its tools.
type Bench struct {
	t     testing.TB
	WS    *workspace.Workspace
	Tools *tools.Registry
	kept  map[string]string // outputs by handle, as in the log of a session
}

// Open makes a workspace with the given files. A name that ends in "@" is a symlink to
// its text.
func Open(t testing.TB, files map[string]string) *Bench {
	t.Helper()
	src := t.TempDir()
	for name, text := range files {
		link, isLink := strings.CutSuffix(name, "@")
		p := filepath.Join(src, link)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if isLink {
			err = os.Symlink(text, p)
		} else {
			err = os.WriteFile(p, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	engine, err := local.New(local.Config{Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := engine.Open(
		t.Context(),
		workspace.Spec{Session: "test", Source: src, State: filepath.Join(t.TempDir(), "state"), Name: "demo-project"},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	kept := map[string]string{}
	list, err := tools.NewRegistry(builtin.Tools(tools.Config{
		Files: ws, Search: ws, Shell: ws, Changes: ws, Start: ws, Code: ws, Root: ws.Root(), Name: "demo-project",
		Redact: func(text string) string { return strings.ReplaceAll(text, "BEGIN\nhidden\nEND", "[gone]") },
		Output: func(_ context.Context, handle string) (string, bool, error) {
			return kept[handle], kept[handle] != "", nil
		},
	})...)
	if err != nil {
		t.Fatal(err)
	}
	return &Bench{t, ws, list, kept}
}

// Tool returns a tool by its name.
func (b *Bench) Tool(name string) tools.Tool {
	b.t.Helper()
	tool, ok := b.Tools.Find(name)
	if !ok {
		b.t.Fatalf("there is no tool %s", name)
	}
	return tool
}

// Call makes a call of a tool.
func Call(name, arguments string) session.Call {
	return session.Call{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)}
}

// try requests the intent twice and runs the call as the gate does: only if both agree.
func (b *Bench) try(name, arguments string) (policy.Action, tools.Result, error) {
	b.t.Helper()
	tool := b.Tool(name)
	first, err := tool.Intent(b.t.Context(), Call(name, arguments))
	if err != nil {
		return first, tools.Result{}, err
	}
	second, err := tool.Intent(b.t.Context(), Call(name, arguments))
	if err != nil || first.Digest() != second.Digest() {
		b.t.Fatalf("two intents of one call differ: %+v and %+v (%v)", first, second, err)
	}
	res, err := tool.Run(b.t.Context(), Call(name, arguments), nil)
	if res.Output != "" {
		b.kept[res.Handle] = res.Output
	}
	return first, res, err
}

// Do makes a call that must succeed.
func (b *Bench) Do(name, arguments string) (policy.Action, tools.Result) {
	b.t.Helper()
	action, res, err := b.try(name, arguments)
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return action, res
}

// Fails makes a call that must fail with an error that contains all words.
func (b *Bench) Fails(name, arguments string, words ...string) {
	b.t.Helper()
	_, res, err := b.try(name, arguments)
	if err == nil {
		b.t.Fatalf("%s %s: did not fail: %s", name, arguments, res.Content)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("%s %s: error does not say %q: %v", name, arguments, w, err)
		}
	}
}

// content returns the text of a file.
func (b *Bench) content(path string) string {
	b.t.Helper()
	data, _, err := b.WS.ReadAll(b.t.Context(), path, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// Is checks the text of a file.
func (b *Bench) Is(path, want string) {
	b.t.Helper()
	if got := b.content(path); got != want {
		b.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

// Contains checks that got contains all words.
func Contains(t testing.TB, got string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in:\n%s", w, got)
		}
	}
}

// Arguments writes pairs of names and values as a JSON object.
func Arguments(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Quoted returns s as JSON.
func Quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}
