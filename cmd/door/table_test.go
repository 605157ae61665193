package door

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	w := &Console{Out: &b, Width: 40}
	if err := w.Table([][]string{
		{"NAME", "STATE", "WHERE"},
		{"one", "done", "team/app/a-directory/of-a-long-name"},
		{"日本語", "open", "a text of some words that goes on below"},
		{"three", "a reason that has the rest of its line"},
	}); err != nil {
		t.Fatal(err)
	}
	w.Note("→ ", "a remedy that is longer than a line of the page")
	w.Note("→ ", "npm install -g typescript-language-server")
	const want = `NAME    STATE  WHERE
one     done   team/app/a-directory/of-
               a-long-name
日本語  open   a text of some words that
               goes on below
three   a reason that has the rest of
        its line
→ a remedy that is longer than a line of
  the page
→ npm install -g
  typescript-language-server
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLines(t *testing.T) {
	var b strings.Builder
	w := &Console{Out: &b, Width: 40}
	if err := w.Lines([][]string{
		{"NAME", "STATE", "TASK"},
		{"one", "awaiting approval", "fix the greeting of the morning"},
		{"日本語", "done", "fix it"},
		{"three", "a reason that has the rest of its line"},
	}); err != nil {
		t.Fatal(err)
	}
	const want = `NAME    STATE              TASK
one     awaiting approval  fix the gree…
日本語  done               fix it
three   a reason that has the rest of
        its line
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
