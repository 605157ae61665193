package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// said is the commands of the bot, as it has them.
var said = Table{
	{Name: Task, Usage: "fix it", Help: "what you want", Args: TakesText},
	{Name: "approve", Usage: "approve <id>", Help: "yes", Args: TakesIDs, Grants: true},
	{Name: "deny", Usage: "deny <id> [reason]", Help: "no", Args: TakesIDsAndReason},
	{Name: "ok", Usage: "ok <commit>", Help: "fork", Args: TakesCommit, Grants: true},
	{Name: "stop", Usage: "stop", Help: "end", Args: TakesStop},
	{Name: "status", Usage: "status", Help: "say", Args: TakesNothing("update report check session work run so far on")},
	{Name: "resume", Usage: "resume", Help: "go on", Args: TakesWords("it that session work working task job run last step failed where left off from there everything once more one time")},
	{Name: "retry", Usage: "retry", Help: "again", Args: TakesWords("it that session work working task job run last step failed where left off from there everything once more one time")},
	{Name: "budget", Usage: "budget +10", Help: "turns", Args: TakesCount, Grants: true},
	{Name: AskHelp, Usage: "help", Help: "list", Args: TakesNothing("me us commands list usage")},
}

// read says in short what is read in a text: the commands with their
// arguments, "ask" for a reply that asks back, "-" for nothing.
func read(body string, names ...string) string {
	cmds, err := said.Parse(body, names...)
	var ask *Error
	if errors.As(err, &ask) {
		return "ask"
	}
	var out []string
	for _, c := range cmds {
		s := c.Name
		if c.Mode != "" {
			s += ":" + c.Mode
		}
		for _, id := range c.IDs {
			s += " " + id
		}
		if c.All {
			s += " all"
		}
		if c.Count > 0 {
			s += fmt.Sprint(" +", c.Count)
		}
		if c.Turns > 0 || c.Model != "" {
			s += fmt.Sprintf(" %d%s", c.Turns, c.Model)
		}
		if c.Name == Task || c.Name == "deny" && c.Text != "" {
			s += " | " + c.Text
		}
		out = append(out, strings.TrimSpace(s))
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, "; ")
}

// What people write, and what they mean by it. A line is a text behind the
// command word, or a whole text when it holds one; "=" stands for a task of all
// its words.
const phrases = `
fix the failing test => =
stop => stop
Stop. => stop
STOP! => stop
stop please => stop
please stop => stop
Please, stop => stop
stop, thanks => stop
stop now => stop
stop it => stop
stop this => stop
stop that now => stop
stop everything => stop
stop the work => stop
stop the session please => stop
stop working => stop
stop what you are doing => stop
stop what you're doing => stop
stop for now => stop
stop right there => stop
stop, this is wrong => stop
stop - this is wrong => stop
stop. You delete the wrong files. => stop
stop because it is Friday => stop
stop until I am back => stop
stop immediately! => stop
stop 🙏 => stop
can you stop please => stop
stop using tabs => =
stop logging passwords => =
stop swallowing errors in parse => =
please stop using tabs => =
stop adding comments => =
stop users from logging in twice => =
stop the timer when the window is closed => =
stop words are not filtered => =
stop button is broken => =
stop button does nothing => =
stop the build => ask
stop the server => ask
stop working on the parser => ask
stop and revert => ask
stop if the lint fails => ask
stop before you push => ask
task: stop the build => task | stop the build
Task : stop => task | stop
status => status
status? => status
status please => status
Status! => status
status update => status
status of this => status
status now => status
status page shows 500 => =
status code should be 404 => =
status: show it in the footer => =
status bar is too wide => =
add a status page => =
retry => retry
retry now => retry
retry please => retry
retry! => retry
retry it => retry
retry the last step => retry
retry, and use the other port => retry
retry once more => retry
please retry => retry
retry logic is wrong => =
retry the upload on a timeout => =
retry should back off => =
retry failed requests three times => =
retries are not counted => =
resume => resume
resume please => resume
resume where you left off => resume
resume the session => resume
resume, with the new token => resume
resume upload => =
resume upload after a lost connection => =
resume button is missing => =
resume downloads => =
help => help
help! => help
help me => help
help please => help
help me fix the test => =
help with the build => =
help text is outdated => =
help page has a typo => =
help command prints nothing => =
budget +10 => budget +10
budget 10 => budget +10
budget +10 turns => budget +10
budget 10 more turns please => budget +10
budget by 5 => budget +5
budget => ask
budget many => ask
budget more => ask
budget 0 => ask
budget 5000 => ask
budget +10? no => ask
budget +10 if it is cheap => ask
budget calculation is off => =
budget calculation => =
budget page shows the wrong year => =
budget is computed twice => =
approve => approve
approve please => approve
please approve => approve
approve, thanks => approve
approve it => approve
approve abcd2345 => approve abcd2345
approve ABCD2345 => approve abcd2345
approve ` + "`abcd2345`" + ` => approve abcd2345
approve <abcd2345> => approve abcd2345
approve #abcd2345. => approve abcd2345
approve abcd2345 please => approve abcd2345
approve abcd2345 bcde3456 => approve abcd2345 bcde3456
approve abcd2345, bcde3456, cdef4567 => approve abcd2345 bcde3456 cdef4567
approve abcd2345,bcde3456 => approve abcd2345 bcde3456
approve abcd2345 abcd2345 => approve abcd2345
approve all => approve all
approve all please => approve all
approve everything => approve all
approve: abcd2345 => approve abcd2345
approve abcd2345 - NO => ask
approve abcd2345 not => ask
approve abcd2345 tomorrow => ask
approve abcd2345 but wait => ask
approve abcd2345 and bcde3456 => ask
approve abcd2345 when green => ask
approve abcd2345? => ask
approve all but abcd2345 => ask
approve all except the last => ask
approve the design of the cache => ask
approve $(id) => ask
approve nothing of this => ask
approve not abcd2345 => ask
approve neither abcd2345 nor bcde3456 => ask
approve rejected abcd2345 => ask
approve never abcd2345 => ask
approve request abcd2345 => ask
deny requests without a token => ask
resume.pdf is not generated => =
status.json is empty => =
retry-after is ignored => =
stop/start is broken => =
stop,thanks => stop
ask for confirmation before deleting files => =
ask users to confirm => =
ask me anything => task:ask | me anything
ok? => ok
deny => deny
deny please => deny
deny abcd2345 => deny abcd2345
deny abcd2345 not on a Friday => deny abcd2345 | not on a Friday
deny abcd2345: not on a Friday => deny abcd2345 | not on a Friday
deny abcd2345 bcde3456 too risky => deny abcd2345 bcde3456 | too risky
deny abcd2345, bcde3456 - too risky => deny abcd2345 bcde3456 | too risky
deny all => deny all
deny all, too risky => deny all | too risky
deny, too risky => deny | too risky
deny because it deletes too much => deny | because it deletes too much
deny this => deny | this
deny $(id) => ask
deny access to guests => ask
deny all access to guests => ask
ok 1234567 => ok 1234567
ok 0123456789abcdef0123456789abcdef01234567 => ok 0123456789abcdef0123456789abcdef01234567
ok DEADBEE => ok deadbee
ok ` + "`deadbee1`" + ` thanks => ok deadbee1
ok => ok
ok thanks => ok
ok 12345 => ask
ok 0123456789abcdef0123456789abcdef012345678 => ask
ok deadbee1 but only the docs => ask
ok, now fix the tests => =
ok great, add a changelog => =
ok button is misaligned => =
review => task:review |
review this => task:review | this
review the parser, it is slow => task:review | the parser, it is slow
Review: the parser => task:review | the parser
review for race conditions => task:review | for race conditions
review comments are lost => =
review page shows 404 => =
review is missing in the menu => =
plan => task:plan |
plan a new cache => task:plan | a new cache
plan how the cache is filled => task:plan | how the cache is filled
plan names are cut => =
plan page is broken => =
please plan a new cache => task:plan | a new cache
ask why the build is red => task:ask | why the build is red
ask what does main do? => task:ask | what does main do?
ask: is this used? => task:ask | is this used?
ask is this used? => task:ask | is this used?
ask button does nothing => =
debug => task:debug |
debug why it is red => task:debug | why it is red
debug the crash => task:debug | the crash
debug mode crashes on start => =
debug logging is too noisy => =
debug symbols are missing => =
security => task:security |
security of the login => task:security | of the login
security headers are missing => =
explore the code => task:explore | the code
architect a plugin system => task:architect | a plugin system
explore tab shows nothing => =
code => task:code |
code fix it => task:code | fix it
Code: fix these two => task:code | fix these two
code, please mend both => task:code | please mend both
code clean up the parser => task:code | clean up the parser
code --turns 5 fix it => task:code 5 | fix it
code the parser => =
code coverage is too low => =
code coverage for the parser => =
code style of this file => =
code in main.go is never run => =
code blocks are cut => =
code that nobody calls => =
code is hard to read => =
code is it used? => =
please code a parser => =
--turns 5 fix it => task 5 | fix it
fix it --turns 5 => task 5 | fix it
--model=m fix it --turns=5 => task 5m | fix it
--verbose => =
add --verbose to the list => =
add a --model flag to the tool => =
document --turns and --mode here => ask
--dry-run is ignored => =
fix it --turns => ask
fix it --turns many => ask
plan x --mode code => ask
debug --model m fix it => task:debug 0m | fix it
plan --turns=5 the move => task:plan 5 | the move
plan --mode code the move => ask
review --verbose is missing => =
=> help
`

// TestPhrases: a word is a command only where what follows can be its argument.
func TestPhrases(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(phrases) {
		text, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=> ")
		if !ok {
			continue
		}
		if text = strings.TrimSpace(text); want == "=" {
			want = "task | " + text
		}
		n++
		for _, word := range []string{"/agent ", "/Agent ", "/agent: ", "/AGENT, ", "/agent\u00a0", "/agent\u3000", "@handrail ", "@Handrail[bot] ", "@handrail: "} {
			if got := read(word+text, "handrail[bot]"); got != want {
				t.Errorf("%q is read as %q, want %q", word+text, got, want)
			}
		}
	}
	if n < 150 {
		t.Errorf("there are %d phrases", n)
	}
}

// What GitHub does not take for a mention of the bot, or is not the first word of
// a line, addresses nobody.
func TestWhoIsCalled(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"/agent:stop": "stop", "/agent,stop": "stop", "@handrail:stop": "stop", "@handrail[bot]: stop": "stop", "@HANDRAIL stop": "stop",
		"/agent\u2003stop": "stop", "/agent\tstop": "stop", "/agent\u202fapprove\u00a0abcd2345": "approve abcd2345", "@handrail": "help", "/AGENT": "help",
		"Thanks.\n@handrail stop": "stop", "@handrail stop\n/agent status": "stop; status",
		"@handrails stop": "-", "@handrail-bot stop": "-", "@handrail/team stop": "-", "@handrail_x stop": "-", "x@handrail stop": "-", "@ handrail stop": "-",
		"@handrail's docs are good": "-", "@handrail.com stop": "-", "thanks @handrail stop": "-", "/agents stop": "-", "/agent/stop": "-", "/agent.md stop": "-", "//agent stop": "-",
		"handrail stop": "-", "`@handrail stop`": "-", "> @handrail stop": "-", "```\n@handrail stop\n```": "-", "    @handrail stop": "-", "<!--\n@handrail stop\n-->": "-",
		"- @handrail stop": "ask", "# @handrail stop": "ask", "**@handrail stop**": "ask", "| a |\n|---|\n@handrail stop": "ask", "\u00a0/agent stop": "ask",
		"@handrail[bot]stop": "-", "@handrail [bot] stop": "task | [bot] stop", "@kim stop": "-",
	} {
		if got := read(body, "handrail[bot]"); got != want {
			t.Errorf("%q is read as %q, want %q", body, got, want)
		}
	}
	if got := read("@handrail stop"); got != "-" {
		t.Errorf("without a name: %q", got)
	}
}

// A near miss of an answer is one as a whole; everything longer is none.
func TestNear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, bare, addressed string }{
		{"approve", "approve", "approve"}, {"aprove", "approve", "approve"}, {"Approved!", "approve", "approve"}, {"approev", "approve", "approve"}, {"apporve abcd2345", "approve abcd2345", "approve abcd2345"},
		{"approve abcd2345", "approve abcd2345", "approve abcd2345"}, {"dney", "deny", "deny"}, {"denny", "deny", "deny"}, {"deny", "deny", "deny"}, {"denied", "deny", "deny"}, {"sotp", "stop", "stop"}, {"stop", "stop", "stop"},
		{"ok", "approve", "approve"}, {"OK.", "approve", "approve"}, {"okay", "approve", "approve"}, {"yes", "approve", "approve"}, {"Yes!", "approve", "approve"}, {"y", "approve", "approve"}, {"yep", "approve", "approve"},
		{"lgtm", "approve", "approve"}, {"LGTM 🙏", "approve", "approve"}, {"accept", "approve", "approve"}, {"no", "deny", "deny"}, {"No.", "deny", "deny"}, {"nope", "deny", "deny"}, {"reject", "deny", "deny"},
		{"👍", "approve", "approve"}, {"+1", "approve", "approve"}, {":+1:", "approve", "approve"}, {"👎", "deny", "deny"}, {"-1", "deny", "deny"}, {"✅", "approve", "approve"}, {"❌", "deny", "deny"},
		{"yes please", "approve", "approve"}, {"no thanks", "deny", "deny"}, {"**ok**", "approve", "approve"}, {"`ok`", "approve", "approve"}, {"ok abcd2345", "approve abcd2345", "approve abcd2345"}, {"ja", "approve", "approve"},
		{"looks good to me", "", ""}, {"looks good", "", "approve"}, {"go ahead", "", "approve"}, {"do it", "", "approve"}, {"sure, go ahead", "", "approve"},
		{"yes but use tabs", "", ""}, {"no, use tabs", "", ""}, {"ok, then fix the tests", "", ""}, {"approve this change tomorrow", "", ""}, {"fix the test", "", ""}, {"refactor", "", ""}, {"test", "", ""},
		{"yes and no", "", ""}, {"thanks", "", ""}, {"", "", ""}, {"not sure", "", ""}, {"why?", "", ""}, {"I would not", "", ""}, {"https://e.org/ok", "", ""}, {strings.Repeat("ok ", 60), "", ""},
	} {
		for addressed, want := range map[bool]string{false: tt.bare, true: tt.addressed} {
			g, ok := said.Near(tt.text, addressed)
			got := strings.TrimSpace(g.Name + " " + strings.Join(g.IDs, " "))
			if got != want || ok != (want != "") {
				t.Errorf("%q (addressed %t) is near %q (%t), want %q", tt.text, addressed, got, ok, want)
			}
		}
	}
}

// A question is answered by a number or a label, a quotation, or in its thread.
func TestAnswered(t *testing.T) {
	t.Parallel()
	q := Question{Text: "Which **database** should the example use?\n\nBoth work.", Choices: []string{"SQLite", "PostgreSQL 15", "No database"}}
	for body, want := range map[string]string{
		"1": "SQLite", "2.": "PostgreSQL 15", "#3": "No database", "3)": "No database", "option 2": "PostgreSQL 15", "2: PostgreSQL 15": "PostgreSQL 15", "**1**": "SQLite", "1 please": "SQLite",
		"sqlite": "SQLite", "SQLite!": "SQLite", "`SQLite`": "SQLite", "PostgreSQL 15": "PostgreSQL 15", "no database.": "No database",
		"> Which database should the example use?\n\nWhat the others use.":                                  "What the others use.",
		"> should the example use\n\n2":                                                                     "PostgreSQL 15",
		"> ### ❓ The agent asks\n>\n> Which **database** should the example use?\n>\n> Both work.\n\nNone.": "None.",
		"None.\n\n> Which **database** should the example use?":                                             "None.",
		"4": "", "0": "", "12": "", "1 or 2": "", "2 hours later it still fails": "", "SQLite is what I use": "", "postgres": "", "I think so": "", "yes": "", "": "",
		"> Something else entirely\n\nYes": "", "> use?\n\nyes": "", "> Which database should the example use?": "", "> Which database should the example use?\n\n1\n\n<!-- handrail:k -->": "", "1 <!-- handrail:k -->": "",
	} {
		got, ok := q.Answered(body)
		if got != want || ok != (want != "") {
			t.Errorf("%q answers %q (%t), want %q", body, got, ok, want)
		}
		if ok && !MayAnswer(body, false) {
			t.Errorf("%q is passed over", body)
		}
	}
	q.Thread = true
	if got, ok := q.Answered("What the others use."); !ok || got != "What the others use." {
		t.Errorf("in the thread: %q, %t", got, ok)
	}
	if got, ok := (Question{Text: "Which?", Choices: []string{"2", "1"}}).Answered("2"); ok && got != "2" {
		t.Errorf("two choices fit: %q", got)
	}
}

// One word with one typing error in it may mean a command or a mode.
func TestTypo(t *testing.T) {
	t.Parallel()
	table := Table{{Name: "stop"}, {Name: Task}}
	for word, want := range map[string]string{
		"sto": "stop", "Stopp!": "stop", "revie": "review", "plna": "plan", "securty": "security", "review": "", "stop": "", "as": "", "revie it": "", "fix": "",
	} {
		if got := table.Typo(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
