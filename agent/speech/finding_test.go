package speech

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
)

// A finding in prose is read like a call, and once.
func TestFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		text     string
		reported []session.Reported
		want     []string
	}{
		"bold, with a suggestion": {
			text: "I found a bug.\n\n**greet.sh:2** - the greeting is misspelled.\n\n```suggestion\necho Hello\n```\n[TASK_COMPLETE]",
			want: []string{`{"claim":"the greeting is misspelled.","line":2,"path":"greet.sh","severity":"medium","suggestion":"echo Hello","why":"the greeting is misspelled."}`},
		},
		"a list": {
			text: "1. **`a/b.go:3-5`**: it leaks.\n   The file stays open.\n2. **a/c.go:7** — it loops",
			want: []string{
				`{"claim":"it leaks.","end_line":5,"line":3,"path":"a/b.go","severity":"medium","why":"it leaks.\nThe file stays open."}`,
				`{"claim":"it loops","line":7,"path":"a/c.go","severity":"medium","why":"it loops"}`,
			},
		},
		"the claim below":      {text: "### b.py:4\n\nNobody closes it.", want: []string{`{"claim":"Nobody closes it.","line":4,"path":"b.py","severity":"medium","why":"Nobody closes it."}`}},
		"reported":             {text: "**greet.sh:2** - misspelled", reported: []session.Reported{{Finding: &session.Finding{Path: "greet.sh", Line: 1, End: 2}}}},
		"within a sentence":    {text: "All is well, as greet.sh:2 shows."},
		"in code":              {text: "```\na.go:3: undefined\n```"},
		"files that were read": {text: "I read these:\n- a.go:3 closes the file\n- `b.go:4` is fine"},
		"only a place":         {text: "I read these:\n- a.go:3\n- b.go:4"},
		"a time, an address":   {text: "12:30 it fails\nlocalhost:8080 answers"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Findings(tt.text, 3, tt.reported) {
				if c.Name != "report_finding" || c.ID == "" || !c.Text {
					t.Errorf("the call is %+v", c)
				}
				got = append(got, string(c.Arguments))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
