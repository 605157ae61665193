package thread

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     Ref
		err      string // part of the message, empty for none
	}{
		{name: "plain", in: "acme/widget#12", want: Ref{"acme", "widget", 12}},
		{name: "dots and dashes", in: "a-c/w.i_d-get#1", want: Ref{"a-c", "w.i_d-get", 1}},
		{name: "managed user", in: "kim_corp/x#3", want: Ref{"kim_corp", "x", 3}},
		{name: "no number", in: "acme/widget", err: "owner/repo#12"},
		{name: "no repository", in: "acme#12", err: "owner/repo#12"},
		{name: "zero", in: "acme/widget#0", err: "number 0"},
		{name: "negative", in: "acme/widget#-1", err: "number -1"},
		{name: "leading zero", in: "acme/widget#012", err: "not a number"},
		{name: "plus", in: "acme/widget#+1", err: "not a number"},
		{name: "words", in: "acme/widget#one", err: "not a number"},
		{name: "too big", in: "acme/widget#99999999999", err: "number"},
		{name: "parent", in: "acme/..#1", err: "name"},
		{name: "slash", in: "acme/a/b#1", err: "name"},
		{name: "option as owner", in: "--upload-pack=x/y#1", err: "owner"},
		{name: "shell in name", in: "acme/$(id)#1", err: "name"},
		{name: "newline", in: "acme/x\n#1", err: "name"},
		{name: "git suffix", in: "acme/x.git#1", err: "name"},
		{name: "empty", in: "", err: "owner/repo#12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.in)
			if tt.err == "" {
				if err != nil || got != tt.want {
					t.Fatalf("Parse(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
				}
				if got.String() != tt.in {
					t.Errorf("String() = %q, want %q", got, tt.in)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("Parse(%q) = %v, %v; want an error with %q", tt.in, got, err, tt.err)
			}
		})
	}
}

func TestKeyIgnoresCase(t *testing.T) {
	a, b := Ref{"Acme", "Widget", 7}, Ref{"acme", "widget", 7}
	if a.Key() != b.Key() || !a.Same(b) {
		t.Errorf("%q and %q are one thread, keys %q and %q", a, b, a.Key(), b.Key())
	}
	if a.Same(Ref{"acme", "widget", 8}) {
		t.Error("another number must be another thread")
	}
	if got, want := a.Repository(), "Acme/Widget"; got != want {
		t.Errorf("Repository() = %q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	in := map[string]Ref{"a": {"acme", "widget", 12}, "none": {}}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]Ref
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`"acme"`), new(Ref)); err == nil {
		t.Error("a broken thread must not decode")
	}
}

// A repository is no thread, and what stands for it is not mistaken for one.
func TestRepository(t *testing.T) {
	for key, want := range map[string]string{"Team/app#0": "Team/app#0", "team/app#1": "", "team/app#00": "", "#0": "", "/#0": "", "../x#0": "", "team/app": ""} {
		got, ok := Repository(key)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("Repository(%q) = %v, %t", key, got, ok)
		}
		if _, err := Parse(key); ok && err == nil {
			t.Errorf("%q is a thread as well", key)
		}
	}
	var back Ref
	if err := back.UnmarshalText([]byte("team/app#0")); err != nil || back.Number != 0 || back.Repo != "app" {
		t.Errorf("read back as %v: %v", back, err)
	}
}
