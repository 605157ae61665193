package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// placed has rules for files in web.
func (b *bench) placed(text string) *[][]string {
	var asked [][]string
	b.cfg.PlaceRules = func(_ context.Context, files, known []string) ([]session.Item, error) {
		asked = append(asked, files)
		if slices.Contains(known, "web/AGENTS.md") || !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, "web/") }) {
			return nil, nil
		}
		return []session.Item{{Kind: session.ItemRules, Name: "web/AGENTS.md", Text: text}}, nil
	}
	return &asked
}

// Rules of a place come behind the first reading or edit of a file there, once, and as
// rules: not between the marks of data. A resumed session still has them.
func TestPlaceRules(t *testing.T) {
	for name, first := range map[string]string{
		"read": `{name: read_file, arguments: {path: web/a.txt}}`,
		"edit": `{name: write_file, arguments: {path: web/a.txt, content: "two\n"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `model: {name: m, tools: true, context: 32768}
turns:
- {calls: [{name: read_file, arguments: {path: b.txt}}]}
- {when: {lacks: WEBRULE}, calls: [`+first+`]}
- when: {last_contains: ["Rules of this repository, from web/AGENTS.md on its base branch:\nWEBRULE"]}
  calls: [{name: write_file, arguments: {path: web/b.txt, content: "b\n"}}]
- {when: {contains: WEBRULE}, say: "Done. [TASK_COMPLETE]"}
- {when: {contains: WEBRULE}, calls: [{name: write_file, arguments: {path: web/c.txt, content: "c\n"}}]}
- {when: {contains: WEBRULE}, say: "Done. [TASK_COMPLETE]"}
`, map[string]string{"web/a.txt": "one\n", "b.txt": "b\n"})
			asked := b.placed("WEBRULE")
			b.must(session.StatusDone)
			b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "and c"}))
			b.must(session.StatusDone)
			if err := b.model.Err(); err != nil {
				t.Error(err)
			}
			all := b.model.Requests()
			if n := strings.Count(string(all[len(all)-1].Body), "WEBRULE"); n != 1 {
				t.Errorf("the rules are there %d times", n)
			}
			if len(*asked) < 4 || slices.Contains((*asked)[0], "web/a.txt") {
				t.Errorf("asked for %v", *asked)
			}
		})
	}
}

// Rules for files that the request names are part of the request; in the files form, too,
// in which the task comes last. Rules for which there is no room are named.
func TestPlaceRulesOfARequest(t *testing.T) {
	for _, form := range []llm.Form{llm.FormNative, llm.FormFiles} {
		b := newBench(t, `model: {name: m, tools: true, context: 8192}
turns:
- {say: "web/a.txt\n`+"```\\ntwo\\n```"+`", when: {last_contains: ["web/AGENTS.md on its base branch:", "too long to be shown here: read web/AGENTS.md", fix it]}}
`, map[string]string{"web/a.txt": "one\n"})
		b.placed(strings.Repeat("WEBRULE ", 1000))
		b.task.Text, b.cfg.Form, b.task.Mode = "fix it", form, map[llm.Form]string{llm.FormNative: "ask", llm.FormFiles: "code"}[form]
		b.cfg.Provide = func(context.Context, string, llm.Form) []session.Item {
			return []session.Item{{Kind: session.ItemFile, Name: "web/a.txt", Text: "one\n"}}
		}
		b.must(map[llm.Form]session.Status{llm.FormNative: session.StatusAnswered, llm.FormFiles: session.StatusDone}[form])
		if err := b.model.Err(); err != nil {
			t.Error(err)
		}
		last := b.model.Requests()[0].Messages
		if text := last[len(last)-1].Content; strings.Index(text, "web/AGENTS.md") > strings.LastIndex(text, "fix it") {
			t.Errorf("%s: the task is not last: %s", form, text)
		}
	}
}
