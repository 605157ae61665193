package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/patch/fragment"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed put_file.md
var putFileDoc string

// putFile writes a file printed in a model's answer. Models do not see the tool; the
// engine makes the call. A partial file replaces only the definitions in it.
func putFile(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{Name: "put_file", Doc: putFileDoc, Kind: policy.Write, Untold: true, Edits: true, Repeats: 20,
		Params: []tools.Param{
			tools.PathParam("File.", true),
			{
				Name:     "content",
				Required: true,
				Form:     tools.Free,
				Schema:   `{"type":"string"}`,
				Doc:      "All of its text, or definitions of it.",
			},
			{Name: "unseen", Schema: `{"type":"boolean"}`, Doc: "The file was never shown to the model."},
			{Name: "invented", Schema: `{"type":"boolean"}`, Doc: "The path was never shown to the model."},
			{Name: "only", Schema: `{"type":"string"}`, Doc: "The function that the model was asked for."},
		},
		Example: `{"path":"PATH","content":"TEXT"}`}
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		c, content, err := given(ctx, k, a)
		if err != nil {
			return plan{}, err
		}
		unseen, err := a.Flag("unseen", false)
		if err != nil {
			return plan{}, err
		}
		if unseen && c.existed && !fragment.Is(c.path, c.before, content) { //control:unseen-is-not-replaced
			return plan{}, fmt.Errorf("%s: nothing was written, because you have not seen what is in this file", c.path)
		}
		invented, err := a.Flag("invented", false)
		if err != nil {
			return plan{}, err
		}
		if invented { //control:no-invented-folder
			if err := inFolder(ctx, k, c); err != nil {
				return plan{}, err
			}
		}
		only, err := a.Text("only")
		if err != nil {
			return plan{}, err
		}
		if !c.putOnly(content, only) {
			if err := c.put(content); err != nil {
				return plan{}, err
			}
		}
		if !c.same() {
			c.notes = append(c.notes, "It is changed by:\n"+strings.TrimSpace(c.display()))
		}
		return plan{changes: []change{c}}, nil
	})
}

// inFolder returns an error if a new file is in a folder that is not there.
func inFolder(ctx context.Context, k *tools.Kit, c change) error {
	folder, _, ok := strings.Cut(c.path, "/")
	if c.existed || !ok {
		return nil
	}
	there, err := k.Exists(ctx, folder)
	if err == nil && !there {
		err = fmt.Errorf("%s: nothing was written, because there is no folder %s, and the task does not name it", c.path, folder)
	}
	return err
}

// putOnly replaces the function that the model was asked for, if there is one, and reports whether it did.
func (c *change) putOnly(content, function string) bool {
	if function == "" || !c.existed {
		return false
	}
	content, _ = patch.Clean(c.path, c.before, content)
	content = tabsAs(c.before, content)
	text, ok := fragment.PutOnly(c.path, unixLines(c.before), unixLines(content), function)
	if ok { //control:only-the-function
		c.after = patch.MatchForm(c.before, text)
	}
	return ok
}

// put makes content the text of the file, or replaces the definitions in content, or the lines that it
// is like.
func (c *change) put(content string) error {
	content, notes := patch.Clean(c.path, c.before, content)
	c.notes = append(c.notes, notes...)
	if !c.existed {
		return c.replace(content)
	}
	content = tabsAs(c.before, content)
	part := fragment.Is(c.path, c.before, content)
	var err error
	lost := append(fragment.Gone(c.path, c.before, content), fragment.LeftOut(c.path, c.before, content)...)
	switch {
	case len(lost) > 0: //control:no-other-file
		err = fmt.Errorf("nothing was written, because %s would be gone: keep everything else in the file", strings.Join(lost, ", "))
	case part:
		text, replaced, errPut := fragment.Put(c.path, unixLines(c.before), unixLines(content))
		if errPut == nil {
			c.after = patch.MatchForm(c.before, text)
			c.notes = append(c.notes, "Only "+strings.Join(replaced, ", ")+" was replaced; the rest of the file stays.")
			return nil
		}
		err = fmt.Errorf("nothing was written: %w", errPut)
	case endsShort(c.before, content):
		return fmt.Errorf("%s: nothing was written, because a comment stands at the end for the rest of the file: write the whole file", c.path)
	case isPart(c.before, content):
		err = fmt.Errorf("nothing was written, because this is only a part of the file: write the whole file, or a SEARCH/REPLACE block")
	case fragment.LosesExports(c.path, c.before, content): //control:exports-stay
		return fmt.Errorf("%s: nothing was written, because its exports would be gone: keep everything else in the file", c.path)
	default:
		return c.replace(content)
	}
	if text, ok := likePlace(unixLines(c.before), content); ok {
		c.after = patch.MatchForm(c.before, text)
		c.notes = append(c.notes, "Only the lines like these were replaced; the rest of the file stays.")
		return nil
	}
	return fmt.Errorf("%s: %w", c.path, err)
}

// unixLines returns a text of which all lines end with CR LF with LF alone; other text stays.
func unixLines(s string) string {
	if strings.Count(s, "\n") != strings.Count(s, "\r\n") {
		return s
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}
