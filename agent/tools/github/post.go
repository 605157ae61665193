package github

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Post is a comment in the session's own thread, or labels to add and to remove.
type Post struct {
	Comment string
	Labels  []string
	Off     []string
}

// Board gives write access to the session's own thread, and to no other.
type Board interface {
	// May returns nil if p can be posted now, else the reason, worded for the model.
	May(ctx context.Context, p Post) error
	// Put makes a post. It is idempotent for each call.
	Put(ctx context.Context, call string, p Post) error
}

// Limits of one post.
const (
	maxComment = 4_000 // characters
	maxLabels  = 5
)

// Posts returns the tools that write to the session's own thread.
func Posts(on Board) []tools.Tool {
	return []tools.Tool{
		post(on, tools.Sheet{
			Name: "add_issue_comment", Aliases: []string{"create_comment", "comment", "post_comment"},
			Doc: "Comment in this thread what people must know before the end. Your last words are posted anyway.",
			Params: []tools.Param{
				{Name: "body", Required: true, Doc: "Markdown.", Aliases: []string{"comment", "text", "content", "message"}},
			},
			Example: `{"body":"The test needs a database."}`,
		}, func(a tools.Args) (Post, error) {
			body, err := a.Need("body")
			if n := utf8.RuneCountInString(body); err == nil && n > maxComment {
				err = a.Wrong("the comment has %d characters, and the most are %d", n, maxComment)
			}
			return Post{Comment: strings.TrimSpace(body)}, err
		}),
		post(on, tools.Sheet{
			Name: "add_labels", Aliases: []string{"add_label", "label", "label_issue", "set_labels"},
			Doc: "Label this thread, as the repository's labels are called.",
			Params: []tools.Param{
				{
					Name:    "labels",
					Form:    tools.Free,
					Doc:     "To put on.",
					Schema:  list,
					Aliases: []string{"label", "name", "names", "add"},
				},
				{
					Name:    "remove",
					Form:    tools.Free,
					Doc:     "To take off.",
					Schema:  list,
					Aliases: []string{"remove_labels", "remove_label", "off"},
				},
			},
			Example: `{"labels":["bug"],"remove":["triage"]}`,
		}, labels),
	}
}

const list = `{"type":"array","items":{"type":"string"}}`

func labels(a tools.Args) (p Post, err error) {
	for name, into := range map[string]*[]string{"labels": &p.Labels, "remove": &p.Off} {
		text, err := a.Text(name)
		if err != nil {
			return p, err
		}
		list := len(a.Items(name)) > 1 // a label in a list may contain a comma
		for label := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ',' && !list }) {
			if label = strings.TrimSpace(label); label != "" &&
				!slices.ContainsFunc(*into, func(l string) bool { return strings.EqualFold(l, label) }) {
				*into = append(*into, label)
			}
		}
	}
	if n := len(p.Labels) + len(p.Off); n == 0 || n > maxLabels {
		return p, a.Wrong("give 1 to %d labels", maxLabels)
	}
	if slices.ContainsFunc(p.Off, func(off string) bool {
		return slices.ContainsFunc(p.Labels, func(on string) bool { return strings.EqualFold(on, off) })
	}) {
		return p, a.Wrong("one of the labels is to be put on and taken off")
	}
	return p, nil
}

// post makes a tool of a sheet. read parses the post from the arguments.
func post(on Board, s tools.Sheet, read func(tools.Args) (Post, error)) tools.Tool {
	s.Kind, s.Outer, s.Modes = policy.Post, true, []string{"code", "architect", "debug"}
	return tools.New(s,
		func(ctx context.Context, a tools.Args) (policy.Action, error) {
			p, err := read(a)
			if err == nil {
				err = on.May(ctx, p) //control:posts-have-limits
			}
			return policy.Action{Kind: policy.Post, Display: p.display()}, err
		},
		func(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			p, err := read(a)
			if err == nil {
				err = on.Put(ctx, a.Call, p)
			}
			if err != nil {
				return tools.Result{}, err
			}
			if p.Comment == "" {
				return tools.Result{
					Content: "The labels of this thread are changed.",
					Title:   untrusted.EscapeLine(p.labelChanges("Labelled ", "took off ")),
				}, nil
			}
			return tools.Result{Content: "The comment stands in this thread.", Title: "Commented"}, nil
		})
}

// display returns the post as shown for approval.
func (p Post) display() string {
	if p.Comment == "" {
		return p.labelChanges("label this thread: ", "take labels off this thread: ")
	}
	return "comment in this thread:\n\n" + p.Comment
}

// labelChanges lists the label changes, with on and off as prefixes.
func (p Post) labelChanges(on, off string) string {
	var out []string
	if len(p.Labels) > 0 {
		out = append(out, on+strings.Join(p.Labels, ", "))
	}
	if len(p.Off) > 0 {
		out = append(out, off+strings.Join(p.Off, ", "))
	}
	return strings.Join(out, "; ")
}
