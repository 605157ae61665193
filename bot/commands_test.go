package bot

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// A row that lacks a part is found at start, not when somebody writes the
// command.
func TestEveryCommandIsWhole(t *testing.T) {
	t.Parallel()
	if err := checkCommands(commands()); err != nil {
		t.Fatal(err)
	}
	whole := row{
		Spec:  command.Spec{Name: "juggle", Usage: "juggle", Help: "take the last change back", Args: command.TakesText},
		right: policy.Rewind, priority: store.PriorityWork, handle: func(context.Context, *request) error { return nil },
	}
	if err := checkCommands(append(commands(), whole)); err != nil {
		t.Errorf("a whole row: %v", err)
	}
	for want, change := range map[string]func(*row){
		`"juggle" does not say which right it needs`: func(r *row) { r.right = policy.NoRequest },
		`"Juggle" is not one word in lower case`:     func(r *row) { r.Name = "Juggle" },
		`"juggle" has no priority`:                   func(r *row) { r.priority = 0 },
		`nothing handles "juggle"`:                   func(r *row) { r.handle = nil },
		`("juggle") has no name`:                     func(r *row) { r.Name = "" },
		`"juggle" has no usage`:                      func(r *row) { r.Usage = "" },
		`"juggle" does not say what it takes`:        func(r *row) { r.Args = nil },
		`"stop" is there twice`:                      func(r *row) { r.Name = "stop" },
	} {
		r := whole
		change(&r)
		if err := checkCommands(append(commands(), r)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for i, r := range commands() {
		without := slices.Delete(commands(), i, i+1)
		if _, err := rowOf(without, command.Command{Name: r.Name}); err == nil {
			t.Errorf("a command without the row of %q is carried out", r.Name)
		}
	}
}

// The page about comments has each command.
func TestEveryCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/comments.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range commands() {
		shown := regexp.MustCompile("`(?:/agent )?" + r.Name + "[ `]")
		if r.Name != command.Task && !shown.Match(page) {
			t.Errorf("docs/comments.md lacks the command %q; add a row, such as | `/agent %s` | its result |", r.Name, r.Usage)
		}
	}
}

// TestHelpIsATable has GitHub's parser read the help: each row has the cells of its
// head, and no mark of code is left over.
func TestHelpIsATable(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cmark-gfm", "--extension", "table")
	if cmd.Err != nil {
		t.Skipf("SKIPPED: cmark-gfm is not installed: %v", cmd.Err)
	}
	book := custom.Book{{Name: "release", Description: "cut a|release `x`", Path: "a"}}
	text, others := specs(commands()).Help(func(s command.Spec) bool { return len(s.Name) < 5 }, func(mode string) bool { return mode != "code" })
	help := text + render.CustomCommands(book, nil) + "\n" + others
	cmd.Stdin = strings.NewReader(help)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?s)<tr>(.*?)</tr>`).FindAllStringSubmatch(string(out), -1)
	if want := strings.Count(help, "\n|") - 3; len(rows) != want || want < 20 { // but the line below each head
		t.Errorf("%d rows, want %d:\n%s", len(rows), want, out)
	}
	for _, row := range rows {
		cells := regexp.MustCompile(`(?s)<t[hd]>(.*?)</t[hd]>`).FindAllStringSubmatch(row[1], -1)
		if len(cells) != 2 || strings.TrimSpace(cells[0][1]) == "" || strings.TrimSpace(cells[1][1]) == "" || strings.Contains(row[1], "`") {
			t.Errorf("a row is not two cells:\n%s", row[1])
		}
	}
	for _, s := range specs(commands()) { // a bar in a usage or in words would make a cell of its own, which the parser drops
		if strings.Contains(strings.ReplaceAll(s.Usage+s.Help, `\|`, ""), "|") {
			t.Errorf("%s: a bar parts cells: %q, %q", s.Name, s.Usage, s.Help)
		}
	}
}
