package tools

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
)

//go:embed write_file.md
var writeFileDoc string

func writeFile(k *kit) *tool {
	if k.Files == nil {
		return nil
	}
	s := sheet{name: "write_file", doc: writeFileDoc,
		params: []param{
			pathParam("File to create or replace, relative to the workspace root.", true),
			{name: "content", required: true, doc: "The complete text of the file.",
				aliases: []string{"contents", "text", "file_text", "code", "data", "file_content", "new_content", "body"}},
			{name: "line_count", kind: number, doc: "Number of lines in content; optional."},
		},
		example: `{"path":"src/hello.txt","content":"Hello\n"}`}
	s.params[1].kind = free
	s.params[1].schema = `{"type":"string"}`
	return k.editor(s, func(ctx context.Context, a args) (plan, error) {
		rel, err := k.path(ctx, a)
		if err != nil {
			return plan{}, err
		}
		content, err := a.content(rel)
		if err != nil {
			return plan{}, err
		}
		c, err := k.current(ctx, rel)
		if err != nil {
			return plan{}, err
		}
		if err := c.replace(content); err != nil {
			return plan{}, err
		}
		return plan{changes: []change{c}}, nil
	})
}

// content returns the text to write. For a .json file it may be given as
// JSON instead of as a string.
func (a args) content(rel string) (string, error) {
	raw := a.values["content"]
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		var lines []string
		isLines := json.Unmarshal(raw, &lines) == nil
		if strings.EqualFold(path.Ext(rel), ".json") {
			var b bytes.Buffer
			if err := json.Indent(&b, raw, "", "  "); err != nil {
				return "", a.wrongType("content", "a string")
			}
			return b.String() + "\n", nil
		}
		if !isLines {
			return "", a.wrongType("content", "a string")
		}
	}
	s, err := a.text("content")
	if err != nil {
		return "", err
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", a.sheet.wrong("argument %q has a NUL character in it; only text can be written", "content")
	}
	return s, nil
}

// replace makes content the new text of the file, cleaned and in the form of
// the old one.
func (c *change) replace(content string) error {
	old := c.before
	if binary(old) {
		old = ""
	}
	text, notes := patch.Clean(c.path, old, content)
	if n, line := patch.Omission(c.path, old, text); n > 0 {
		return fmt.Errorf("write_file: nothing was written, because line %d of the content, %q, stands for text that is left out, and the file would lose that text. "+
			"Send the complete content, or change only a part of the file with apply_diff or edit_file", n, line)
	}
	if c.existed && strings.TrimSpace(text) == "" && strings.TrimSpace(old) != "" && content != "" {
		return errors.New("write_file: nothing was written, because the content is blank and the file is not; use delete_file to delete it, or send an empty string to empty it")
	}
	c.after = patch.Keep(old, text)
	for _, n := range notes {
		c.notes = append(c.notes, strings.ToUpper(n[:1])+n[1:]+".")
	}
	return nil
}
