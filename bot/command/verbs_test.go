package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// isCommand is the commands of the bot, as it has them.
var said = Table{
	{Name: Task, Usage: "fix it", Help: "your request", Args: TakesText},
	{Name: "approve", Usage: "approve <id>", Help: "yes", Args: TakesIDs, Grants: true},
	{Name: "deny", Usage: "deny <id> [reason]", Help: "no", Args: TakesIDsAndReason},
	{Name: "ok", Usage: "ok <commit>", Help: "fork", Args: TakesCommit, Grants: true},
	{Name: "stop", Usage: "stop", Help: "end", Args: TakesText},
	{Name: "status", Usage: "status", Help: "say", Args: TakesNothing},
	{Name: "resume", Usage: "resume", Help: "go on", Args: TakesWords},
	{Name: "retry", Usage: "retry", Help: "again", Args: TakesWords},
	{Name: "budget", Usage: "budget +10", Help: "turns", Args: TakesCount, Grants: true},
	{Name: AskHelp, Usage: "help", Help: "list", Args: TakesNothing},
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

// What people write, and how it is read. A line is a text behind the command word; "=" stands
// for a task of all its words.
const phrases = `
fix the failing test => =
stop => stop
Stop. => stop
STOP! => stop
stop please => stop
please stop => =
Please, stop => =
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
can you stop please => =
stop using tabs => stop
stop logging passwords => stop
stop swallowing errors in parse => stop
please stop using tabs => =
stop adding comments => stop
stop users from logging in twice => stop
stop the timer when the window is closed => stop
stop words are not filtered => stop
stop button is broken => stop
stop button does nothing => stop
stop the build => stop
stop the server => stop
stop working on the parser => stop
stop and revert => stop
stop if the lint fails => stop
stop before you push => stop
task: stop the build => task | stop the build
Task : stop => task | stop
status => status
status? => status
status please => ask
Status! => status
status update => ask
status of this => ask
status now => ask
status page shows 500 => ask
status code should be 404 => ask
status: show it in the footer => ask
status bar is too wide => ask
add a status page => =
retry => retry
retry now => ask
retry please => ask
retry! => retry
retry it => ask
retry the last step => ask
retry, and use the other port => retry
retry once more => ask
please retry => =
retry logic is wrong => ask
retry the upload on a timeout => ask
retry should back off => ask
retry failed requests three times => ask
retries are not counted => =
resume => resume
resume please => ask
resume where you left off => ask
resume the session => ask
resume, with the new token => resume
resume upload => ask
resume upload after a lost connection => ask
resume button is missing => ask
resume downloads => ask
help => help
help! => help
help me => ask
help please => ask
help me fix the test => ask
help with the build => ask
help text is outdated => ask
help page has a typo => ask
help command prints nothing => ask
budget +10 => budget +10
budget 10 => budget +10
budget +10 turns => ask
budget 10 more turns please => ask
budget by 5 => ask
budget => ask
budget many => ask
budget more => ask
budget 0 => ask
budget 5000 => ask
budget +10? no => ask
budget +10 if it is cheap => ask
budget calculation is off => ask
budget calculation => ask
budget page shows the wrong year => ask
budget is computed twice => ask
approve => approve
approve please => approve please
please approve => =
approve, thanks => approve thanks
approve it => approve it
approve abcd2345 => approve abcd2345
approve ABCD2345 => approve abcd2345
approve ` + "`abcd2345`" + ` => approve abcd2345
approve <abcd2345> => ask
approve #abcd2345. => approve abcd2345
approve abcd2345 please => ask
approve abcd2345 bcde3456 => approve abcd2345 bcde3456
approve abcd2345, bcde3456, cdef4567 => approve abcd2345 bcde3456 cdef4567
approve abcd2345,bcde3456 => approve abcd2345 bcde3456
approve abcd2345 abcd2345 => approve abcd2345
approve all => approve all
approve all please => ask
approve everything => approve everything
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
deny requests without a token => deny | requests without a token
resume.pdf is not generated => =
status.json is empty => =
retry-after is ignored => =
stop/start is broken => =
stop,thanks => stop
ask for confirmation before deleting files => task:ask | for confirmation before deleting files
ask users to confirm => task:ask | users to confirm
ask me anything => task:ask | me anything
ok? => ok
deny => deny
deny please => deny | please
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
deny $(id) => deny | $(id)
deny access to guests => deny | access to guests
deny all access to guests => deny all | access to guests
ok 1234567 => ok 1234567
ok 0123456789abcdef0123456789abcdef01234567 => ok 0123456789abcdef0123456789abcdef01234567
ok DEADBEE => ok deadbee
ok ` + "`deadbee1`" + ` thanks => ask
ok => ok
ok thanks => ask
ok 12345 => ask
ok 0123456789abcdef0123456789abcdef012345678 => ask
ok deadbee1 but only the docs => ask
ok, now fix the tests => ask
ok great, add a changelog => ask
ok button is misaligned => ask
review => task:review |
review this => task:review | this
review the parser, it is slow => task:review | the parser, it is slow
Review: the parser => task:review | the parser
review for race conditions => task:review | for race conditions
review comments are lost => task:review | comments are lost
review page shows 404 => task:review | page shows 404
review is missing in the menu => task:review | is missing in the menu
plan => task:plan |
plan a new cache => task:plan | a new cache
plan how the cache is filled => task:plan | how the cache is filled
plan names are cut => task:plan | names are cut
plan page is broken => task:plan | page is broken
please plan a new cache => =
ask why the build is red => task:ask | why the build is red
ask what does main do? => task:ask | what does main do?
ask: is this used? => task:ask | is this used?
ask is this used? => task:ask | is this used?
ask button does nothing => task:ask | button does nothing
debug => task:debug |
debug why it is red => task:debug | why it is red
debug the crash => task:debug | the crash
debug mode crashes on start => task:debug | mode crashes on start
debug logging is too noisy => task:debug | logging is too noisy
debug symbols are missing => task:debug | symbols are missing
security => task:security |
security of the login => task:security | of the login
security headers are missing => task:security | headers are missing
explore the code => task:explore | the code
architect a plugin system => task:architect | a plugin system
explore tab shows nothing => task:explore | tab shows nothing
code => task:code |
code fix it => task:code | fix it
Code: fix these two => task:code | fix these two
code, please mend both => task:code | please mend both
code clean up the parser => task:code | clean up the parser
code --turns 5 fix it => task:code 5 | fix it
code the parser => task:code | the parser
code coverage is too low => task:code | coverage is too low
code coverage for the parser => task:code | coverage for the parser
code style of this file => task:code | style of this file
code in main.go is never run => task:code | in main.go is never run
code blocks are cut => task:code | blocks are cut
code that nobody calls => task:code | that nobody calls
code is hard to read => task:code | is hard to read
code is it used? => task:code | is it used?
please code a parser => =
--turns 5 fix it => task 5 | fix it
fix --turns 5 the date => task 5 | fix the date
Fix —turns 5 --model m the date => task 5m | Fix the date
fix --loud in the help => =
fix: --turns 5 is refused => =
fix it --turns 5 => task 5 | fix it
--model=m fix it --turns=5 => task 5m | fix it
—mode ask why does it fail? => task:ask | why does it fail?
—Mode=ask why? => task:ask | why?
––turns 5 fix it —model m => task 5m | fix it
review —turns 5 the parser => task:review 5 | the parser
fix the — mode => =
—moed ask why? => ask
--tuns 5 fix it => ask
-mode ask why? => ask
—verbose is ignored => =
stop — it deletes files => stop
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
review --verbose is missing => task:review | --verbose is missing
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

// A near miss of a command is one as a whole; everything longer is none.
func TestNear(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"aprove": "approve", "Approved!": "approve", "approev": "approve", "aproves": "approve", "apporve abcd2345": "approve abcd2345", "dney": "deny", "denny `ABCD2345`": "deny abcd2345",
		"aprove all": "approve", "denny abcd2345 too risky": "deny abcd2345", "accept abcd2345": "abcd2345", "aprove all tests": "", "apporve abcd2345 for now": "approve abcd2345",
		"sto": "stop", "Stopp!": "stop", "sotp": "stop", "stauts?": "status", "revie": "review", "plna": "plan", "securty": "security",
		"approve": "", "stop": "", "review": "", "as": "", "revie it": "", "apporve this": "", "fix": "", "yes": "", "ok": "", "lgtm": "", "👍": "", "": "", "abcd2345": "", "aprove " + strings.Repeat("x", 99): "",
	} {
		name, ids := said.Near(text)
		if got := strings.TrimSpace(name + " " + strings.Join(ids, " ")); got != want {
			t.Errorf("%q is near %q, want %q", text, got, want)
		}
	}
}

// Words are an instruction by their form alone, in every language.
func TestInstructs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"use git clean instead": true, "leave it": true, "bitte nicht löschen": true, "不要 删除": true,
		"fix": true, "Fix!": true, "fix.": true, "fix?": false, "fixed": false,
		"yes": false, "LGTM!": false, "👍": false, "wait": false, "warum?": false, "is this safe?": false, "is this safe?!": false, "これは安全ですか？": false, "هل هذا آمن؟": false, "": false,
	} {
		if got := Instructs(text); got != want {
			t.Errorf("%q instructs: %t", text, got)
		}
	}
}

// A question is answered by a number or a label, a quotation, or in its thread.
func TestAnswered(t *testing.T) {
	t.Parallel()
	q := Question{Text: "Which **database** should the example use?\n\nBoth work.", Choices: []string{"SQLite", "PostgreSQL 15", "No database"}}
	for body, want := range map[string]string{
		"1": "SQLite", "2.": "PostgreSQL 15", "#3": "No database", "3)": "No database", "2: PostgreSQL 15": "PostgreSQL 15", "**1**": "SQLite",
		"sqlite": "SQLite", "SQLite!": "SQLite", "`SQLite`": "SQLite", "PostgreSQL 15": "PostgreSQL 15", "no database.": "No database",
		"> Which database should the example use?\n\nWhat the others use.":                                     "What the others use.",
		"> should the example use\n\n2":                                                                        "PostgreSQL 15",
		"> ### ❓ I have a question\n>\n> Which **database** should the example use?\n>\n> Both work.\n\nNone.": "None.",
		"None.\n\n> Which **database** should the example use?":                                                "None.",
		"4": "", "option 2": "", "1 please": "", "0": "", "12": "", "1 or 2": "", "2 hours later it still fails": "", "SQLite is what I use": "", "postgres": "", "I think so": "", "yes": "", "": "",
		"> Something else entirely\n\nYes": "", "> use?\n\nyes": "", "> Which database should the example use?": "", "> Which database should the example use?\n\n1\n\n<!-- handrail:k -->": "", "1 <!-- handrail:k -->": "",
	} {
		got, ok := q.Answer(body)
		if got != want || ok != (want != "") {
			t.Errorf("%q answers %q (%t), want %q", body, got, ok, want)
		}
		if ok && !MayAnswer(body) {
			t.Errorf("%q is passed over", body)
		}
	}
	q.Thread = true
	if got, ok := q.Answer("What the others use."); !ok || got != "What the others use." {
		t.Errorf("in the thread: %q, %t", got, ok)
	}
	if got, ok := (Question{Text: "Which?", Choices: []string{"2", "1"}}).Answer("2"); ok && got != "2" {
		t.Errorf("two choices fit: %q", got)
	}
}
