package tools

import (
	"context"
	_ "embed" // the description
	"encoding/xml"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed ask_followup_question.md
var askFollowupQuestionDoc string

// maxChoices bounds the answers offered with a question.
const maxChoices = 8

func askFollowupQuestion(*kit) *tool {
	return &tool{
		sheet: sheet{name: "ask_followup_question", doc: askFollowupQuestionDoc,
			params: []param{
				{name: "question", required: true, doc: "The question, with what the person needs to know to answer it.", aliases: []string{"text", "message", "prompt", "query"}},
				{name: "choices", kind: free, schema: `{"type":"array","items":{"type":"string"}}`, doc: "Two to four answers to choose from; optional.",
					aliases: []string{"follow_up", "followup", "options", "suggestions", "answers", "suggest", "follow_ups"}},
			},
			example: `{"question":"Which database should the example use?","choices":["SQLite","PostgreSQL"]}`},
		intent: func(_ context.Context, a args) (policy.Action, error) {
			q, err := a.question()
			return policy.Action{Kind: policy.Converse, Display: q.Display}, err
		},
		run: func(_ context.Context, a args, _ Progress) (Result, error) {
			q, err := a.question()
			if err != nil {
				return Result{}, err
			}
			return Result{Content: "Asked: " + q.Display, Title: "Asked a question", Ask: &q}, nil
		},
	}
}

func (a args) question() (session.Asked, error) {
	text, err := a.need("question")
	if err != nil {
		return session.Asked{}, err
	}
	q := session.Asked{Kind: "question", Display: strings.TrimSpace(text)}
	for _, item := range a.items("choices") {
		s, ok := plain(item)
		if f, isObject := fields(item); isObject {
			s, ok = pick(f, "text", "answer", "suggest", "label", "value", "option", "title", "suggestion")
		}
		if !ok {
			return session.Asked{}, a.wrongType("choices", "a list of strings")
		}
		q.Choices = append(q.Choices, choiceLines(s)...)
	}
	if len(q.Choices) > maxChoices {
		q.Choices = q.Choices[:maxChoices]
	}
	return q, nil
}

// choiceLines reads the choices in one string: <suggest> elements, or lines.
func choiceLines(s string) []string {
	if strings.Contains(s, "<suggest") {
		var doc struct {
			Suggest []string `xml:"suggest"`
		}
		if xml.Unmarshal([]byte("<x>"+s+"</x>"), &doc) == nil && len(doc.Suggest) > 0 {
			s = strings.Join(doc.Suggest, "\n")
		}
	}
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		for _, bullet := range [...]string{"- ", "* ", "• "} {
			line = strings.TrimPrefix(line, bullet)
		}
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
