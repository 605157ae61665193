package builtin

import (
	"context"
	_ "embed" // the description

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed insert_content.md
var insertContentDoc string

func insertContent(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{Name: "insert_content", Doc: insertContentDoc, Kind: policy.Write, Edits: true,
		Aliases: []string{"insert", "insert_lines", "insert_code", "insert_at_line", "append_to_file"},
		Params: []tools.Param{
			tools.PathParam("File; a new one with line 0 or 1.", true),
			{Name: "line", Form: tools.Number, Required: true, Doc: "1 is the first; 0 the end of the file.",
				Aliases: []string{"line_number", "insert_line", "start_line", "position", "at_line"}},
			{
				Name:     "content",
				Required: true,
				Doc:      "Lines to insert.",
				Aliases:  []string{"text", "new_content", "insert_text", "code", "new_str"},
			},
		},
		Example: `{"path":"PATH","line":1,"content":"first line\n"}`}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		rel, err := k.Path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		line, err := a.Number("line", 0)
		if err != nil {
			return plan{}, err
		}
		text, err := a.Text("content")
		if err != nil {
			return plan{}, err
		}
		if text == "" {
			return plan{}, a.Wrong("argument %q is empty", "content")
		}
		c, err := current(ctx, k, rel)
		if err != nil {
			return plan{}, err
		}
		if c.existed || line > 1 {
			if c, err = existing(ctx, k, rel); err != nil {
				return plan{}, err
			}
		}
		if c.after, err = patch.Insert(c.before, line, text); err != nil {
			return plan{}, a.Wrong("%s: %v", c.path, err)
		}
		return plan{changes: []change{c}}, nil
	})
}
