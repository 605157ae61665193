package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// findingState is the state of a finding.
type findingState string

// The states of findings.
const (
	open     findingState = "open"
	fixed    findingState = "fixed"
	answered findingState = "answered"
	notSure  findingState = "not sure"
)

// row is a finding in the table of a pull request.
type row struct {
	Finding session.Finding
	Now     session.Finding // on its lines in the newest commit; without lines if they are gone
	State   findingState
	At      int64  // id of its comment; 0 if it is new, or has none
	Commit  string // that fixed it; "" if it is not fixed, or the commit is unknown
}

// state returns the state to show.
func (r row) state() findingState {
	if r.State == open && r.Finding.Unsure != "" {
		return notSure
	}
	return r.State
}

// maxRows is the maximum number of findings in the table.
const maxRows = 100

// standing returns the text of the one comment that lists the findings of a pull request, as
// of a commit: the open ones first. home is the address of the repository.
func standing(rows []row, in input, commit, home string, number int) string {
	order := []findingState{open, notSure, fixed, answered}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		by := cmp.Compare(slices.Index(order, a.state()), slices.Index(order, b.state()))
		return cmp.Or(by, heavier(a.Finding, b.Finding))
	})
	count := map[findingState]int{}
	for _, r := range rows {
		count[r.state()]++
	}
	var head []string
	for _, s := range order {
		if count[s] > 0 {
			head = append(head, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**Review of this pull request** as of `%.10s`: %s\n\n", commit, strings.Join(head, ", "))
	b.WriteString("| state | finding | place |\n|---|---|---|\n")
	for i, r := range rows {
		if i == maxRows {
			fmt.Fprintf(&b, "\nand %d more.\n", len(rows)-i)
			break
		}
		shown := r.Now
		if shown.Line == 0 {
			shown = r.Finding
		}
		at := strings.ReplaceAll(untrusted.EscapeLine(where(shown)), "|", "/")
		if r.At != 0 {
			at += fmt.Sprintf(" · %s/pull/%d#discussion_r%d", home, number, r.At) // GitHub shows it as #7 (comment)
		}
		state := string(r.state())
		if r.State == fixed && r.Commit != "" { //control:commit-of-a-fix
			state += fmt.Sprintf(" in [`%.7s`](%s/commit/%s)", r.Commit, home, r.Commit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", state, strings.ReplaceAll(claim(r.Finding), "|", `\|`), at)
	}
	if told := in.Coverage(); told != "" {
		b.WriteString("\n" + told + "\n")
	}
	if told := in.checks(); told != "" {
		b.WriteString("\n" + told + "\n")
	}
	return b.String()
}

// checks names the checks of the commit by their results, the failed ones first.
func (in input) checks() string {
	var parts []string
	for _, result := range []string{"failed", "running", "passed"} {
		var list []string
		for _, c := range in.Checks {
			if c.Result == result {
				list = append(list, c.Name)
			}
		}
		if len(list) > 0 {
			parts = append(parts, result+": "+names(list))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Checks seen: " + strings.Join(parts, "; ") + "."
}
