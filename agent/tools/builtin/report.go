package builtin

// report_finding is the tool of a reviewer. A finding is logged at once, so that an interrupted
// answer loses none.
//
//	report.go        the tool
//	report_place.go  the lines of a finding, and the definition around them
//	second.go        a second look
//	suggest.go       a suggested replacement, tried on the file
//	lexical.go       checks of a change in a language without a parser here

import (
	"context"
	_ "embed" // the description
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed report_finding.md
var reportFindingDoc string

const (
	maxClaim = 300  // characters
	maxWhy   = 2000 // characters
	maxSpan  = 60   // lines of one finding
)

type reporter struct{ *tools.Kit }

func reportFinding(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	r := reporter{k}
	return tools.New(
		tools.Sheet{
			Name:      "report_finding",
			Doc:       reportFindingDoc,
			Kind:      policy.Converse,
			Essential: true,
			Modes:     []string{"review", "security"},
			Aliases: []string{
				"add_finding", "report_issue", "report_bug", "add_review_comment", "review_comment", "add_comment",
				"finding",
			},
			Params: []tools.Param{
				tools.PathParam("File, relative to the workspace root.", true),
				{
					Name:     "line",
					Form:     tools.Number,
					Required: true,
					Doc:      "First wrong line.",
					Aliases:  []string{"start_line", "line_start", "from_line", "from", "line_number", "lineno"},
				},
				{
					Name:    "end_line",
					Few:     true,
					Form:    tools.Number,
					Doc:     "Last one, when there are several.",
					Aliases: []string{"line_end", "to_line", "to", "last_line"},
				},
				{
					Name:    "code",
					Doc:     "The first of them, copied.",
					Aliases: []string{"quote", "snippet", "existing_code", "line_text"},
				},
				{Name: "side", Doc: "old for removed lines.", Enum: []string{"new", "old"}},
				{
					Name:     "severity",
					Required: true,
					Doc:      "high: wrong results, lost data, a hole.",
					Enum:     []string{"high", "medium", "low"},
					Aliases:  []string{"level", "priority", "importance"},
				},
				{
					Name:     "claim",
					Required: true,
					Doc:      "What is wrong, in one sentence.",
					Aliases:  []string{"title", "summary", "message", "issue", "problem", "finding"},
				},
				{
					Name:     "why",
					Required: true,
					Doc:      "An input or steps that show it, and what happens.",
					Aliases:  []string{"reason", "explanation", "description", "details", "body", "evidence", "because"},
				},
				{
					Name:    "suggestion",
					Few:     true,
					Doc:     "What is to stand in place of these lines, complete and indented.",
					Aliases: []string{"replacement", "suggested_replacement", "fix", "suggested_fix", "new_code", "suggested_code"},
				},
			},
			Example: `{"path":"PATH","line":12,"severity":"high","claim":"What is wrong.","why":"Steps that show it."}`,
		},
		r.intent,
		r.run,
	)
}

func (r reporter) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	f, _, _, err := r.read(ctx, a)
	return policy.Action{Kind: policy.Converse, Display: f.Where() + ": " + f.Claim}, err
}

func (r reporter) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	f, notes, code, err := r.read(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	r.look(ctx, &f, code)
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	text := "Recorded: " + f.Where() + "."
	switch {
	case f.Refuted != "":
		text = "Not recorded: " + f.Where() + ". A second look at the code refutes it: " + f.Refuted
	case f.Unsure != "":
		notes = append(notes, "A second look was not sure of it: "+f.Unsure)
	}
	if len(notes) > 0 {
		text += " " + strings.Join(notes, " ")
	}
	return tools.Result{
		Content: text + " Go on with the review.",
		Title:   "Found something in " + f.Where(),
		Finding: &f,
	}, nil
}

// read reads a finding. It also returns notes on corrected input, and the code of the
// file.
func (r reporter) read(ctx context.Context, a tools.Args) (f session.Finding, notes, code []string, err error) {
	if f.Claim, err = a.Need("claim"); err != nil {
		return f, nil, nil, err
	}
	if f.Why, err = a.Need("why"); err != nil {
		return f, nil, nil, err
	}
	f.Claim, f.Why = cut(strings.Join(strings.Fields(f.Claim), " "), maxClaim), cut(strings.TrimSpace(f.Why), maxWhy)
	word, err := a.Need("severity")
	if err != nil {
		return f, nil, nil, err
	}
	if f.Severity = severityOf(word); f.Severity == "" {
		return f, nil, nil, a.Wrong("%q is no severity; take high, medium or low", word)
	}
	side, err := a.Text("side")
	if err != nil {
		return f, nil, nil, err
	}
	f.Old = isOld(side)
	code, notes, err = r.place(ctx, a, &f)
	if err != nil || f.Old {
		return f, notes, nil, err
	}
	f.In = enclosing(code, f.Line)
	note, err := suggest(a, &f, code)
	if note != "" {
		notes = append(notes, note)
	}
	return f, notes, code, err
}

// severityOf maps the words of models to a severity.
func severityOf(word string) session.Severity {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(word), "[]*_.")) {
	case "high", "critical", "blocker", "severe", "error", "major", "p0", "p1", "bug":
		return session.High
	case "medium", "moderate", "warning", "warn", "normal", "p2":
		return session.Medium
	case "low", "minor", "info", "note", "nit", "trivial", "suggestion", "p3", "p4":
		return session.Low
	}
	return ""
}

func isOld(side string) bool {
	switch strings.ToLower(strings.TrimSpace(side)) {
	case "old", "left", "base", "before", "removed", "deleted", "-":
		return true
	}
	return false
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}
