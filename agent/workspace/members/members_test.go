package members

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shells are those that a workspace may have. busybox is there in few places.
var shells = [][]string{{"bash", "--noprofile", "--norc"}, {"dash"}, {"busybox", "ash"}}

// run returns what a line says and how it ends, and what its commands tell.
func run(t *testing.T, shell []string, line string) (out, tells string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", Teller+"\neval \"$1\"\necho \"status $?\"", "sh", line)...)
	c.Dir = t.TempDir()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c.ExtraFiles = []*os.File{null, null, w} // 3, 4 and 5
	text, _ := c.CombinedOutput()            // the line says how it ended
	w.Close()
	told := make([]byte, 1<<16)
	n, _ := r.Read(told)
	said := strings.ReplaceAll(string(text), c.Dir, "DIR")
	return measured.ReplaceAllString(said, "$1 TIME"), string(told[:n])
}

// What `time -p` measured differs from run to run.
var measured = regexp.MustCompile(`(?m)^(real|user|sys) [0-9.]+$`)

// Each command of a line tells how it ended, in every shell, and the line does what it
// does without that.
func TestOwnStatus(t *testing.T) {
	for _, tt := range []struct{ line, tells string }{
		{`sh -c 'exit 3' | cat`, "1 3\n2 0"}, {`(exit 4); false || true; echo x`, "1 1\n2 0\n3 0"},
		{`cd / && sh -c 'echo a; exit 1' 2>&1 | tail -1; pwd`, "1 0\n2 1\n3 0\n4 0"},
		{`if false; then echo yes; else echo no; fi`, "1 1\n3 0"},
		{`nosuchprogram 2>/dev/null | cat; echo $?`, "1 127\n2 0\n3 0"},
		{"cat <<EOF | grep b\na\nb\nEOF\necho end", "1 0\n2 0\n3 0"}, {"cat > f <<'X' && cat f\n$a ; }\nX\n", "1 0\n2 0"},
		{`bash -c 'false | cat' && echo fine`, "1 0\n2 1\n3 0\n4 0"}, {`sh -c "false; true"; true`, ""},
		{`x=1; export y=2; echo $x$y; (cd / && false) || echo "$?"`, ""}, {`for i in 1 2; do test $i = 1 && echo $i; done; true`, ""},
		{`f() { false | true; }; f; echo $?`, ""}, {`set -- a b; shift; echo "$1"; ! false; echo $?`, ""},
		{`echo a & wait; echo b`, ""}, {`false; echo $?; true && (exit 7); echo $?`, ""}, {`printf 'a\nb\n' | while read l; do echo "<$l>"; done`, ""},
		{`echo "a;b" 'c|d' e\;f | cat; echo $(false || echo g)`, ""}, {`exec 5>x; echo y >&5; cat x`, ""}, {`mkdir q && cd $_ && pwd`, ""},
		{`case a in a) false;; esac; echo $?`, ""}, {`echo a;; echo`, ""}, {`echo 'unclosed; echo b`, ""}, {`{ echo a; false; } | cat; echo $? # why`, ""},
		{`yes | head -1; echo $?`, ""}, {`echo a | exit 3; echo $?`, ""}, {`time -p true 2>/dev/null | cat; { time true; } 2>/dev/null; A=1 sh -c 'echo $A' | cat`, ""}, {"echo a \\\n b | cat; echo c", ""},
		{`echo ü | cat; >f echo g; cat f; false >/dev/null 2>&1 || cat <f`, ""}, {`sh -c 'exit 9' && echo no || { echo $?; false; }`, ""},
	} {
		marked, commands := Mark(tt.line, 1)
		for _, shell := range shells {
			if _, err := exec.LookPath(shell[0]); err != nil {
				continue
			}
			want, _ := run(t, shell, tt.line)
			got, tells := run(t, shell, marked)
			if got != want {
				t.Errorf("%s: %q as\n%q said %q, want %q", shell[0], tt.line, marked, got, want)
			}
			lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(tells), " ", "="))
			slices.Sort(lines)
			if sorted := strings.ReplaceAll(strings.Join(lines, "\n"), "=", " "); tt.tells != "" && sorted != tt.tells {
				t.Errorf("%s: %q told %q, want %q of %q", shell[0], tt.line, sorted, tt.tells, commands)
			}
		}
	}
}

// A line of one command stays as it is.
func TestOneCommand(t *testing.T) {
	for _, line := range []string{"go test ./...", "cat <<EOF\na | b\nEOF", "", "x=1", "sh -c 'ls'", "a &", filepath.Join("/", "bin", "true")} {
		if got, commands := Mark(line, 0); got != line || commands != nil {
			t.Errorf("%q became %q", line, got)
		}
	}
}
