package builtin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// What is cut out of a result is kept whole; it is paged, and searched.
func TestReadOutput(t *testing.T) {
	b := toolstest.Open(t, nil)
	_, res := b.Do("bash", `{"command":"seq 100"}`)
	if res.Handle != "" || res.Output != "" {
		t.Errorf("an output that was shown whole is kept as %s", res.Handle)
	}
	_, res = b.Do("bash", `{"command":"seq 1000; printf %3000s needle"}`)
	toolstest.Contains(t, res.Content, "[901 lines truncated]", `[All 1001 lines are kept: read_output {"id":"o1","lines":"16-215"} or {"id":"o1","search":"error"}]`)
	if res.Handle != "o1" || !strings.HasSuffix(res.Output, "\n1000\n"+strings.Repeat(" ", 2994)+"needle") {
		t.Errorf("%q has the end %q", res.Handle, res.Output[len(res.Output)-10:])
	}
	for args, want := range map[string]string{
		`"lines":"16-18"`:                         "16 | 16\n17 | 17\n18 | 18\n[Lines 16-18 of 1001]",
		`"offset":16,"limit":2`:                   "16 | 16\n17 | 17\n[Lines 16-17 of 1001]",
		`"n":1`:                                   "1001 | " + strings.Repeat(" ", 2000) + "… [1000 characters cut]\n[Lines 1001-1001 of 1001]",
		`"lines":"-2"`:                            "1000 | 1000\n1001 | " + strings.Repeat(" ", 2000) + "… [1000 characters cut]\n[Lines 1000-1001 of 1001]",
		`"lines":"990,991"`:                       "990 | 990\n991 | 991\n[Lines 990-991 of 1001]",
		`"lines":"5000"`:                          "[o1 has 1001 lines.]",
		`"search":"^50$"`:                         " 48 | 48\n 49 | 49\n>50 | 50\n 51 | 51\n 52 | 52\n[1 of 1001 lines match]",
		`"search":"^(50|52|60)$","-C":1`:          " 49 | 49\n>50 | 50\n 51 | 51\n>52 | 52\n 53 | 53\n--\n 59 | 59\n>60 | 60\n 61 | 61\n[3 of 1001 lines match]",
		`"search":"NEEDLE("`:                      `[Nothing in the 1001 lines of o1 matches NEEDLE\(]`,
		`"search":"needle","context":0`:           ">1001 | …" + strings.Repeat(" ", 500) + "needle\n[1 of 1001 lines match]",
		`"search":"1","lines":"1-10","context":0`: ">1 | 1\n--\n>10 | 10\n[2 of 1001 lines match]",
	} {
		if _, res := b.Do("read_output", `{"id":"o1",`+args+`}`); res.Content != want {
			t.Errorf("%s shows\n%s\nwant\n%s", args, res.Content, want)
		}
	}
	_, res = b.Do("read_output", `{"id":"o1","lines":"101"}`)
	toolstest.Contains(t, res.Content, "\n300 | 300\n", `[Lines 101-300 of 1001; go on with {"id":"o1","lines":"301-500"}]`)
	_, res = b.Do("read_output", `{"id":"o1","search":"\\d","context":0}`)
	toolstest.Contains(t, res.Content, `>100 | 100`+"\n"+`[1000 of 1001 lines match, 100 are shown; go on with "lines":"101-"]`)
	_, res = b.Do("bash", `{"command":"seq 101"}`)
	toolstest.Contains(t, res.Content, `{"id":"o2","lines":"16-16"}`)
	for args, want := range map[string]string{
		`{"id":"o7"}`: `there is no output "o7"`, `{}`: `missing argument "id"`, `{"id":"o1","lines":"a few"}`: "a range such as 1-50",
		`{"id":"o1","line":"9-3"}`: "a range such as 1-50", `{"id":"o1","serch":"x"}`: `did you mean "search"?`,
	} {
		b.Fails("read_output", args, want)
	}
}

// Handles go on where the session left off, and what is kept of a session is bounded.
func TestKeptIsBounded(t *testing.T) {
	const mib = 1 << 20
	cfg := tools.Config{Shell: ended(workspace.CommandResult{Output: strings.Repeat(strings.Repeat("x", 1023)+"\n", 8<<10)}), Output: none,
		Shelled: session.Shell{Dir: ".", Handles: 4, Kept: 20 * mib}}
	tool := offered(t, cfg, "run_terminal_command")
	for _, want := range []string{"o5", ""} {
		res, err := tool.Run(t.Context(), toolstest.Call("bash", `{"command":"make"}`), nil)
		if err != nil || res.Handle != want || len(res.Output) != 8*mib*len(want)/2 {
			t.Errorf("%d bytes are kept as %q (%v)", len(res.Output), res.Handle, err)
		}
		if said := strings.Contains(res.Content, "the session keeps at most 32 MiB"); said != (want == "") {
			t.Errorf("the model is told %s", res.Content[len(res.Content)-200:])
		}
	}
}

func none(context.Context, string) (string, bool, error) { return "", false, nil }
