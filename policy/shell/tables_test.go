package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestTables: each line of the tables is of a kind that is read, and each rule
// that one names is in the table of rules.
func TestTables(t *testing.T) {
	kinds := strings.Fields("# sub finds reads setup task code takes wrap run load text config variable writes edits list")
	for line := range strings.SplitSeq(tablesText, "\n") {
		if kind, _, _ := strings.Cut(line, " "); line != "" && !slices.Contains(kinds, kind) {
			t.Errorf("no kind of line: %q", line)
		}
	}
	all := tables()
	exists := func(program string, rules ...string) {
		for _, r := range rules {
			// cloud-read, auth-status and the like are no rules but say what to do.
			if _, ok := all.Rules[r]; !ok && !slices.Contains([]string{"cloud-read", "remote-read", "auth-status", "infrastructure-delete", "package-config", "package-config-go"}, r) {
				t.Errorf("%s: there is no rule %s", program, r)
			}
		}
	}
	for program, list := range all.Finds {
		for _, l := range list {
			exists(program, l.Rules...)
		}
	}
	for program, list := range all.Subs {
		for _, l := range list {
			exists(program, l.Rule...)
		}
	}
	for program, list := range all.Options {
		kinds := map[string]string{}
		for _, l := range list {
			for _, o := range l.Options {
				if kinds[o] != "" || strings.HasPrefix(o, "-") {
					t.Errorf("%s: the option %s is %s and %s, or has dashes", program, o, kinds[o], l.Kind)
				}
				kinds[o] = l.Kind
			}
		}
	}
	for program, e := range all.Edits {
		if (e.Place == "") != (len(e.Words) > 0) {
			t.Errorf("%s: its line names a place or words", program)
		}
	}
	for program, w := range all.Wraps {
		if w.Rule != "" {
			exists(program, w.Rule)
		}
	}
}
