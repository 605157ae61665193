package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Desk takes the triage of the session's own issue, and of no other.
type Desk interface {
	// Labels returns the labels that a call may put on the issue, as the repository spells
	// them; if it has begun to, those that it chose.
	Labels(ctx context.Context, call string) ([]string, error)
	// Exists reports whether a number is that of another issue of the repository.
	Exists(ctx context.Context, number int64) (bool, error)
	// Label puts labels on the issue. It is idempotent for each call.
	Label(ctx context.Context, call string, labels []string) error
}

// Limits of one triage. What is beyond them is left out.
const (
	maxSame     = 3
	maxQuestion = 600 // characters
)

// triageTool is the name of the tool that ends a triage.
const triageTool = "triage_issue"

// nothing are the words of a session without a requester that has nothing to say.
const nothing = "nothing to report"

// verdict is the result of a triage. The zero value means that nothing was found.
type verdict struct {
	labels   []string
	same     []int64 // issues that report the same
	question string  // to the author
}

// Triage returns the tool that ends a triage. Its labels are put on; its words are the
// session's result. With alone, no requester reads them: labels speak for themselves then.
func Triage(on Desk, alone bool) tools.Tool {
	t := triager{on, alone}
	return tools.New(
		tools.Sheet{
			Name:      triageTool,
			Kind:      policy.Post,
			Outer:     true,
			Essential: true,
			Modes:     []string{"triage"},
			Aliases:   []string{"triage", "report_triage", "classify_issue"},
			Doc:       "End the triage with what you found. Leave out what you are not sure of.",
			Params: []tools.Param{
				{
					Name:    "labels",
					Form:    tools.Free,
					Schema:  list,
					Doc:     "Labels from the list that fit.",
					Aliases: []string{"label", "add_labels", "tags"},
				},
				{
					Name:    "duplicates",
					Form:    tools.Free,
					Schema:  `{"type":"array","items":{"type":"integer"}}`,
					Doc:     "Numbers of issues that report the same.",
					Aliases: []string{"duplicate", "duplicate_of", "duplicates_of", "same_as", "similar"},
				},
				{
					Name:    "question",
					Doc:     "To the author, if the report lacks what is needed.",
					Aliases: []string{"ask", "questions", "missing", "needs_info"},
				},
			},
			Example: `{"labels":["bug"],"duplicates":[12],"question":"Which version is it?"}`,
		},
		t.intent,
		t.run,
	)
}

type triager struct {
	on    Desk
	alone bool
}

func (t triager) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	v, err := t.read(ctx, a)
	if err != nil || v.isEmpty() {
		return policy.Action{Kind: policy.Converse}, err
	}
	shown := "triage this issue:\n\n" + v.text(false)
	return policy.Action{Kind: policy.Post, Triage: true, Labels: v.labels, Display: shown}, nil
}

func (t triager) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	v, err := t.read(ctx, a)
	if err == nil && len(v.labels) > 0 {
		err = t.on.Label(ctx, a.Call, v.labels)
	}
	if err != nil {
		return tools.Result{}, err
	}
	said := v.text(t.alone)
	switch {
	case said == "" && t.alone:
		said = nothing
	case said == "":
		said = "I have nothing to add here: no further label fits for sure, and I know of no issue that reports the same."
	}
	return tools.Result{Content: said, Title: "Sorted the issue", Complete: true}, nil
}

// read reads a verdict as it is meant. Labels that the issue may not get, and issues that do
// not exist, are left out.
func (t triager) read(ctx context.Context, a tools.Args) (v verdict, err error) {
	if named := linesOf(a, "labels"); named != "" {
		have, err := t.on.Labels(ctx, a.Call)
		if err != nil {
			return v, err
		}
		v.labels = meantLabels(named, have) //control:triage-labels-that-there-are
	}
	for _, n := range numbersIn(linesOf(a, "duplicates")) {
		is, err := t.on.Exists(ctx, n)
		if err != nil {
			return v, err
		}
		if is && len(v.same) < maxSame { //control:duplicates-that-there-are
			v.same = append(v.same, n)
		}
	}
	question, err := a.Text("question")
	v.question = plainQuestion(question)
	return v, err
}

// linesOf returns a text or a list as lines. Of an object its name or its number counts.
func linesOf(a tools.Args, name string) string {
	var out []string
	for _, raw := range a.Items(name) {
		text, ok := tools.Plain(raw)
		if m, is := tools.Fields(raw); is {
			text, ok = tools.Pick(m, "name", "label", "number", "issue", "id")
		}
		if text = strings.TrimSpace(text); ok && text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}

// meantLabels returns the labels of have that a text names, on lines or between commas. Case,
// spaces and signs do not matter.
func meantLabels(text string, have []string) (out []string) {
	named := strings.Split(text, "\n")
	for _, line := range slices.Clone(named) {
		named = append(named, strings.Split(line, ",")...) // a label may contain a comma
	}
	for _, name := range named {
		at := slices.IndexFunc(have, func(h string) bool { return strings.EqualFold(h, strings.TrimSpace(name)) })
		if folded := foldLabel(name); at < 0 && folded != "" {
			at = slices.IndexFunc(have, func(h string) bool { return foldLabel(h) == folded })
		}
		if at >= 0 && len(out) < maxLabels && !slices.Contains(out, have[at]) {
			out = append(out, have[at])
		}
	}
	return out
}

// foldLabel returns the letters and digits of a label in lower case.
func foldLabel(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

var (
	reference = pattern.Lazy(`#(\d{1,9})\b`)
	anyNumber = pattern.Lazy(`^\W*(\d{1,9})\W*$`)
	address   = pattern.Lazy(`(?i)\b[a-z][a-z0-9+.-]*:/+\S+|\bmailto:\S+|\bwww\.\S+|\]\([^)]*\)`)
)

// numbersIn returns the numbers of issues in a text: those behind #, and those that stand
// alone on a line or between commas.
func numbersIn(text string) (out []int64) {
	add := func(digits string) {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && n > 0 && !slices.Contains(out, n) && len(out) < 2*maxSame {
			out = append(out, n)
		}
	}
	for _, m := range reference().FindAllStringSubmatch(text, -1) {
		add(m[1])
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		if m := anyNumber().FindStringSubmatch(part); m != nil {
			add(m[1])
		}
	}
	return out
}

// plainQuestion returns a question as one short paragraph without addresses: an issue may have
// told the model to send its readers somewhere. A text without a question mark is none.
func plainQuestion(text string) string {
	text = strings.Join(strings.Fields(address().ReplaceAllString(text, "")), " ") //control:question-without-addresses
	if r := []rune(text); len(r) > maxQuestion {
		text = strings.TrimSpace(string(r[:maxQuestion-1])) + "…"
	}
	if !strings.ContainsAny(text, "?？؟") {
		return ""
	}
	return text
}

func (v verdict) isEmpty() bool { return len(v.labels)+len(v.same) == 0 && v.question == "" }

// text returns the words of the result. Without labels, they are left out.
func (v verdict) text(unlabelled bool) string {
	var out []string
	if len(v.labels) > 0 && !unlabelled {
		out = append(out, "Labels: `"+strings.Join(v.labels, "`, `")+"`.")
	}
	if len(v.same) > 0 {
		var links []string
		for _, n := range v.same {
			links = append(links, fmt.Sprintf("#%d", n))
		}
		out = append(out, "This looks like the same as "+strings.Join(links, " and ")+".")
	}
	if v.question != "" {
		out = append(out, v.question)
	}
	return strings.Join(out, "\n\n")
}
