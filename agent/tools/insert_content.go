package tools

import (
	"context"
	_ "embed" // the description

	"github.com/handrail-bot/handrail/agent/patch"
)

//go:embed insert_content.md
var insertContentDoc string

func insertContent(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	s := sheet{name: "insert_content", doc: insertContentDoc,
		params: []param{
			pathParam("File to insert into; it is created when it does not exist and line is 0 or 1.", true),
			{name: "line", kind: number, required: true, doc: "Line before which to insert, from 1; 0 for the end of the file.",
				aliases: []string{"line_number", "insert_line", "start_line", "position", "at_line"}},
			{name: "content", required: true, doc: "Lines to insert.", aliases: []string{"text", "new_content", "insert_text", "code", "new_str"}},
		},
		example: `{"path":"src/a.txt","line":1,"content":"first line\n"}`}
	return k.editor(s, func(ctx context.Context, a args) (plan, error) {
		rel, err := k.path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		line, err := a.number("line", 0)
		if err != nil {
			return plan{}, err
		}
		text, err := a.text("content")
		if err != nil {
			return plan{}, err
		}
		if text == "" {
			return plan{}, s.wrong("argument %q is empty", "content")
		}
		c, err := k.current(ctx, rel)
		if err != nil {
			return plan{}, err
		}
		if c.existed || line > 1 {
			if c, err = k.existing(ctx, rel); err != nil {
				return plan{}, err
			}
		}
		if c.after, err = patch.Insert(c.before, line, text); err != nil {
			return plan{}, s.wrong("%s: %v", c.path, err)
		}
		return plan{changes: []change{c}}, nil
	})
}
