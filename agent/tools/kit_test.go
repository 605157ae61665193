package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
	"github.com/handrail-bot/handrail/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a real workspace with the tools on it.
type bench struct {
	t     testing.TB
	ws    *workspace.Workspace
	tools []tools.Tool
}

// open makes a workspace with the given files; a name that ends in "@" is a
// symlink to its text.
func open(t testing.TB, files map[string]string) *bench {
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
	ws, err := engine.Open(t.Context(), workspace.Spec{Session: "test", Source: src, State: filepath.Join(t.TempDir(), "state"), Name: "demo-project"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &bench{t, ws, tools.Builtin(tools.Config{
		Files: ws, Search: ws, Shell: ws, Changes: ws, Start: ws, Root: ws.Root(), Name: "demo-project",
		Instructions: map[string]string{"release": "Tag, then push."},
	})}
}

func (b *bench) tool(name string) tools.Tool {
	b.t.Helper()
	tool, ok := tools.Find(b.tools, name)
	if !ok {
		b.t.Fatalf("there is no tool %s", name)
	}
	return tool
}

func call(name, arguments string) session.Call {
	return session.Call{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)}
}

// try asks for the intent twice and runs the call as the gate would: only
// when both are the same.
func (b *bench) try(name, arguments string) (policy.Action, tools.Result, error) {
	b.t.Helper()
	tool := b.tool(name)
	first, err := tool.Intent(b.t.Context(), call(name, arguments))
	if err != nil {
		return first, tools.Result{}, err
	}
	second, err := tool.Intent(b.t.Context(), call(name, arguments))
	if err != nil || first.Digest() != second.Digest() {
		b.t.Fatalf("two intents of one call differ: %+v and %+v (%v)", first, second, err)
	}
	res, err := tool.Run(b.t.Context(), call(name, arguments), nil)
	return first, res, err
}

func (b *bench) do(name, arguments string) (policy.Action, tools.Result) {
	b.t.Helper()
	action, res, err := b.try(name, arguments)
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return action, res
}

// fails runs a call that must fail with all of the words.
func (b *bench) fails(name, arguments string, words ...string) {
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

func (b *bench) content(path string) string {
	b.t.Helper()
	data, _, err := b.ws.ReadAll(b.t.Context(), path, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) is(path, want string) {
	b.t.Helper()
	if got := b.content(path); got != want {
		b.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

func contains(t testing.TB, got string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in:\n%s", w, got)
		}
	}
}

// arguments writes pairs of names and values as a JSON object.
func arguments(pairs ...any) string {
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

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}
