package session

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The histories of repositories, and the titles of a model that answers badly there.
func TestTitlesOfHistories(t *testing.T) {
	t.Parallel()
	const (
		typed   = "feat(api): add a|fix(win): join paths|docs: say more|test: cover b|chore: tidy up"
		emoji   = "🐛 Fix a|✨ Add b|📝 Say c|:bug: Fix d|🔥 Remove e"
		keys    = "APP-1 Add a|APP-2 Fix b|APP-3 Say c|APP-4 Join d|APP-5 Drop e"
		fences  = "[WEB-1] Add a|[WEB-2] Fix b|[WEB-3] Say c|[WEB-4] Join d|[WEB-5] Drop e"
		colons  = "OPS-1: add a|OPS-2: fix b|OPS-3: say c|OPS-4: join d|OPS-5: drop e"
		scopes  = "net/http: accept a|cmd/go: drop b|all: say c|runtime: join d|net: add e"
		chinese = "修复登录崩溃|添加测试用例|更新说明文档|支持暗色主题|删除旧的缓存"
		none    = "Fix a|Add b|Join c|Let d be|Say e"
	)
	code := []FileChange{{Path: "parser/lex.go", Kind: ChangeModify}}
	tested := append([]FileChange{{Path: "parser/lex_test.go", Kind: ChangeCreate}}, code...)
	for name, c := range map[string]struct {
		history, said, want string
		files               []FileChange
		task                string
	}{
		"no type":                {history: typed, said: "Accept empty lines", want: "chore: accept empty lines"},
		"a fix without a type":   {history: typed, said: "Fix the loop on empty lines.", want: "fix: the loop on empty lines"},
		"a scope":                {history: typed, said: "fix(parser): accept empty lines", want: "fix(parser): accept empty lines"},
		"a break":                {history: typed, said: "feat!: drop empty lines", want: "feat!: drop empty lines"},
		"a typed past":           {history: typed, said: "fix(parser): accepted empty lines", want: "chore: update parser/lex.go"},
		"markdown":               {history: none, said: "**Accept** empty lines", want: "Update parser/lex.go"},
		"all of it in markdown":  {history: none, said: "## `Accept empty lines`", want: "Accept empty lines"},
		"a bullet":               {history: none, said: "- Accept empty lines", want: "Accept empty lines"},
		"two lines":              {history: none, said: "Accept empty lines\n\nThe lexer stopped there.", want: "Update parser/lex.go"},
		"200 columns":            {history: none, said: "Accept " + strings.Repeat("very ", 40) + "empty lines", want: "Update parser/lex.go"},
		"past without an ending": {history: none, said: "Made the lexer accept empty lines", want: "Update parser/lex.go"},
		"a sentence about it":    {history: none, said: "The lexer accepts empty lines", want: "Update parser/lex.go"},
		"a talker":               {history: none, said: "Sure, here is a title: Accept empty lines", want: "Update parser/lex.go"},
		"a label":                {history: none, said: "Title: Accept empty lines", want: "Update parser/lex.go"},
		"a type of elsewhere":    {history: none, said: "fix(parser): accept empty lines", want: "Accept empty lines"},
		"a claim of tests":       {history: none, said: "Accept empty lines and add tests", want: "Update parser/lex.go"},
		"tests that are there":   {history: none, said: "Accept empty lines and add tests", want: "Accept empty lines and add tests", files: tested},
		"a claim of speed":       {history: none, said: "Speed up the lexer by 40%", want: "Update parser/lex.go"},
		"eed is no past":         {history: none, said: "Speed up the lexer", want: "Speed up the lexer"},
		"hidden letters":         {history: none, said: "Accept \u202eempty\u202c lines", want: "Update parser/lex.go"},
		"a picture":              {history: emoji, said: "🐛 fix the loop on empty lines", want: "🐛 Fix the loop on empty lines"},
		"no picture":             {history: emoji, said: "Fix the loop on empty lines", want: "Fix the loop on empty lines"},
		"a picture elsewhere":    {history: none, said: ":bug: fix the loop on empty lines", want: "Fix the loop on empty lines"},
		"the key of the task":    {history: keys, said: "Accept empty lines", task: "see APP-17 and UTF-8", want: "APP-17 Accept empty lines"},
		"a key of its own":       {history: keys, said: "APP-99 Accept empty lines", task: "see APP-17", want: "APP-17 Accept empty lines"},
		"an invented key":        {history: keys, said: "APP-99 Accept empty lines", want: "Accept empty lines"},
		"a key in brackets":      {history: fences, said: "fix: accept empty lines", task: "WEB-3, as in WEB-3's text", want: "[WEB-3] Accept empty lines"},
		"a key with a colon":     {history: colons, said: "Accept empty lines", task: "OPS-8", want: "OPS-8: Accept empty lines"},
		"a directory":            {history: scopes, said: "Accept empty lines", want: "parser: accept empty lines"},
		"a type as a directory":  {history: scopes, said: "fix: accept empty lines", want: "parser: accept empty lines"},
		"chinese":                {history: chinese, said: "修复空行导致的死循环。", want: "修复空行导致的死循环"},
		"chinese, done already":  {history: chinese, said: "已修复空行导致的死循环", want: "Update parser/lex.go"},
		"chinese with a type":    {history: typed, said: "fix: 修复空行导致的死循环", want: "fix: 修复空行导致的死循环"},
	} {
		files := c.files
		if files == nil {
			files = code
		}
		how := ConventionOf(strings.Split(c.history, "|"))
		got := how.Fit(Title(c.said, files), files, c.task)
		if got == "" {
			got = how.Fit(Subject(files), files, c.task)
		}
		if got != c.want || utf8.RuneCountInString(got) > maxTitle {
			t.Errorf("%s: %q is %q, want %q", name, c.said, got, c.want)
		}
	}
}
