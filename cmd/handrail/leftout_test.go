package main

import (
	"os"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// leftOutScript makes what no commit can hold, one kind beside the other, after
// a file that can be kept was kept once.
const leftOutFirst = `mkdir odd && echo one > odd/kept && echo one > odd/locked && echo ran >> count`

const leftOutScript = `echo two > odd/kept; echo two > odd/locked; chmod 000 odd/locked
mkfifo odd/pipe
perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); bind(S,pack_sockaddr_un("odd/sock")) or die'
mknod odd/null c 1 3 2>/dev/null
truncate -s 1T odd/sparse
truncate -s 101M odd/large
mkdir odd/.GIT && echo x > odd/.GIT/config && echo x > .gitmodules
mkdir odd/shut && echo x > odd/shut/in && chmod 000 odd/shut
chmod 000 src
mkdir odd/noenter && echo x > odd/noenter/in && chmod 444 odd/noenter
(cd odd; i=0; while [ $i -lt 30 ]; do d=$(printf '%0200d' $i); mkdir $d && cd $d || break; i=$((i+1)); done; echo deep > file)
head -c 300000000 /dev/zero > /dev/shm/full 2>/dev/null
echo odd > "$(printf 'odd/line\nbreak')"; ln -s /nowhere/at/all odd/dangling
echo ran >> count`

// A command that leaves behind what cannot be saved runs once and ends well. What
// can be saved is; the rest is named to the model with the result, and to people.
func TestWhatCannotBeSaved(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	skipUnderRace(t)
	for _, engine := range []string{"local", "bwrap", "docker"} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			s := newStoryIn(t, engine, map[string]string{"greet.sh": "echo Helo\n", "src/a.txt": "a\n", "src/deep/b.txt": "b\n"},
				"- calls: [{name: run_terminal_command, arguments: {command: "+quoted(t, leftOutFirst)+"}}]\n"+
					"- calls: [{name: run_terminal_command, arguments: {command: "+quoted(t, leftOutScript)+"}}]\n"+
					"- {say: \"All is there. [TASK_COMPLETE]\", repeat: true}\n")
			s.say("you", "/agent make the files")
			body := s.approve("**done**", "Pull request: #")
			branch := s.pull().Pull.HeadRef
			root := engine == "local" && os.Getuid() == 0 // reads whatever the mode
			for path, want := range map[string]string{"odd/kept": "two\n", "src/a.txt": "a\n", "src/deep/b.txt": "b\n", "count": "ran\nran\n", "odd/line\nbreak": "odd\n"} {
				if got := s.file(branch, path); got != want {
					t.Errorf("%q on the branch = %q, want %q", path, got, want)
				}
			}
			if got := s.file(branch, "odd/locked"); got != "one\n" && !root {
				t.Errorf("a file that became unreadable is %q on the branch, and not as it was saved last", got)
			}
			kinds := map[string]string{
				"odd/pipe": "a named pipe", "odd/sock": "a socket", "odd/sparse": "1048576 MiB", "odd/large": "101 MiB",
				"odd/.GIT/config": "git keeps for itself", ".gitmodules": "git keeps for itself",
			}
			if !root {
				kinds["odd/locked"], kinds["odd/shut"], kinds["src"] = "cannot be read", "cannot be read", "cannot be read"
				kinds["odd/noenter"] = "cannot be read"
			} else {
				kinds["odd/null"] = "a device"
			}
			told := string(s.model.Requests()[2].Body)
			for path, why := range kinds {
				if !strings.Contains(told, path+": ") || !strings.Contains(told, why) {
					t.Errorf("the model was not told of %s (%s)", path, why)
				}
			}
			if !strings.Contains(body, "**Not kept**") || !strings.Contains(body, "`odd/large`: it has 101 MiB") {
				t.Errorf("the progress comment does not name what is left out:\n%s", body)
			}
			if t.Failed() {
				t.Logf("the model was told:\n%s", told[strings.Index(told, "in the workspace and is not kept"):])
			}
		})
	}
}

// awkward is a workspace that changes while it is saved, and that has more in it
// than anybody wants to keep.
var awkward = map[string]string{
	"a root that is shut":         `echo ran >> count; chmod 000 .; sleep 0.2`,
	"ignore files of no kind":     `mkfifo .gitignore; mkfifo .agentignore; mkdir sub && mkdir sub/.gitignore && echo x > sub/a; echo ran >> count`,
	"an ignore file that is shut": `echo '*.o' > .gitignore; chmod 000 .gitignore; echo ran >> count`,
	"names of any bytes":          `echo x > "$(printf 'caf\351')"; echo x > "$(printf 'a\033[2Jb')"; echo x > '-rf'; echo x > 'a\b'; echo x > '"'; mkfifo "$(printf 'p\377\n- x')"; echo ran >> count`,
	"files that never rest":       `(while :; do head -c 3000000 /dev/urandom > busy; done) & (while :; do echo x > flip; rm -f flip; mkdir flip; rmdir flip; mkfifo flip; rm -f flip; done) & echo ran >> count; sleep 0.3`,
	"more than is kept in all":    `for i in 1 2 3 4 5 6 7; do truncate -s 99M big$i; done; echo ran >> count`,
	"many files":                  `mkdir many && cd many && seq 1 3000 | xargs touch; cd ..; echo ran >> count`,
	"a tree that moves":           `mkdir -p t/a/b && echo x > t/a/b/c; (while :; do mv t u; mv u t; done) & echo ran >> count; sleep 0.2`,
	"links in a circle":           `ln -s b a; ln -s a b; ln -s . self; ln -s /proc/self/fd/0 fd; ln -s "$(printf '%04000d' 1)" far; echo ran >> count`,
}

// Whatever a command leaves, the session goes on and its harmless part is saved.
func TestAwkwardWorkspaces(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	skipUnderRace(t)
	for _, engine := range []string{"local", "bwrap", "docker"}[:form(1, 3)] {
		for name, script := range awkward {
			if slow := name == "many files" || strings.HasPrefix(name, "more than"); slow && !longtest.Long() {
				continue
			}
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				needEngine(t, engine)
				s := newStoryIn(t, engine, greeting,
					"- calls: [{name: run_terminal_command, arguments: {command: "+quoted(t, script)+"}}]\n"+
						"- calls: [{name: write_file, arguments: {path: after.txt, content: \"after\\n\"}}]\n"+
						"- {say: \"All is there. [TASK_COMPLETE]\", repeat: true}\n")
				s.say("you", "/agent make the files")
				s.approve("All is there.")
				if name == "a root that is shut" && (engine != "local" || os.Getuid() != 0) {
					s.until("a directory that cannot be read")
					return // nothing can be saved any more
				}
				s.until("Pull request: #")
				for path, want := range map[string]string{"count": "ran\n", "after.txt": "after\n"} {
					if got := s.file(s.pull().Pull.HeadRef, path); got != want {
						t.Errorf("%s on the branch = %q", path, got)
					}
				}
			})
		}
	}
}

// A text that ends in a line of three backticks, as most READMEs do, reaches the
// branch as it was written, by every tool that writes.
func TestTextThatEndsInAFence(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const readme = "# Título\n\n```sh\nmake\n```"
	s := newStory(t, greeting, `
- calls:
  - {name: write_file, arguments: {path: A.md, content: `+quoted(t, readme)+`}}
  - {name: write_file, arguments: {path: B.md, content: `+quoted(t, readme+"\n")+`}}
  - {name: write_file, arguments: {path: C.md, content: "`+"```"+`\n"}}
  - {name: edit_file, arguments: {path: greet.sh, old_string: "echo Helo\n", new_string: `+quoted(t, "echo é\n```\n")+`}}
- {say: "All is written. [TASK_COMPLETE]"}
`)
	s.say("you", "/agent write the readme")
	s.done()
	for path, want := range map[string]string{"A.md": readme, "B.md": readme + "\n", "C.md": "```\n", "greet.sh": "echo é\n```\n"} {
		if got := s.file(s.pull().Pull.HeadRef, path); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}
