package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestOtherRepositories: a repository's file chooses among the repositories that the
// server's lists, by their names and refs.
func TestOtherRepositories(t *testing.T) {
	server := Config{Repositories: []Repository{"team/lib", "team/spec@v1", "tools/*"}}
	for want, have := range map[Repository]Repository{
		"team/lib": "team/lib", "Team/Lib@next": "Team/Lib@next", "team/spec": "team/spec@v1", "team/spec@v1": "team/spec@v1", "tools/a@x": "tools/a@x",
		"team/spec@v2": "", "team/other": "", "tools/*": "", "toolsx/a": "", "team/libs": "",
	} {
		repo := Config{Repositories: []Repository{want}}
		got := Merge(server, repo)
		if have == "" && (len(got.Repositories) > 0 || !slices.Equal(got.Unlisted(repo), repo.Repositories)) ||
			have != "" && (!slices.Equal(got.Repositories, []Repository{have}) || len(got.Unlisted(repo)) > 0) {
			t.Errorf("%s becomes %v, and %v is not listed", want, got.Repositories, got.Unlisted(repo))
		}
	}
	if got := Merge(server, Config{}); len(got.Repositories) > 0 {
		t.Errorf("without a wish a repository gets %v", got.Repositories)
	}
	for text, want := range map[string]string{
		"repositories: [a/b, c/d@release/1]": "", "repositories: [a]": "is not a repository", "repositories: [a/b@]": "is not a repository",
		"repositories: [../x]": "is not a repository", "repositories: [a/..]": "is not a repository", "repositories: [a/b@../x]": "is not a repository",
		"repositories: [a/b, A/B@x]": "named twice",
		"repositories: [a/b, a/c, a/d, a/e, a/f, a/g, a/h, a/i, a/j, a/k, a/l]": "at most 10",
	} {
		_, err := ParseConfig("agent.yml", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"repositories: [{name: a/b, write: true}, {name: a/c, write: false}, {name: a/d}]": "",
		"repositories: [{name: a/b@v1, write: true}]":                                      "a change goes to the default branch",
		"repositories: [a/b+write]":                                                        "write {name: a/b, write: true}",
		"repositories: [{name: a/b+write}]":                                                "write {name: a/b, write: true}",
		"repositories: [{name: a/b, writes: true}]":                                        "known keys here: name, write",
		"repositories: [{name: a/b, write: true}, A/B]":                                    "named twice",
	} {
		cfg, err := ParseConfig("agent.yml", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		for i, r := range cfg.Repositories {
			if err == nil && (r.Writes() != (i == 0) || cfg.WantsToWrite(Repository(r.Name())) != (i == 0)) {
				t.Errorf("%s: %s may be changed: %t", text, r.Name(), r.Writes())
			}
		}
	}
	all := Config{Repositories: []Repository{"a/*"}}
	if all.Validate() != nil || all.CheckRepository() == nil {
		t.Error("all of an owner is for the server's file alone")
	}
}

// TestWritableRepositories: sessions change a repository only if both files say so.
func TestWritableRepositories(t *testing.T) {
	for _, c := range []struct {
		server, repo Repository
		writes       bool
	}{
		{"team/lib+write", "team/lib+write", true}, {"team/*+write", "Team/Lib+write", true},
		{"team/lib", "team/lib+write", false}, {"team/*", "team/lib+write", false}, {"team/lib@v1", "team/lib+write", false},
		{"team/lib+write", "team/lib", false}, {"team/lib+write", "team/lib@v1", false},
	} {
		got := Merge(Config{Repositories: []Repository{c.server}}, Config{Repositories: []Repository{c.repo}}).Repositories
		if len(got) != 1 || got[0].Writes() != c.writes || strings.Contains(got[0].Name()+got[0].Ref(), "write") {
			t.Errorf("server %s, repository %s: %v, want it to be writable: %t", c.server, c.repo, got, c.writes)
		}
	}
}

// TestKeptDirectory: nothing is changed in a directory that is kept, and everything reads it.
func TestKeptDirectory(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	p = p.Walled().Keeping(".kept")
	mode, err := ParseMode("code")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    Action
		want Verdict
	}{
		{Action{Kind: Write, Tool: "write_file", Paths: []string{".kept/a/b/.github/workflows/x.yml"}, Display: "x"}, Deny},
		{Action{Kind: Write, Tool: "write_file", Paths: []string{"x/../.kept/a"}, Display: "x"}, Deny},
		{Action{Kind: Delete, Tool: "delete_file", Paths: []string{".kept/a"}, Display: "x"}, Deny},
		{Action{Kind: Execute, Tool: "run_terminal_command", Command: "echo x > /workspace/.kept/a", Cwd: ".", Display: "x"}, Deny},
		{Action{Kind: Execute, Tool: "run_terminal_command", Command: "rm a", Cwd: ".kept/a", Display: "x"}, Deny},
		{Action{Kind: Execute, Tool: "run_terminal_command", Command: "cp .kept/a b", Cwd: ".", Display: "x"}, Allow},
		{Action{Kind: Read, Tool: "read_file", Paths: []string{".kept/a"}, Display: "x"}, Allow},
		{Action{Kind: Write, Tool: "write_file", Paths: []string{"kept/a"}, Display: "x"}, Allow},
	} {
		if d := p.Check(mode, c.a); d.Verdict != c.want || c.want == Deny && d.Rule != "repositories" {
			t.Errorf("%v %v %s: %s by %s, want %s", c.a.Kind, c.a.Paths, c.a.Command, d.Verdict, d.Rule, c.want)
		}
	}
	open := p.Keeping(".kept", "a/b")
	for name, want := range map[string]bool{
		".kept/a/b/x": true, "./.kept/a/b/../b/x": true,
		".kept/a/b": false, ".kept/a": false, ".kept": false, ".kept/a/bb/x": false, ".kept/a/b/../c/x": false,
		".kept/A/B/x": false, ".kept/a/b/..": false, `.kept\a\c\x`: false,
	} {
		d := open.Check(mode, Action{Kind: Write, Tool: "write_file", Paths: []string{name}, Display: "x"})
		if (d.Verdict == Allow) != want || !want && d.Rule != "repositories" {
			t.Errorf("with a/b open, %s is written: %s by %s", name, d.Verdict, d.Rule)
		}
	}
}
