package builtin

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed write_file.md
var writeFileDoc string

func writeFile(k *tools.Kit) tools.Tool {
	if k.Files == nil {
		return nil
	}
	s := tools.Sheet{
		Name:      "write_file",
		Doc:       writeFileDoc,
		Few:       "Create a file, or replace all of its text. Send the complete text.",
		Kind:      policy.Write,
		Essential: true,
		Aliases: []string{
			"create_file", "write_to_file", "create_new_file", "save_file", "write", "overwrite_file", "file_write",
			"create", "new_file", "add_file",
		},
		Params: []tools.Param{
			tools.PathParam("File.", true),
			{Name: "content", Required: true, Doc: "All of its text.",
				Aliases: []string{"contents", "text", "file_text", "code", "data", "file_content", "new_content", "body"}},
			{Name: "line_count", Form: tools.Number},
		},
		Example: `{"path":"PATH","content":"all of its text\n"}`,
	}
	s.Params[1].Form = tools.Free
	s.Params[1].Schema = `{"type":"string"}`
	return editor(k, s, func(ctx context.Context, a tools.Args) (plan, error) {
		c, content, err := given(ctx, k, a)
		if err == nil {
			err = checkLineCount(a, content)
		}
		if err == nil {
			err = c.replace(content)
		}
		return plan{changes: []change{c}}, err
	})
}

// given returns the file that a call names, and the text for it.
func given(ctx context.Context, k *tools.Kit, a tools.Args) (c change, content string, err error) {
	rel, err := k.Path(ctx, a)
	if err == nil {
		content, err = readContent(a, rel)
	}
	if err == nil {
		c, err = current(ctx, k, rel)
	}
	return c, content, err
}

// checkLineCount returns an error if content has far fewer lines than the model declared, so
// part of it was omitted or cut off. A small difference is ignored: models count badly.
func checkLineCount(a tools.Args, content string) error {
	said, err := a.Number("line_count", 0)
	has := strings.Count(strings.TrimSuffix(content, "\n"), "\n") + 1
	if err != nil || has >= said-10 || has*5 >= said*4 {
		return err
	}
	return a.Wrong(
		"line_count is %d, but the content has %d lines; send the complete content, and leave line_count out",
		said,
		has,
	)
}

// readContent returns the text to write. The content of a .json file may also be JSON
// instead of a string.
func readContent(a tools.Args, rel string) (string, error) {
	raw := a.Values["content"]
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		var lines []string
		isLines := json.Unmarshal(raw, &lines) == nil
		if strings.EqualFold(path.Ext(rel), ".json") {
			var b bytes.Buffer
			if err := json.Indent(&b, raw, "", "  "); err != nil {
				return "", a.WrongType("content", "a string")
			}
			return b.String() + "\n", nil
		}
		if !isLines {
			return "", a.WrongType("content", "a string")
		}
	}
	s, err := a.Text("content")
	if err != nil {
		return "", err
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", a.Wrong("argument %q has a NUL character in it; only text can be written", "content")
	}
	return s, nil
}

// replace makes content the new text of the file, cleaned and in the format of the old
// text.
func (c *change) replace(content string) error {
	old := c.before
	if isBinary(old) {
		old = ""
	}
	shown := change{path: c.path, before: old}
	if err := shown.whole(content); err != nil {
		return fmt.Errorf("write_file: %w", err)
	}
	text := shown.after
	if c.existed && strings.TrimSpace(text) == "" && strings.TrimSpace(old) != "" && content != "" {
		return errors.New(
			"write_file: nothing was written, because the content is blank and the file is not; use delete_file to delete it, or send an empty string to empty it",
		)
	}
	c.after = patch.MatchForm(old, text)
	c.notes = append(c.notes, shown.notes...)
	return nil
}
