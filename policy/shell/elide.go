package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/walk"
)

const (
	maxWhole = 4 << 20 // bytes of a line whose here-documents are left out
	maxHere  = 4 << 10 // bytes of a here-document that stays
)

// elide leaves out long here-documents in which nothing is expanded. What they
// hold is not known then, and must not run.
func elide(line string) (string, bool) {
	if len(line) > maxWhole || !strings.Contains(line, "<<") {
		return "", false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return "", false
	}
	var b strings.Builder
	from := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		rd, ok := n.(*syntax.Redirect)
		if !ok || rd.Hdoc == nil || rd.Hdoc.Lit() == "" {
			return true
		}
		start, body := int(rd.Hdoc.Pos().Offset()), rd.Hdoc.Lit()
		if start < from || len(body) < maxHere || !strings.HasPrefix(line[min(start, len(line)):], body) {
			return true
		}
		b.WriteString(line[from:start] + walk.Elided + "\n")
		from = start + len(body)
		return true
	})
	b.WriteString(line[from:])
	return b.String(), from > 0 && b.Len() <= walk.MaxLine
}
