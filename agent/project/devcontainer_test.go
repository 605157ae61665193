package project

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fileTree is a tree of files in memory.
type configTree map[string]string

func (t configTree) ReadAll(_ context.Context, name string, _ int64) ([]byte, fs.FileMode, error) {
	if text, ok := t[name]; ok {
		return []byte(text), 0, nil
	}
	return nil, 0, fs.ErrNotExist
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       *containerConfig
	}{
		{"an image", `{"image": "node:20"}`, &containerConfig{Image: "node:20"}},
		{"comments and commas", "// ours\n{\n  /* the \"image\" */ \"image\": \"a//b:1\", // \"image\": \"c\",\n  \"features\": {\"x/go:1\": {}, \"x/aws:1\": {\"v\": [1, 2, ], },},\n}\n", &containerConfig{Image: "a//b:1", Features: []string{"x/aws:1", "x/go:1"}}},
		{"a comment before the bracket", "{\"image\": \"a\", // last\n /* */ }", &containerConfig{Image: "a"}},
		{"commas in words", `{"image": "a,}", "name": "b,]\",}"}`, &containerConfig{Image: "a,}"}},
		{"a Dockerfile", `{"build": {"dockerfile": "Dockerfile", "context": "..", "target": "dev", "args": {"B": "a b", "A": 1}}}`, &containerConfig{Recipe: Recipe{
			Of: ".devcontainer/devcontainer.json", File: ".devcontainer/Dockerfile", Context: ".", Target: "dev", Args: map[string]string{"A": "1", "B": "a b"},
			Line: "-f .devcontainer/Dockerfile --target dev --build-arg 'A=1' --build-arg 'B=a b' .",
		}}},
		{"as it was written earlier", `{"dockerFile": "../Dockerfile"}`, &containerConfig{Recipe: Recipe{
			Of: ".devcontainer/devcontainer.json", File: "Dockerfile", Context: ".devcontainer", Args: map[string]string{}, Line: "-f Dockerfile .devcontainer",
		}}},
		{"several containers", `{"dockerComposeFile": ["a.yml"], "service": "app"}`, &containerConfig{Compose: true}},
		{"a command", `{"postCreateCommand": "npm ci && npm run build"}`, &containerConfig{Commands: []string{"npm ci && npm run build"}}},
		{"a program", `{"postCreateCommand": ["sh", "-c", "echo it's; a=b", ""]}`, &containerConfig{Commands: []string{`sh -c 'echo it'\''s; a=b' ''`}}},
		{"several commands", `{"postCreateCommand": {"web": "npm ci", "api": ["go", "mod", "download"], "none": ""}}`, &containerConfig{Commands: []string{"go mod download", "npm ci"}}},
		{"no command", `{"image": "a", "postCreateCommand": null}`, &containerConfig{Image: "a"}},
		{"a number as command", `{"postCreateCommand": 1}`, nil},
		{"a number in a command", `{"postCreateCommand": {"a": ["go", 1]}}`, nil},
		{"not JSON", `{"image": node}`, nil},
		{"an open comment", `{"image": "a"} /* `, &containerConfig{Image: "a"}},
		{"an open text", `{"image": "a\`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readConfig(t.Context(), configTree{".devcontainer/devcontainer.json": tt.text, ".devcontainer.json": `{"image": "other"}`})
			if tt.want == nil && err == nil {
				t.Fatalf("%+v, want an error", got)
			}
			if tt.want != nil {
				tt.want.Path = ".devcontainer/devcontainer.json"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got, %v:\n%s", err, diff)
			}
		})
	}
	if got, err := readConfig(t.Context(), configTree{".devcontainer.json": `{"image": "other"}`}); err != nil || got.Image != "other" || got.Path != ".devcontainer.json" {
		t.Errorf("at the root: %+v, %v", got, err)
	}
	if got, err := readConfig(t.Context(), configTree{}); got != nil || err != nil {
		t.Errorf("without one: %+v, %v", got, err)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("{\"a\": [1,], // x\n}"))
	f.Add([]byte(`{"a": "\\", /*`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := plain(data); len(got) != len(data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}
