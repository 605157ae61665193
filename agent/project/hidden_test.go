package project_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// tree is a tree of files in memory.
type tree map[string]string

func (t tree) ReadAll(_ context.Context, name string, limit int64) ([]byte, fs.FileMode, error) {
	text, ok := t[name]
	switch {
	case !ok:
		return nil, 0, fs.ErrNotExist
	case int64(len(text)) > limit:
		return nil, 0, workspace.ErrTooLarge
	}
	return []byte(text), 0o644, nil
}

func (t tree) List(context.Context, string, bool, int) (out workspace.Listing, err error) {
	dirs := map[string]bool{}
	for name := range t {
		out.Entries = append(out.Entries, workspace.Entry{Path: name})
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir+"/"] = true
		}
	}
	for dir := range dirs {
		out.Entries = append(out.Entries, workspace.Entry{Path: dir})
	}
	sort.Slice(out.Entries, func(i, j int) bool { return out.Entries[i].Path < out.Entries[j].Path })
	return out, nil
}

// What one of several trees hides is hidden, and the key is that of the rules.
func TestHidden(t *testing.T) {
	base := tree{".agentignore": "keys/\n*.pem\n!ok.pem\n", "sub/.agentignore": "/own.txt\n", "a.go": ""}
	head := tree{".agentignore": "# nothing\n!keys/\n!x.pem\n", "notes/.agentignore": "*\n", "empty/.agentignore": "\n# none\n"}
	h, err := project.HiddenBy(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"keys/": true, "keys/a/b": true, "keys": false, "deep/keys/x": true, "x.pem": true, "deep/x.pem": true, "ok.pem": false, "x.pem/y": true,
		"sub/own.txt": true, "sub/deep/own.txt": false, "own.txt": false, "notes/a": true, "notes/a/b": true, "notes": false, "a.go": false, ".agentignore": false,
	} {
		if h.Hides(name) != want {
			t.Errorf("%s: hidden %v, want %v", name, !want, want)
		}
	}
	key := func(trees ...project.Files) string {
		h, err := project.HiddenBy(t.Context(), trees...)
		if err != nil {
			t.Fatal(err)
		}
		return h.Key
	}
	if key() != "" || key(tree{"a": "b", ".agentignore": "\n# none\n"}) != "" {
		t.Error("there is a key without rules")
	}
	if key(base) == key(base, head) || key(base) != key(tree{".agentignore": base[".agentignore"], "sub/.agentignore": "/own.txt\n"}) || key(base) == key(tree{".agentignore": base[".agentignore"]}) {
		t.Error("the key is not that of the rules")
	}
	if _, err := project.HiddenBy(t.Context(), tree{".agentignore": strings.Repeat("x\n", 1<<20)}); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("rules that cannot be read: %v", err)
	}
}

// Rules hide files in each encoding that editors write.
func TestHiddenInUTF16(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		text := order.AppendUint16(nil, 0xfeff)
		for _, c := range "keys/\r\n*.pem\r\n" {
			text = order.AppendUint16(text, uint16(c))
		}
		h, err := project.HiddenBy(t.Context(), tree{".agentignore": string(text)})
		if err != nil || !h.Hides("keys/a") || !h.Hides("x.pem") || h.Hides("a.go") {
			t.Errorf("%s: %v, %+v", order, err, h)
		}
	}
}

func BenchmarkHides(b *testing.B) {
	var rules strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rules, "secrets/%d/**/*.key\n*.env%d\n/config/local%d.yml\n", i, i, i)
	}
	h, err := project.HiddenBy(b.Context(), tree{".agentignore": rules.String(), "a/.agentignore": "*.pem\n"}, tree{".agentignore": rules.String()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if h.Hides("a/b/c/internal/server/handler_test.go") {
			b.Fatal("it is not hidden")
		}
	}
}
