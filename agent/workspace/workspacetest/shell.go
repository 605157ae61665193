package workspacetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func shell(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{"sub/dir/a.txt": "a\n", "it's/b c.txt": "b\n"})
	ctx := t.Context()
	tests := []struct {
		name, line, cwd, want string
		exit                  int
	}{
		{"output", "echo hi; echo err >&2", "", "hi\nerr\n", 0},
		{"exit code", "(exit 7)", "", "", 7},
		{"exit code is kept for the next command", "echo $?", "", "7\n", 0},
		{"not found", "no-such-command-here 2>/dev/null", "", "", 127},
		{"variables persist", "FOO='a b'; export BAR=baz; f() { echo \"f $1\"; }", "", "", 0},
		{"variables are there", "echo \"$FOO $BAR\"; sh -c 'echo $BAR'; f x", "", "a b baz\nbaz\nf x\n", 0},
		{"several lines", "for i in 1 2; do\n  echo $i\ndone\ncat <<'X'\n$here \\ doc\nX", "", "1\n2\n$here \\ doc\n", 0},
		{"comment", "# nothing\necho done # really", "", "done\n", 0},
		{"no command where it was not sent", "cd /nonexistent 2>/dev/null || pwd", "sub", ws.Root() + "/sub\n", 0},
		{"cwd of one command", "pwd", "sub/dir", ws.Root() + "/sub/dir\n", 0},
		{"cwd persists", "pwd; ls", "", ws.Root() + "/sub/dir\na.txt\n", 0},
		{"cwd with quotes", "ls", "it's", "b c.txt\n", 0},
		{"absolute cwd", "pwd", ws.Root() + "/sub", ws.Root() + "/sub\n", 0},
		{"clamped cwd", "pwd", "../../..", ws.Root() + "\n", 0},
		{"clamped absolute cwd", "pwd", "/", ws.Root() + "\n", 0},
		{"leaving the root", "cd /tmp && pwd", "", "/tmp\n", 0},
		{"back in the root", "pwd", "", "[back in " + ws.Root() + "]\n" + ws.Root() + "\n", 0},
		{"stdin is empty", "cat; read x; echo \"[$x]\"", "", "[]\n", 0},
		{
			"no escapes", `printf '\033[31mred\033[0m \033]0;title\007x\n'; printf '10%%\r50%%\r100%%\nab\bc\n'`, "",
			"red x\n100%\nac\n", 0,
		},
		{"syntax error", "if then 2>/dev/null", "", "", -2},
		{"still there", "echo $BAR", "", "baz\n", 0},
		{"no descriptors to forge with", "for n in 3 4; do { echo x >&$n; } 2>/dev/null && echo open; done; true", "", "", 0},
		{"output like a marker", "printf 'AAAA 0\\n'", "", "AAAA 0\n", 0},
	}
	for _, tt := range tests {
		res, err := ws.Run(ctx, workspace.Command{Line: tt.line, Cwd: tt.cwd}, nil)
		switch {
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.exit == -2:
			if res.Exit == 0 {
				t.Errorf("%s: exit 0", tt.name)
			}
		case res.Exit != tt.exit || res.Output != tt.want || res.Restart || res.Duration <= 0:
			t.Errorf(
				"%s: exit %d, restart %t, output %q, want exit %d, %q",
				tt.name,
				res.Exit,
				res.Restart,
				res.Output,
				tt.exit,
				tt.want,
			)
		}
	}
	bash := run(t, ws, "echo ${BASH_VERSION:+bash}").Output == "bash\n"
	for line, want := range map[string]string{
		"cd sub/dir": "sub/dir,", "cd /tmp": ".,/tmp", "mkdir gone; cd gone; rmdir ../gone": ".," + ws.Root() + "/gone", "true": ".,",
		"ln -s dir sub/way; cd sub/way": "sub/dir,", "cd \"it's\"": "it's,", "exit 1": ",",
	} {
		if res, err := ws.Run(ctx, workspace.Command{Line: line, Cwd: "."}, nil); err != nil || res.Dir+","+res.Left != want {
			t.Errorf("after %q the shell is said to be in %q, left %q (%v); want %s", line, res.Dir, res.Left, err, want)
		}
	}
	for line, want := range map[string]string{
		"sh -c 'exit 3' | cat | sh -c 'exit 7'": "7 [3 0 7]", "false": "1 [1]", "! false": "0 [1]", "IFS=,; true | false": "1 [0 1]", "IFS=' '; true": "0 [0]",
		"false | cat <<'E'\nx\nE": "0 [1 0]", "cat <<'E'\nno end": "0 []", "echo a \\": "0 []", "(exit 5) # why": "5 [5]",
	} {
		res, err := ws.Run(ctx, workspace.Command{Line: line}, nil)
		if !bash {
			want = want[:2] + "[]"
		}
		if err != nil || fmt.Sprint(res.Exit, res.Pipeline) != want {
			t.Errorf("%q ended with %d %v (%v), want %s", line, res.Exit, res.Pipeline, err, want)
		}
	}
	if res := run(t, ws, "set -x; true; declare -F"); bash &&
		res.Output != "++ true\n++ declare -F\n" { // the bytes that were approved, and no others
		t.Errorf("a traced command shows %q", res.Output)
	}
	if res := run(t, ws, "true"); res.Output != "" {
		t.Errorf("the command after a traced one shows %q", res.Output)
	}
	overriddenWords(t, ws)
	deaths(t, ws)
	floods(t, ws)
	progress(t, ws)
}

// overriddenWords lets a command redefine words that the shell's loop uses. The next command
// must run in its directory, end with its own status, and find all other settings.
func overriddenWords(t *testing.T, ws *workspace.Workspace) {
	away := "{ builtin cd sub 2>/dev/null || cd dir; }"
	for _, line := range []string{
		"cd() " + away, "eval() { builtin cd sub; builtin eval \"$@\"; }", "printf() { builtin cd sub; builtin printf '%s 0 %s\\n' \"$2\" \"$4\"; }",
		"[() { builtin cd sub; builtin [ \"$@\"; }", "read() { builtin read \"$@\"; builtin cd sub; }", "return() " + away, "shopt() " + away,
		"cd() " + away + "; unset() { :; }; trap() { :; }; exit() { :; }", "cd() " + away + "; readonly -f cd",
		"trap 'builtin cd sub 2>/dev/null' DEBUG", "set -T; trap 'builtin cd sub 2>/dev/null' RETURN",
		"readonly PWD", "readonly __hr_c", "set -e", "set -u; POSIXLY_CORRECT=y",
	} {
		run(t, ws, "cd .; "+line)
		cmd := workspace.Command{Line: "pwd; sh -c 'exit 3'", Cwd: "."}
		res, err := ws.Run(t.Context(), cmd, nil)
		if strings.Contains(res.Output, ": readonly variable\n") && res.Restart { // the command did not run
			res, err = ws.Run(t.Context(), cmd, nil)
		}
		if err != nil || !strings.HasSuffix(res.Output, ws.Root()+"\n") || strings.Contains(res.Output, "/sub") ||
			res.Exit != 3 {
			t.Errorf("after %s: exit %d in %q, %v", line, res.Exit, res.Output, err)
		}
		run(t, ws, "kill -9 $$") // start over with a new shell
	}
	run(t, ws, "shopt -s expand_aliases 2>/dev/null; alias hi='echo hello'; f() { echo mine; }; set -f")
	if res := run(t, ws, "alias hi >/dev/null && hi; f; echo *; set +f; echo \"${POSIXLY_CORRECT-none}\"; shopt -q inherit_errexit 2>/dev/null; echo $?"); res.Output != "hello\nmine\n*\nnone\n1\n" &&
		res.Output != "hello\nmine\n*\nnone\n127\n" {
		t.Errorf("what was set before is not there: %q", res.Output)
	}
	run(t, ws, "unalias hi; unset -f f")
}

// deaths ends the shell in several ways. Each is reported, and the next command has
// a new shell.
func deaths(t *testing.T, ws *workspace.Workspace) {
	for _, tt := range []struct {
		line, want string
		exit       int
	}{
		{"echo a; exit 3", "a\n", 3},
		{"exec sh -c 'echo b; exit 4'", "b\n", 4},
		{"kill -9 $$", "", 137},
		{"set -e; false", "", 1},
	} {
		res := run(t, ws, tt.line)
		if res.Exit != tt.exit || !res.Restart || res.Output != tt.want {
			t.Errorf(
				"%s: exit %d, restart %t, %q; want exit %d, a restart, %q",
				tt.line,
				res.Exit,
				res.Restart,
				res.Output,
				tt.exit,
				tt.want,
			)
		}
		if res := run(t, ws, "echo \"[$BAR]\"; pwd"); res.Restart || res.Output != "[]\n"+ws.Root()+"\n" {
			t.Errorf("after %s: restart %t, output %q", tt.line, res.Restart, res.Output)
		}
	}
}

func floods(t *testing.T, ws *workspace.Workspace) {
	res := run(t, ws, "echo first; head -c 300000000 /dev/zero | tr '\\0' 'y'; echo; echo last")
	if res.Exit != 0 || len(res.Output) > workspace.MaxOutput+200 || res.Cut < 290_000_000 {
		t.Errorf("flood: exit %d, %d bytes kept, %d cut", res.Exit, len(res.Output), res.Cut)
	}
	if !strings.HasPrefix(res.Output, "first\ny") || !strings.HasSuffix(res.Output, "y\nlast\n") {
		t.Errorf("flood: beginning or end is missing")
	}
	began := time.Now()
	res = run(t, ws, "yes background & echo started; sleep 1000 & true")
	if !strings.Contains(res.Output, "started") || time.Since(began) > time.Minute {
		t.Errorf("a background process held the command for %s: %.100q", time.Since(began), res.Output)
	}
	if res = run(t, ws, "kill %1 %2 2>/dev/null; pkill yes 2>/dev/null; kill $(jobs -p); wait; echo over"); !strings.Contains(res.Output, "over") {
		t.Errorf("after a background flood: %.100q", res.Output)
	}
}

func progress(t *testing.T, ws *workspace.Workspace) {
	var got strings.Builder
	chunks := 0
	// Each line is written after the previous one was seen, even on a busy machine.
	line := "for i in 1 2 3; do echo $i; until [ -e seen$i ]; do sleep 0.01; done; done; rm seen?; printf end"
	res, err := ws.Run(t.Context(), workspace.Command{Line: line}, func(s string) {
		got.WriteString(s)
		chunks++
		if n := strings.TrimSpace(s); n != "end" {
			go func() { _ = ws.Write(t.Context(), "seen"+n, nil) }() // without it the command reaches its time limit
		}
	})
	if err != nil || got.String() != res.Output || res.Output != "1\n2\n3\nend" || chunks < 3 {
		t.Errorf("progress %q in %d chunks, output %q, %v", got.String(), chunks, res.Output, err)
	}
}

// kill checks that commands are ended if they do not end by themselves.
func kill(t *testing.T, s Subject) {
	for i, tt := range []struct{ name, line string }{
		{"child", "NAP; echo not reached"},
		{"children in pipes", "(NAP | NAP) & NAP"},
		{"shell loop", "while :; do :; done"},
		{"ignores signals", "trap '' TERM INT HUP; sh -c 'trap \"\" TERM INT HUP; NAP'"},
		{"in the shell's place", "exec NAP"},
		{"own session", "setsid NAP & setsid -f sh -c 'setsid NAP' ; NAP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ws, nap := Open(t, s, Tree{"a.txt": "a\n"}), napOf(i)
			began := time.Now()
			line := "echo begun; " + strings.ReplaceAll(tt.line, "NAP", nap)
			res, err := ws.Run(t.Context(), workspace.Command{Line: line, Timeout: 3 * time.Second}, nil)
			if err != nil || !res.TimedOut || res.Exit != -1 || !res.Restart || res.Output != "begun\n" {
				t.Errorf("%+v, %v; want a timeout", res, err)
			}
			if d := time.Since(began); d > time.Minute {
				t.Errorf("it took %s", d)
			}
			alive(t, ws, nap)
		})
	}
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		ws, nap := Open(t, s, Tree{"a.txt": "a\n"}), napOf(6)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := ws.Run(ctx, workspace.Command{Line: "echo x; " + nap}, func(string) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		alive(t, ws, nap)
	})
}

// napOf returns a command that sleeps for a time of its own: other engines may be tested on this machine
// at the same time, and one without a wall sees their processes.
func napOf(i int) string { return fmt.Sprintf("sleep %d", 90_000_000+10*os.Getpid()+i) }

// alive fails the test if commands with a text are still running.
func alive(t *testing.T, ws *workspace.Workspace, text string) {
	t.Helper()
	n := run(
		t,
		ws,
		`n=0; for f in /proc/[0-9]*/cmdline; do case "$(tr '\0' ' ' 2>/dev/null <"$f")" in *"`+text+`"*) n=$((n+1));; esac; done; echo $n`,
	).Output
	if n != "0\n" {
		t.Errorf("%q processes are left", n)
	}
}

func programs(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{"sub/a.txt": "a\n"})
	p, err := ws.Start(
		t.Context(),
		workspace.Program{
			Argv: []string{"sh", "-c", `echo "$V $PWD"; while read -r x; do echo "got $x"; done; exit 5`},
			Cwd:  "sub",
			Env:  map[string]string{"V": "v"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		buf := make([]byte, len(want))
		n := 0
		for n < len(want) {
			k, err := p.Read(buf[n:])
			if n += k; err != nil {
				t.Fatalf("read from program: %v after %q", err, buf[:n])
			}
		}
		if string(buf) != want {
			t.Fatalf("program wrote %q, want %q", buf, want)
		}
	}
	expect("v " + ws.Root() + "/sub\n")
	for i := range 3 {
		if _, err := fmt.Fprintf(p, "%d\n", i); err != nil {
			t.Fatal(err)
		}
		expect(fmt.Sprintf("got %d\n", i))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("x\n")); err == nil {
		t.Error("write to a closed program: no error")
	}
	short, err := ws.Start(t.Context(), workspace.Program{Argv: []string{"sh", "-c", "exit 5"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "5") {
		t.Errorf("read from a program that failed: %v, want its exit code", err)
	}
	if _, err := ws.Start(t.Context(), workspace.Program{Argv: []string{"no-such-program"}}); err == nil {
		t.Error("start a missing program: no error")
	}
	if s.Wall {
		orphans(t, ws)
	}
}

// orphans: a process whose parent has ended is collected when it ends, although no command does.
func orphans(t *testing.T, ws *workspace.Workspace) {
	t.Helper()
	p, err := ws.Start(t.Context(), workspace.Program{Argv: []string{"sh", "-c", `(sleep 0.1 &); sleep 0.3
		for i in $(seq 100); do
			n=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '(sleep) Z ')
			test "$n" = 0 && break
			sleep 0.1
		done
		echo "$n are left"; exec sleep 1000`}})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p).ReadString('\n'); err != nil || line != "0 are left\n" {
		t.Errorf("of orphans that have ended %q, %v", line, err)
	}
}
