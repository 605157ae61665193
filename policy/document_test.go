package policy

import (
	"strings"
	"testing"
)

func TestLoadStrict(t *testing.T) {
	type inner struct {
		Port int `yaml:"port"`
	}
	type file struct {
		Listen string `yaml:"listen"`
		Inner  inner  `yaml:"inner"`
		Rules  Config `yaml:"rules"`
		hidden string
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", ""},
		"only a comment":      {"# nothing yet\n", ""},
		"null":                {"---\n~\n", ""},
		"values":              {"listen: :80\ninner: {port: 3}\nrules: {mode: ask}\n", ""},
		"unknown key":         {"listen: x\ncolour: y\n", `line 2: unknown key "colour"; known keys here: listen, inner, rules`},
		"slip":                {"listn: x\n", `did you mean "listen"?`},
		"unknown below":       {"inner:\n  prt: 3\n", `line 2: unknown key "prt", did you mean "port"?`},
		"unexported field":    {"hidden: x\n", "unknown key"},
		"text for a number":   {"inner: {port: x}\n", "line 1: cannot use `x` as a whole number"},
		"number for keys":     {"inner: 3\n", "line 1: cannot use `3` as keys and values"},
		"text as document":    {"hello\n", "expected keys and values"},
		"list as document":    {"- a\n", "expected keys and values"},
		"second document":     {"listen: x\n---\nlisten: y\n", "line 2: a second document begins"},
		"tag":                 {"listen: !!binary aGk=\n", "tag !!binary is not used here"},
		"key twice":           {"listen: x\nlisten: y\n", `line 2: mapping key "listen" already defined`},
		"more than is read":   {"# " + strings.Repeat("x", maxConfig) + "\n", "at most"},
		"not YAML at all":     {"listen: [\n", "line"},
		"control characters":  {"listen: \x01\n", "control characters are not allowed"},
		"merge key":           {"<<: {listen: x}\n", "merge keys"},
		"bad value of a rule": {"rules:\n  mode: cod\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := file{Listen: "kept", hidden: "kept"}
			doc, err := LoadStrict([]byte(c.text), &f)
			if c.want == "" {
				if err != nil || doc == nil {
					t.Fatalf("LoadStrict = %v, %v", doc, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("LoadStrict: %v, want it to contain %q", err, c.want)
			}
			if strings.Contains(err.Error(), "file") && name != "more than is read" || strings.Contains(err.Error(), "policy.") {
				t.Errorf("the error speaks of Go types: %v", err)
			}
		})
	}
}

func TestDocumentLocate(t *testing.T) {
	var f struct {
		Listen string `yaml:"listen"`
		Rules  Config `yaml:"rules"`
	}
	doc, err := LoadStrict([]byte("listen: x\nrules:\n  turns: 3\n  workspace:\n    network: opn\n"), &f)
	if err != nil {
		t.Fatal(err)
	}
	err = doc.Locate(f.Rules.Validate(), "rules")
	if err == nil || !strings.HasPrefix(err.Error(), `line 5: workspace.network: "opn" is not one of`) {
		t.Errorf("Locate: %v", err)
	}
	if err := doc.Locate(nil, "rules"); err != nil {
		t.Errorf("Locate of nothing: %v", err)
	}
	if _, err := LoadStrict(nil, &f); err != nil {
		t.Errorf("empty document: %v", err)
	}
}
