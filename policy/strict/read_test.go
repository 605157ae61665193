package strict

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	type inner struct {
		Port int `yaml:"port"`
	}
	type rules struct {
		Mode string `yaml:"mode"`
	}
	type entry struct {
		Pattern string `yaml:"pattern" jsonschema:"required,minLength=1"`
		Approve string `yaml:"approve" jsonschema:"required,enum=auto,enum=required"`
	}
	type file struct {
		Listen  string   `yaml:"listen"`
		Inner   inner    `yaml:"inner"`
		Rules   rules    `yaml:"rules"`
		Large   int64    `yaml:"large"`
		Names   []string `yaml:"names"`
		Many    []rules  `yaml:"many"`
		Entries []entry  `yaml:"entries"`
		On      bool     `yaml:"on"`
		hidden  string
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", ""},
		"only a comment":      {"# nothing yet\n", ""},
		"null":                {"---\n~\n", ""},
		"values":              {"listen: :80\ninner: {port: 3}\nrules: {mode: ask}\n", ""},
		"unknown key":         {"listen: x\ncolour: y\n", `line 2, column 1: unknown key "colour"; known keys here: listen, inner, rules, large, names, many, entries, on`},
		"slip":                {"listn: x\n", `did you mean "listen"?`},
		"unknown below":       {"inner:\n  prt: 3\n", `line 2, column 3: unknown key "prt", did you mean "port"?`},
		"unexported field":    {"hidden: x\n", "unknown key"},
		"text for a number":   {"inner: {port: x}\n", "line 1, column 15: cannot use `x` as a whole number"},
		"text, not a number":  {"large: abc\n", "cannot use `abc` as a whole number"},
		"quoted number":       {"inner: {port: \"3\"}\n", "line 1, column 15: `3` stands in quotes, which makes a text of it: write it without them"},
		"quoted switch":       {"\"on\": 'true'\n", "`true` stands in quotes"},
		"a text for a list":   {"names: qwen\n", "cannot use `qwen` as a list of texts"},
		"keys for a list":     {"names: {a: b}\n", "cannot use a mapping as a list of texts"},
		"a text for a list 2": {"many: yes\n", "cannot use `yes` as a list of keys and values"},
		"number for keys":     {"inner: 3\n", "line 1, column 8: cannot use `3` as keys and values"},
		"text for an entry":   {"entries: [\"secrets/**\"]\n", "cannot use `secrets/**` as keys and values: write {pattern: …, approve: required}"},
		"text for entries":    {"entries: secrets/**\n", "as a list of keys and values: write [{pattern: …, approve: required}]"},
		"a tab":               {"inner:\n\tport: 3\n", ": use spaces"},
		"a tab, deeper":       {"inner:\n  port: 3\n\tx: 3\n", ": use spaces"},
		"an at sign":          {"listen: @x\n", "line 1, column 9: a text that begins with @ must be in quotes"},
		"text as document":    {"hello\n", "expected keys and values"},
		"list as document":    {"- a\n", "expected keys and values"},
		"second document":     {"listen: x\n---\nlisten: y\n", "line 2, column 1: a second document begins"},
		"tag":                 {"listen: !!binary aGk=\n", "tag !!binary is not used here"},
		"key twice":           {"listen: x\nlisten: y\n", `line 2, column 1: mapping key "listen" already defined`},
		"more than is read":   {"# " + strings.Repeat("x", maxFile) + "\n", "at most"},
		"not YAML at all":     {"listen: [\n", "line"},
		"control characters":  {"listen: \x01\n", "control characters are not allowed"},
		"merge key":           {"<<: {listen: x}\n", "merge keys"},
		"bad value of a rule": {"rules:\n  mode: cod\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := file{Listen: "kept", hidden: "kept"}
			doc, err := Read([]byte(c.text), &f)
			if c.want == "" {
				if err != nil || doc == nil {
					t.Fatalf("Read = %v, %v", doc, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Read: %v, want it to contain %q", err, c.want)
			}
			if strings.Contains(err.Error(), "file") && name != "more than is read" || strings.Contains(err.Error(), "policy.") {
				t.Errorf("the error speaks of Go types: %v", err)
			}
		})
	}
}

// TestEveryFault: one look at a file finds all that is wrong with it, in its order, and not
// what only follows from something else.
func TestEveryFault(t *testing.T) {
	type item struct {
		Name string `yaml:"name"`
		Days int    `yaml:"days"`
	}
	type file struct {
		Listen string `yaml:"listen"`
		Port   int    `yaml:"port"`
		Items  []item `yaml:"items"`
	}
	var f file
	doc, err := Read([]byte("port: many\nlistn: x\nitems:\n- {nam: a, days: 3}\n- {name: b, days: soon}\n- {name: c, days: -1}\n"), &f)
	checked := doc.Locate(Faults{At("a name is needed", "items", 0), At("must be 1 or more", "port"), At("must be 0 or more", "items", 2, "days"), At("is needed", "listen")}.Err())
	want := `line 1, column 7: cannot use ` + "`many`" + ` as a whole number
line 2, column 1: unknown key "listn", did you mean "listen"?
line 4, column 4: unknown key "nam", did you mean "name"?
line 5, column 19: cannot use ` + "`soon`" + ` as a whole number
line 6, column 19: items[2].days: must be 0 or more
listen: is needed`
	got := Both(err, checked)
	if got == nil || got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
	if f.Items[2].Name != "c" {
		t.Errorf("what could be read is not there: %+v", f)
	}
	if Both(nil, nil) != nil || (Faults{}).Err() != nil || len(Of(nil)) != 0 {
		t.Error("nothing is a fault")
	}
}
