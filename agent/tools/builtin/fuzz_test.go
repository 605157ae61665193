package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// FuzzIntent checks that no arguments make a tool panic, and that an intent
// changes nothing and stays inside.
func FuzzIntent(f *testing.F) {
	all := builtin.Tools(tools.Config{Files: still{}, Search: still{}, Shell: still{}, Name: "demo"})
	for i := range all {
		for _, s := range []string{`{}`, `{"path":"a.txt","content":"x"}`, `{"path":"a.txt","diff":"@@\n-one\n+1\n"}`, `{"args":{"file":[{"path":"a.txt","line_range":"1-2"}]}}`,
			`{"files":"[{}]"}`, `{"todos":{"todos":[null]}}`, `{"path":[],"files":{"file":{}}}`, `{"command":"ls","timeout":"1e300"}`,
			`{"path":"a.txt","edits":[{"search":[],"replace":{}}]}`, `{"path":"a.txt","old_string":"one","new_string":"1","replace_all":"1"}`} {
			f.Add(byte(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		tool := all[int(which)%len(all)]
		action, err := tool.Intent(t.Context(), session.Call{Name: tool.Spec().Name, Arguments: json.RawMessage(raw)})
		if err != nil {
			return
		}
		if action.Kind == policy.Unknown {
			t.Errorf("%s %s: intent of no kind", tool.Spec().Name, raw)
		}
		for _, p := range append(action.Paths, action.Cwd) {
			if p != "" && !filepath.IsLocal(p) {
				t.Errorf("%s %s: path %q is outside", tool.Spec().Name, raw, p)
			}
		}
	})
}

// still is a workspace with one file, in which every change is an error that
// nobody may see.
type still struct{}

var errChanged = errors.New("an intent changed something")

func (still) Read(_ context.Context, path string, _ ...workspace.Range) (workspace.File, error) {
	if path != "a.txt" {
		return workspace.File{}, fs.ErrNotExist
	}
	return workspace.File{Path: path, Size: 8, Lines: 2, Chunks: []workspace.Chunk{{From: 1, Lines: []string{"one", "two"}}}}, nil
}

func (still) ReadAll(_ context.Context, path string, _ int64) ([]byte, fs.FileMode, error) {
	if path != "a.txt" {
		return nil, 0, fs.ErrNotExist
	}
	return []byte("one\ntwo\n"), 0o644, nil
}

func (still) Write(context.Context, string, []byte) error { panic(errChanged) }
func (still) Remove(context.Context, string) error        { panic(errChanged) }

func (still) List(context.Context, string, bool, int) (workspace.Listing, error) {
	return workspace.Listing{Base: ".", Entries: []workspace.Entry{{Path: "a.txt", Size: 8}}}, nil
}

func (still) Search(context.Context, workspace.Query) (workspace.Matches, error) {
	return workspace.Matches{}, nil
}

func (still) Find(context.Context, workspace.NameQuery) (workspace.Names, error) {
	return workspace.Names{Paths: []string{"a.txt"}}, nil
}

func (still) Outline(context.Context, workspace.OutlineQuery) (workspace.Outline, error) {
	return workspace.Outline{Files: []workspace.FileOutline{{Path: "a.txt", How: "lexical", Defs: []workspace.Definition{{Line: 1, Text: "one"}}}}}, nil
}

func (still) Run(context.Context, workspace.Command, func(string)) (workspace.CommandResult, error) {
	panic(errChanged)
}

// writable is still, and lets itself be changed.
type writable struct{ still }

func (writable) Write(context.Context, string, []byte) error { return nil }
func (writable) Remove(context.Context, string) error        { return nil }

func (writable) Run(_ context.Context, c workspace.Command, _ func(string)) (workspace.CommandResult, error) {
	return workspace.CommandResult{Output: c.Line}, nil
}

// FuzzRun runs each tool with any arguments: none panics, and what a model and
// people are told of valid text is valid text, however it is shortened.
func FuzzRun(f *testing.F) {
	all := builtin.Tools(tools.Config{Files: writable{}, Search: writable{}, Shell: writable{}, Name: "demo"})
	long := strings.Repeat("é", 31) + strings.Repeat("修", 3000)
	for i := range all {
		for _, s := range []string{`{}`, `{"path":"a.txt","content":"# x\n` + "```" + `"}`, `{"path":"a.txt","content":"` + "```md\\né\\n```" + `"}`, `{"path":"é/修.txt","content":""}`,
			`{"path":"` + long + `","content":"` + long + `"}`, `{"path":["` + long + `"],"content":{"é":"` + long + `"}}`, `{"command":"` + long + `","timeout":"` + long + `"}`,
			`{"question":"` + long + `","follow_up":["` + long + `"]}`, `{"todos":"- [ ] ` + long + `"}`, `{"result":"` + long + `"}`, `{"regex":"` + long + `","path":"."}`,
			`{"path":"a.txt","old_string":"one","new_string":"` + long + `"}`, `{"path":"a.txt","old_string":"é","new_string":"修"}`, `{"path":"a.txt","diff":"@@\n-` + long + `\n+é\n"}`,
			`{"path":"a.txt","line":1,"content":"é"}`, `{"mode":"` + long + `","reason":"é"}`} {
			f.Add(byte(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, raw []byte) {
		tool := all[int(which)%len(all)]
		call := session.Call{Name: tool.Spec().Name, Arguments: json.RawMessage(raw)}
		action, err := tool.Intent(t.Context(), call)
		texts := []string{action.Display, action.Command}
		if err == nil {
			res, rerr := tool.Run(t.Context(), call, nil)
			texts, err = append(texts, res.Content, res.Title), rerr
		}
		if err != nil {
			texts = append(texts, err.Error())
		}
		for _, text := range texts {
			if utf8.Valid(raw) && !utf8.ValidString(text) {
				t.Errorf("%s %.200q: invalid text %.200q", call.Name, raw, text)
			}
		}
	})
}
