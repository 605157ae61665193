package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotes(t *testing.T) {
	n := Notes{Goal: "fix the parser"}
	for _, s := range []Step{
		{Tool: "read_file", Paths: []string{"a.go", "b.go"}, OK: true},
		{Tool: "read_file", Paths: []string{"a.go"}, OK: true},
		{Tool: "edit_file", Paths: []string{"a.go"}, Result: "old_string is not in the file\nmore"},
		{Tool: "edit_file", Paths: []string{"a.go"}, OK: true, Changed: []string{"a.go"}},
		{Tool: "run_terminal_command", Command: "go test ./...", Test: true, OK: true, Result: "ok\n[Exit code 0, 5ms]"},
		{Tool: "run_terminal_command", Command: "make gen", OK: true, Result: "boom\n[Exit code 2, 5ms]"},
	} {
		n.Observe(s)
	}
	n.Hear("I looked.\n**Decision:** keep the old API\n- Decision: no new dependency\nThe decision is made: none.")
	n.Decide("")
	want := `- Goal: fix the parser
- Decisions: keep the old API; no new dependency
- Files read: b.go, a.go
- Files changed: a.go
- Tests run: go test ./... → [Exit code 0, 5ms]
- Attempts that failed: edit_file a.go: old_string is not in the file; run_terminal_command make gen: [Exit code 2, 5ms]
`
	if d := cmp.Diff(want, n.String()); d != "" {
		t.Error(d)
	}
	if s := new(Notes).String(); s != "" {
		t.Errorf("empty notes say %q", s)
	}
}

func TestNotesStaySmall(t *testing.T) {
	var n Notes
	for i := range 5000 {
		n.Observe(Step{Tool: "read_file", Paths: []string{fmt.Sprintf("dir/file%d.go", i)}, OK: true})
		n.Observe(Step{Tool: "edit_file", Paths: []string{fmt.Sprintf("f%d", i)}, Result: strings.Repeat("long ", 1000)})
		n.Observe(Step{Command: "go test", Test: true, OK: true, Result: strings.Repeat("long ", 1000)})
		n.Decide(fmt.Sprint(i, strings.Repeat(" why", 1000)))
	}
	if len(n.String()) > 8000 {
		t.Errorf("the notes have %d bytes", len(n.String()))
	}
	if last := n.Seen[len(n.Seen)-1]; last != "dir/file4999.go" {
		t.Errorf("the newest is %s", last)
	}
}
