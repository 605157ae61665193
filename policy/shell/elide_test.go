package shell

import (
	"strings"
	"testing"
)

// TestLongDocuments: a long here-document is data, unless something runs it.
func TestLongDocuments(t *testing.T) {
	data := strings.Repeat("a line of a table, with numbers 1 2 3\n", 4000)
	for _, tt := range []struct {
		name, head string
		want       Severity
	}{
		{"file", "cat > table.csv <<'END'", None},
		{"file without quotes", "cat > table.csv <<END", None},
		{"tee", "tee table.csv > /dev/null <<'END'", None},
		{"counted", "wc -l <<'END'", None},
		{"outside", "cat > /etc/passwd <<'END'", Critical},
		{"shell", "sh <<'END'", Critical},
		{"pipe to a shell", "cat <<'END' | bash", Critical},
		{"interpreter", "python3 - <<'END'", Critical},
		{"evaluated", "eval \"$(cat)\" <<'END'", Critical},
		{"tool that edits", "ed a.txt <<'END'", Critical},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Analyze(tt.head + "\n" + data + "END\n")
			if v.Severity != tt.want {
				t.Errorf("%s: %s, want %s (%v)", tt.head, v.Severity, tt.want, v.Reasons)
			}
		})
	}
	for name, line := range map[string]string{
		"run afterwards":   "cat > run.sh <<'END'\n" + data + "END\nsh run.sh\n",
		"expanded":         "cat > a <<END\n" + data + "$(rm -rf /)\nEND\n",
		"beside a command": "cat > a <<'END'\n" + data + "END\nrm -rf /\n",
	} {
		if v := Analyze(line); v.Severity < High {
			t.Errorf("%s: %s, want high or critical (%v)", name, v.Severity, v.Reasons)
		}
	}
}
