package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestTables: each line of the tables is of a kind that is read, and each rule
// that one names is in the table of rules.
func TestTables(t *testing.T) {
	kinds := strings.Fields("# rule as setting zone archive place secret value sends saves reads setup code takes wrap run load text config variable writes edits list")
	for line := range strings.SplitSeq(tablesText, "\n") {
		if kind, _, _ := strings.Cut(line, " "); line != "" && !slices.Contains(kinds, kind) {
			t.Errorf("no kind of line: %q", line)
		}
	}
	all := tables()
	exists := func(program string, rules ...string) {
		for _, r := range rules {
			if _, ok := all.Rules[r]; !ok {
				t.Errorf("%s: there is no rule %s", program, r)
			}
		}
	}
	for program, rows := range all.rows["rule"] {
		for _, r := range rows {
			exists(program, r[1]...)
		}
	}
	for program, rows := range all.rows["as"] {
		if families()[rows[0][0][0]] == nil {
			t.Errorf("%s: there is no code %s", program, rows[0][0][0])
		}
	}
	options := map[string]string{}
	for _, kind := range []string{"run", "load", "text", "config", "variable", "writes"} {
		for program, rows := range all.rows[kind] {
			for _, r := range rows {
				for _, o := range r[0] {
					if of := program + " " + o; options[of] != "" || strings.HasPrefix(o, "-") {
						t.Errorf("the option %s is %s and %s, or has dashes", of, options[of], kind)
					} else {
						options[of] = kind
					}
				}
			}
		}
	}
	for program, rows := range all.rows["edits"] {
		if r := rows[0]; (len(r[1]) == 0) != (len(r[2]) > 0) {
			t.Errorf("%s: its line names a place or words", program)
		}
	}
}

// TestWordsOfLines holds each form of a word in the tables to commands.
func TestWordsOfLines(t *testing.T) {
	for _, tt := range []struct {
		word, args string
		want       bool
	}{
		{"^push", "push origin", true},
		{"^push", "-C x push origin", true}, // x may be the value of the option
		{"^push", "origin push", false},
		{"^config:set", "config set a b", true},
		{"^config:set", "config:set a", true},
		{"^config:set", "config get a", false},
		{"^run:deploy*", "run deploy-all", true},
		{"^pack:*", "pack ./dir", true},
		{"^pack:*", "pack", false},
		{"^", "--all", true},
		{"^", "a", false},
		{"*", "a", true},
		{"*", "-a", false},
		{"**", "a b", true},
		{"**", "a", false},
		{"0", "", true},
		{"?", "push --help", true},
		{"~force", "-x --forc", true},
		{"~f", "-xf", true},
		{"%=now", "--prune=now", true},
		{"+*", "origin +main", true},
		{"--prod", "--prod", true},
		{"--prod", "--production", false},
		{"a&~f", "a -f", true},
		{"a&~f", "a", false},
	} {
		c := (&command{walk: newWalk(&finding{}, "")}).with("frob", argsOf(strings.Fields(tt.args)...))
		if got := c.fitsAll([]string{tt.word}); got != tt.want {
			t.Errorf("%q fits %q: %t", tt.word, tt.args, got)
		}
		if got := c.fitsAll([]string{"!" + tt.word}); got == tt.want {
			t.Errorf("not %q fits %q: %t", tt.word, tt.args, got)
		}
	}
}

// TestPlaces sorts paths by the tables.
func TestPlaces(t *testing.T) {
	for p, want := range map[string]zone{
		"a/b.go": workspace, "": zoneRoot, "*": zoneRoot, "/*": vital, "/home/u/*": vital, "/github/workspace/a": workspace,
		"/dev/null": nowhere, "/dev/shm/a": temp, "/dev/sda": device, "/tmp": outside, "/tmp/*": outside, "/tmp/a": temp,
		"/etc": vital, "/etc/passwd": vital, "/etc/hosts": system, "/ETC/passwd": vital, "/proc/1/root/etc/passwd": vital,
		"/home/u/.ssh/config": startup, "~/.cache/a": temp, "~/.config/a": home, "~/a": home, "~/../../etc/hosts": system,
		"..": above, "../a": above, "/srv/a": outside, "a/.git/config": git, ".git/hooks/a": runner, ".github/workflows/a.yml": runner,
		".github/dependabot.yml": obeyed, "b/.vscode/tasks.json": obeyed, ".vscode/extensions.json": workspace,
		"CLAUDE.md": obeyed, unknown: zoneUnknown, "a-" + unknown: workspace,
	} {
		if got := zoneOf(clean(p)); got != want {
			t.Errorf("%q is %s, want %s", p, got, want)
		}
	}
	for p, want := range map[string]secretTier{
		"~/.ssh/id_rsa": machineSecret, "~/.ssh/id_rsa.pub": noSecret, "/srv/id_ed25519": machineSecret, "id_rsa": ownSecret,
		".env": ownSecret, "a/.env.local": ownSecret, ".env.example": noSecret, "certs/server.key": ownSecret, "ca.pem": noSecret,
		"testdata/a.pem": noSecret, "/proc/self/environ": machineSecret, "a.go": noSecret,
	} {
		if got := secretOf(p); got != want {
			t.Errorf("%q is of the tier %d, want %d", p, got, want)
		}
	}
}
