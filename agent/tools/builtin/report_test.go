package builtin_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

const pager = `package pager

// Pages is how many pages there are.
func (p *Pager) Pages(items int) int {
	n := items / size
	return n
}

var last = func() int { return 3 }
`

func bench(t *testing.T) *toolstest.Bench {
	return toolstest.Open(t, map[string]string{"pager.go": pager, "a.py": "class Shop:\n    def total(self, items):\n        n = 0\n        for i in items:\n            n += i\n\n        return n\n",
		"b.ts": "export class Cart {\n  async load(id: string): Promise<Item[]> {\n    return get(id)\n  }\n}\n\nexport const sum = (a: number, b: number) => {\n  return a - b\n}\n", "x.json": "{\n  \"a\": 1,\n  \"b\": 2\n}\n"})
}

func TestReportFinding(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		args string
		want session.Finding
		says string
	}{
		"suggestion": {`{"path":"pager.go","line":5,"severity":"high","claim":"The last page is lost.","why":"pages(11) is 1.","suggestion":"n := (items + size - 1) / size"}`,
			session.Finding{Path: "pager.go", Line: 5, In: "Pages", Severity: session.High, Claim: "The last page is lost.", Why: "pages(11) is 1.", Suggestion: text("\tn := (items + size - 1) / size")}, "Recorded: pager.go:5."},
		"several lines, in a fence": {`{"file":"pager.go","start_line":"5","end_line":6,"level":"Critical","title":"t","explanation":"w","fix":"` + "```go\\n\\treturn (items + size - 1) / size\\n```" + `"}`,
			session.Finding{Path: "pager.go", Line: 5, End: 6, In: "Pages", Severity: session.High, Claim: "t", Why: "w", Suggestion: text("\treturn (items + size - 1) / size")}, "Recorded: pager.go:5-6."},
		"does not parse": {`{"path":"pager.go","line":5,"severity":"low","claim":"c","why":"w","suggestion":"n := ("}`,
			session.Finding{Path: "pager.go", Line: 5, In: "Pages", Severity: session.Low, Claim: "c", Why: "w"}, "The suggestion was left out: the file would not parse with it"},
		"takes a brace away": {`{"path":"b.ts","line":4,"severity":"low","claim":"c","why":"w","suggestion":"  // gone"}`,
			session.Finding{Path: "b.ts", Line: 4, In: "Cart.load", Severity: session.Low, Claim: "c", Why: "w"}, "a bracket { of the file is not closed"},
		"no JSON any more": {`{"path":"x.json","line":2,"severity":"low","claim":"c","why":"w","suggestion":"\"a\": 1"}`,
			session.Finding{Path: "x.json", Line: 2, Severity: session.Low, Claim: "c", Why: "w"}, "would not parse"},
		"the same": {`{"path":"pager.go","line":6,"severity":"low","claim":"c","why":"w","suggestion":"\treturn n\n"}`,
			session.Finding{Path: "pager.go", Line: 6, In: "Pages", Severity: session.Low, Claim: "c", Why: "w"}, "stands there already"},
		"counted wrongly": {`{"path":"a.py","line":2,"end_line":2,"code":"  n += i","severity":"medium","claim":"c","why":"w"}`,
			session.Finding{Path: "a.py", Line: 5, In: "Shop.total", Severity: session.Medium, Claim: "c", Why: "w"}, "is line 5 and not 2"},
		"arrow function": {`{"path":"b.ts","line":8,"severity":"high","claim":"c","why":"w","suggestion":"  return a + b"}`,
			session.Finding{Path: "b.ts", Line: 8, In: "sum", Severity: session.High, Claim: "c", Why: "w", Suggestion: text("  return a + b")}, "Recorded"},
		"removed line": {`{"path":"gone.go","line":70,"side":"LEFT","severity":"high","claim":"The check is gone.","why":"w","suggestion":"x"}`,
			session.Finding{Path: "gone.go", Line: 70, Old: true, Severity: session.High, Claim: "The check is gone.", Why: "w"}, "Recorded: gone.go:70."},
	} {
		t.Run(name, func(t *testing.T) {
			action, res := bench(t).Do("report_finding", c.args)
			if action.Kind != policy.Converse || res.Finding == nil {
				t.Fatalf("is %+v, %+v", action, res)
			}
			got := *res.Finding
			if got.Suggestion != nil && c.want.Suggestion != nil && *got.Suggestion == *c.want.Suggestion {
				got.Suggestion = c.want.Suggestion
			}
			if got != c.want {
				t.Errorf("recorded %+v, want %+v", got, c.want)
			}
			toolstest.Contains(t, res.Content, c.says)
		})
	}
	b := bench(t)
	for args, words := range map[string]string{
		`{"path":"pager.go","line":40,"severity":"high","claim":"c","why":"w"}`:                  "has 9 lines, so there is no line 40",
		`{"path":"pager.go","line":0,"severity":"high","claim":"c","why":"w"}`:                   "no line",
		`{"path":"pager.go","line":4,"end_line":2,"severity":"high","claim":"c","why":"w"}`:      "before line 4",
		`{"path":"pager.go","line":4,"end_line":400,"severity":"high","claim":"c","why":"w"}`:    "name the few that are wrong",
		`{"path":"pager.go","line":4,"severity":"terrible","claim":"c","why":"w"}`:               "no severity",
		`{"path":"pager.go","line":4,"severity":"high","why":"w"}`:                               `"claim"`,
		`{"path":"pager.go","line":4,"severity":"high","claim":"c"}`:                             `"why"`,
		`{"path":"nowhere.go","line":4,"severity":"high","claim":"c","why":"w"}`:                 "no such file",
		`{"path":"../pager.go","line":4,"severity":"high","claim":"c","why":"w","side":"right"}`: "outside",
	} {
		b.Fails("report_finding", args, words)
	}
}

// Nobody is offered the tool outside of the modes that review.
func TestOnlyWhoReviewsReports(t *testing.T) {
	spec := bench(t).Tool("report_finding").Spec()
	for _, m := range policy.Modes() {
		if want := m.Name == "review" || m.Name == "security"; spec.In(m.Name) != want {
			t.Errorf("%s mode is offered it: %v", m.Name, !want)
		}
	}
	if !strings.Contains(spec.Description, "praise") {
		t.Error("the description asks for praise")
	}
}
