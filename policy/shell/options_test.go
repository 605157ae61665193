package shell

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

// manuals is what manual pages say of options.
//
//go:embed testdata/options.txt
var manuals string

// TestNamedByOptions rates what options name, each as the manual page of its
// program says, and options of the same programs that no page has.
func TestNamedByOptions(t *testing.T) {
	programs := map[string]bool{}
	for line := range strings.SplitSeq(manuals, "\n") {
		kind, command, ok := strings.Cut(line, " ")
		if !ok || kind == "#" {
			continue
		}
		rate := func(value string) Severity { return Analyze(strings.ReplaceAll(command, "V", value)).Severity }
		want := func(value string, least Severity) {
			if got := rate(value); got < least {
				t.Errorf("%s: %q with %s is %s, want %s", kind, command, value, got, least)
			}
		}
		switch kind {
		case "writes":
			want("/etc/passwd", Critical)
			want("/etc/cron.d/x", High)
			want("~/.ssh/authorized_keys", High)
			want(".git/hooks/pre-commit", High)
			if own := rate("out/a"); own >= Critical {
				t.Errorf("%q with a file of the project is %s", command, own)
			}
		case "runs":
			want(`'rm -rf /'`, Critical)
		case "loads":
			want("/tmp/x.cfg", Medium)
		case "reads":
			if got := rate("/etc/hosts"); got > Medium {
				t.Errorf("%q with /etc/hosts is %s, and only reads it", command, got)
			}
		default:
			t.Errorf("no kind of line: %q", line)
		}
		programs[strings.Fields(command)[0]] = true
	}
	if len(programs) < 60 {
		t.Errorf("%d programs, want the 60 that run most", len(programs))
	}
	delete(programs, "time") // a word of the shell
	for name := range programs {
		for _, own := range []string{name, name + " x", name + " -v"} {
			if a := Analyze(own + " --zz-quux=/etc/shadow- b"); a.Severity < Medium {
				t.Errorf("%s --zz-quux=/etc/shadow- is %s", own, a.Severity)
			}
			if slices.Contains([]string{"cat", "diff", "docker", "git", "grep", "gawk", "jq", "ls", "psql", "rg", "sed", "yq"}, name) { // they take it for a text
				continue
			}
			if a := Analyze(own + " --zz-quux='rm -rf /' b"); a.Severity < Critical {
				t.Errorf("%s --zz-quux='rm -rf /' is %s", own, a.Severity)
			}
		}
	}
}
