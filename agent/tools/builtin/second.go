package builtin

import (
	"context"
	_ "embed" // the question
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

//go:embed second_look.md
var secondLook string

const (
	around     = 40  // lines of code before and after a finding
	maxVerdict = 500 // tokens of an answer
)

// look asks the model to refute a finding, given only its code. A refuted finding is
// not shown; an uncertain one is marked.
func (r reporter) look(ctx context.Context, f *session.Finding, text []string) {
	if r.Model == nil || f.Old {
		return
	}
	window := r.Context
	if caps, err := r.Model.Capabilities(ctx); window == 0 && err == nil {
		window = caps.Window()
	}
	var said strings.Builder
	for p, err := range r.Model.Stream(ctx, llm.Request{
		Messages: []llm.Message{{
			Role:    llm.RoleUser,
			Content: question(f, text),
		}},
		Context:   window,
		MaxTokens: maxVerdict,
	}) {
		if err != nil {
			f.Unsure = "nobody could take a second look, because the model did not answer."
			return
		}
		said.WriteString(p.Content)
		f.Tokens += p.PromptTokens + p.AnswerTokens
	}
	verdict, why := verdictOf(said.String())
	switch verdict {
	case "refuted":
		f.Refuted = why //control:refuted
	case "stands":
	default:
		f.Unsure = why //control:unsure
	}
}

// question returns the prompt: the claim, and the code with its line numbers.
func question(f *session.Finding, text []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFile %s, line %d", secondLook, f.Path, f.Line)
	if f.Last() > f.Line {
		fmt.Fprintf(&b, " to %d", f.Last())
	}
	fmt.Fprintf(&b, "\nClaim: %s\nWhy: %s\n\nThe code:\n", f.Claim, f.Why)
	for n := max(1, f.Line-around); n <= min(len(text), f.Last()+around); n++ {
		fmt.Fprintf(&b, "%d | %s\n", n, text[n-1])
	}
	if f.Suggestion != nil {
		fmt.Fprintf(&b, "\nSuggested instead of these lines:\n%s\n", *f.Suggestion)
	}
	return b.String()
}

var (
	thought = pattern.Lazy(`(?s)^.*</think(?:ing)?>`)
	ruling  = pattern.Lazy(
		`(?i)^[\s*_#>"'` + "`" + `]*(?:verdict|answer)?[\s:*_]*(stands|refuted|unsure)\b[\s.:,*_'"—–` + "`" + `-]*`,
	)
)

// verdictOf parses the answer. The verdict is "" unless the answer begins with one.
func verdictOf(said string) (verdict, why string) {
	said = strings.TrimSpace(thought().ReplaceAllString(said, ""))
	m := ruling().FindStringSubmatch(said)
	if m == nil {
		return "", "a second look came to no answer."
	}
	why = cut(strings.Join(strings.Fields(said[len(m[0]):]), " "), maxClaim)
	if why == "" {
		why = "a second look does not say why."
	}
	return strings.ToLower(m[1]), why
}
