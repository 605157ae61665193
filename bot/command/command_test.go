package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table has one command of each shape.
var table = Table{
	{Name: Task, Usage: "fix it", Help: "your request", Args: TakesText},
	{Name: "approve", Usage: "approve <id>", Help: "let it happen", Args: TakesIDs, Grants: true},
	{Name: "deny", Usage: "deny <id> [reason]", Help: "refuse it", Args: TakesIDsAndReason},
	{Name: "stop", Usage: "stop", Help: "end the work", Args: TakesText},
	{Name: "budget", Usage: "budget +10", Help: "grant more turns", Args: TakesCount, Grants: true},
	{Name: AskHelp, Usage: "help", Help: "show this list", Args: TakesNothing},
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []Command
	}{
		{"free text", "/agent fix the failing test", []Command{{Name: "task", Text: "fix the failing test"}}},
		{"after other words", "Hello\n\n/agent fix it\n", []Command{{Name: "task", Text: "fix it"}}},
		{"several lines", "/agent fix it:\n- a\n- b", []Command{{Name: "task", Text: "fix it:\n- a\n- b"}}},
		{"windows line ends", "/agent approve ab12\r\n\r\n> thanks\r\n", []Command{{Name: "approve", IDs: []string{"ab12"}}}},
		{"not the first word", "please /agent fix it", nil},
		{"longer word", "/agents fix it", nil},
		{"in a fence", "```\n/agent rm\n```", nil},
		{"in a longer fence", "````\n```\n/agent rm\n```\n````\n/agent stop", []Command{{Name: "stop"}}},
		{"tilde fence", "~~~ text\n/agent rm\n~~~", nil},
		{"unclosed fence", "```\n/agent rm", nil},
		{"indented code", "    /agent rm", nil},
		{"three spaces", "   /agent stop", []Command{{Name: "stop"}}},
		{"quoted", "> /agent stop", nil},
		{"in a comment", "<!--\n/agent stop\n-->", nil},
		{"inline code", "`/agent stop`", nil},
		{"deny with a reason", "/agent deny ab12 not in this\nrelease", []Command{{Name: "deny", IDs: []string{"ab12"}, Text: "not in this\nrelease"}}},
		{"id in backticks", "/agent approve `AB12`", []Command{{Name: "approve", IDs: []string{"ab12"}}}},
		{"two commands", "/agent approve a1\n/agent deny b2 no", []Command{{Name: "approve", IDs: []string{"a1"}}, {Name: "deny", IDs: []string{"b2"}, Text: "no", Place: 1}}},
		{"mode as command", "/agent plan a new cache", []Command{{Name: "task", Mode: "plan", Text: "a new cache"}}},
		{"flags", "/agent --model qwen3:8b --turns=5 fix it --mode debug", []Command{{Name: "task", Text: "fix it", Mode: "debug", Model: "qwen3:8b", Turns: 5}}},
		{"flags only on the first line", "/agent fix\n--mode x", []Command{{Name: "task", Text: "fix\n--mode x"}}},
		{"budget", "/agent budget +10", []Command{{Name: "budget", Count: 10}}},
		{"bare", "/agent", []Command{{Name: "help"}}},
		{"capital command", "/agent Stop", []Command{{Name: "stop"}}},
		{"spacing in free text is kept", "/agent write  two  spaces", []Command{{Name: "task", Text: "write  two  spaces"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := table.Parse(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.body, d)
			}
		})
	}
}

func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ body, say string }{
		{"/agent approve $(id)", "`/agent approve <id>`, without other words"},
		{"/agent help me fix it", "`/agent task: help me fix it`"},
		{"/agent approve 3fa9c1 but nothing else", "`/agent approve 3fa9c1` alone, or `/agent deny 3fa9c1` and your words"},
		{"/agent fix --trun 20 the date", "Did you mean `--turns`?"},
		{"/agent review --tuns 5", "Did you mean `--turns`?"},
		{"/agent —moed ask why?", "Did you mean `--mode`?"},
		{"/agent budget many", "`/agent budget +10`, without other words"},
		{"/agent budget 2000", "write a number"},
		{"/agent budget", "how many turns"},
		{"/agent fix --turns", "needs a value"},
		{"/agent fix --turns 0", "from 1 to 1000"},
		{"/agent plan x --mode code", "contradict"},
	} {
		_, err := table.Parse(tt.body)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Public, tt.say) || !strings.Contains(e.Public, "/agent help") {
			t.Errorf("Parse(%q) = %v, want a reply with %q", tt.body, err, tt.say)
		}
	}
}

// Every mode is a task by its name alone.
func TestModesAlone(t *testing.T) {
	for _, mode := range modes {
		for _, body := range []string{"/agent " + mode, "/agent " + mode + ".", "/agent --mode " + mode} {
			got, err := table.Parse(body)
			if err != nil || len(got) != 1 || got[0].Name != Task || got[0].Mode != mode || got[0].Text != "" {
				t.Errorf("%s is %+v, %v", body, got, err)
			}
		}
		if OwnTask(mode) == "" {
			t.Errorf("%s has no task of its own", mode)
		}
	}
}

func TestHelpNamesEveryCommand(t *testing.T) {
	text, others := table.Help(func(s Spec) bool { return s.Name == table[3].Name || s.Name == Task }, func(string) bool { return true })
	if !strings.Contains(text, prefix+" "+table[3].Usage) || strings.Contains(others, prefix+" "+table[3].Usage+"`") {
		t.Errorf("%s is not among the commands of use now", table[3].Usage)
	}
	help := text + others
	for _, s := range table {
		if !strings.Contains(help, prefix+" "+s.Usage) || !strings.Contains(help, s.Help) {
			t.Errorf("help does not show %s", s.Usage)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
	for want, wrong := range map[string]Table{
		`command 7 ("x") has no name`:                 append(slices.Clone(table), Spec{Usage: "x", Help: "x", Args: TakesText}),
		`"x y" is not one word`:                       append(slices.Clone(table), Spec{Name: "x y", Usage: "x", Help: "x", Args: TakesText}),
		`"x" has no usage`:                            append(slices.Clone(table), Spec{Name: "x", Help: "x", Args: TakesText}),
		`"x" has no help; add its line to usage.Help`: append(slices.Clone(table), Spec{Name: "x", Usage: "x", Args: TakesText}),
		`"x" does not say what it takes`:              append(slices.Clone(table), Spec{Name: "x", Usage: "x", Help: "x"}),
		`"stop" is there twice`:                       append(slices.Clone(table), table[3]),
		`"plan" is there twice`:                       append(slices.Clone(table), Spec{Name: "plan", Usage: "plan", Help: "plan", Args: TakesText}),
		`there is no "task"`:                          table[1:],
		`there is no "help"`:                          table[:len(table)-1],
	} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/agent fix\n```\n/agent x\n```")
	f.Add(strings.Repeat("/agent approve a\n", 10))
	f.Add(strings.Repeat("`", 65536))
	f.Fuzz(func(t *testing.T, body string) {
		cmds, err := table.Parse(body)
		if err != nil {
			return
		}
		for _, c := range cmds {
			if c.Name == "" {
				t.Errorf("a command without a name from %q", body)
			}
		}
		if len(cmds) > strings.Count(body, prefix) {
			t.Errorf("%d commands from %q", len(cmds), body)
		}
	})
}
