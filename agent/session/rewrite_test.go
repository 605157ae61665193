package session

import (
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	e := NewEvent(TypeAnswer, 1, Answer{Content: "key word", Calls: []Call{{
		ID: "word", Name: "word", Arguments: []byte(`{"path":"word","deep":[{"id":"word"}],"n":12345678901234567890}`),
	}}})
	keys := map[string]int{}
	err := Rewrite(e, func(key, text string) string {
		keys[key]++
		return strings.ReplaceAll(text, "word", "X")
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode[Answer](*e)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Calls[0]
	if p.Content != "key X" || c.ID != "word" || c.Name != "word" {
		t.Errorf("got %+v, want the text changed and the names kept", p)
	}
	if got, want := string(c.Arguments), `{"deep":[{"id":"X"}],"n":12345678901234567890,"path":"X"}`; got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
	if keys["arguments"] != 2 || keys["content"] != 1 {
		t.Errorf("keys %v", keys)
	}
}

// Names of plans, layers, forms and images are kept; the reasons beside them are texts.
func TestRewriteKeepsNames(t *testing.T) {
	upper := func(_, text string) string { return strings.ToUpper(text) }
	for _, tt := range []struct {
		e    *Event
		want string
	}{
		{NewEvent(TypeState, 1, Update{Plan: "plan-a", Mode: "code"}), `{"mode":"code","plan":"plan-a"}`},
		{NewEvent(TypeState, 1, Update{Image: &Image{Name: "golang:1", Why: "go.mod", Notes: []string{"no node"}}}), `{"image":{"image":"golang:1","notes":["NO NODE"],"why":"GO.MOD"}}`},
		{NewEvent(TypeNote, 1, Note{Kind: NoteReminder, Text: "go on", Layer: "sha256:ab", Form: "files"}), `{"form":"files","kind":"reminder","layer":"sha256:ab","text":"GO ON"}`},
	} {
		if err := Rewrite(tt.e, upper); err != nil {
			t.Fatal(err)
		}
		if got := string(tt.e.Data); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

func TestRewriteKeepsBytes(t *testing.T) {
	e := &Event{Type: TypeNote, Data: []byte(`{ "kind":"x",  "text":"same" }`)}
	before := string(e.Data)
	if err := Rewrite(e, func(_, s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	if string(e.Data) != before {
		t.Errorf("an event without changes became %s", e.Data)
	}
	if err := Rewrite(&Event{Data: []byte("{")}, func(_, s string) string { return s }); err == nil {
		t.Error("a broken payload is no error")
	}
}
