package builtin

import (
	"context"
	_ "embed" // the description
	"encoding/xml"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed ask_followup_question.md
var askFollowupQuestionDoc string

// maxChoices is the maximum number of choices of a question.
const maxChoices = 8

func askFollowupQuestion(*tools.Kit) tools.Tool {
	return tools.New(
		tools.Sheet{Name: "ask_followup_question", Doc: askFollowupQuestionDoc, Kind: policy.Converse, Outer: true,
			Aliases: []string{"ask_question", "ask_user", "ask_followup", "ask_follow_up_question", "ask_user_question"},
			Params: []tools.Param{
				{
					Name:     "question",
					Required: true,
					Doc:      "With what the person needs to know to answer it.",
					Aliases:  []string{"text", "message", "prompt", "query"},
				},
				{
					Name:    "choices",
					Form:    tools.Free,
					Schema:  `{"type":"array","items":{"type":"string"}}`,
					Doc:     "Answers to choose from.",
					Aliases: []string{"follow_up", "followup", "options", "suggestions", "answers", "suggest", "follow_ups"},
				},
			},
			Example: `{"question":"Which database should the example use?","choices":["SQLite","PostgreSQL"]}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			q, err := readQuestion(a)
			return policy.Action{Kind: policy.Converse, Display: q.Display}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			q, err := readQuestion(a)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Content: "Asked: " + q.Display, Title: "Asked a question", Ask: &q}, nil
		},
	)
}

func readQuestion(a tools.Args) (session.Asked, error) {
	text, err := a.Need("question")
	if err != nil {
		return session.Asked{}, err
	}
	q := session.Asked{Kind: session.AskQuestion, Display: strings.TrimSpace(text)}
	for _, item := range a.Items("choices") {
		s, ok := tools.Plain(item)
		if f, isObject := tools.Fields(item); isObject {
			s, ok = tools.Pick(f, "text", "answer", "suggest", "label", "value", "option", "title", "suggestion")
		}
		if !ok {
			return session.Asked{}, a.WrongType("choices", "a list of strings")
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
