package host

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/members"
)

// loop is the program of the shell. It reads commands from descriptor 3 and reports their
// status on descriptor 4; commands have neither. A command is a line "nonce lines status
// marked", a line with the start directory or nothing, and the lines of the command. If
// the start directory cannot be entered, the shell exits without running the command, and
// the next one gets a new shell. Without a start directory, a shell outside of the root
// returns to it. Marked commands report their own status on descriptor 5. The current
// directory is entered anew, since it may have been replaced; `cd -` keeps its target.
//
// Functions and traps of a command persist, and must not interfere with the loop: a
// function named cd would redirect it, one named printf forge a status. So the loop first
// restores the words that it uses. In posix mode no function shadows trap, unset and
// exit, which do that. Settings that the mode changes are restored.
const loop = `%s
while IFS=' ' read -r __hr_n __hr_k __hr_s __hr_w <&3; do
IFS= read -r __hr_d <&3; __hr_c=
while [ "$__hr_k" -gt 0 ]; do IFS= read -r __hr_l <&3; __hr_c="$__hr_c$__hr_l
"; __hr_k=$((__hr_k-1)); done
if [ -n "$__hr_d" ]; then
__hr_o=${OLDPWD-}; [ "$PWD" = "$__hr_d" ] || __hr_o=$PWD
CDPATH= cd -- "$__hr_d" || exit 1; OLDPWD=$__hr_o; else
case "$PWD/" in "$__hr_root/"*) [ -d "$PWD" ] || cd -- "$__hr_root";; *) cd -- "$__hr_root"; echo "[back in $__hr_root]";; esac; fi
[ "$__hr_s" = 0 ] || __hr_c="__hr_st $__hr_s
$__hr_c"
if [ "$__hr_w" = 0 ]; then eval "$__hr_c" 3<&- 4>&- 5>&-
else eval "$__hr_c" 3<&- 4>&-; fi
__hr_s=$?
%s
printf '%%s %%s %%s\n' "$__hr_n" "$__hr_s" "$PWD" >&4
done
`

// own defines the functions of the loop. again removes functions that shadow its words.
// restoreWordsBash does so for bash, which runs traps in between, lets functions shadow any word
// outside of posix mode, and loses two options in that mode.
const (
	words            = "unset -f read cd printf echo shopt eval return '[' __hr_st __hr_m || exit \"$__hr_s\"\n" + loopFuncs
	loopFuncs        = "__hr_st() { return \"$1\"; }\n" + members.Teller + "\n"
	restoreWords     = "{ " + words + "} 2>/dev/null"
	restoreWordsBash = `{ __hr_b=:${BASHOPTS-}: __hr_p=${POSIXLY_CORRECT-} POSIXLY_CORRECT=y
trap - DEBUG RETURN ERR
` + words + `if [ -n "$__hr_p" ]; then POSIXLY_CORRECT=$__hr_p; else unset POSIXLY_CORRECT
case $__hr_b in *:expand_aliases:*) shopt -s expand_aliases;; esac
case $__hr_b in *:inherit_errexit:*) ;; *) shopt -u inherit_errexit;; esac; fi; } 2>/dev/null`
)

// shell is the one persistent shell. Commands queue for it.
type shell struct {
	h           *host
	turn        chan struct{} // full while a command runs
	live        *liveShell
	last        int // exit code of the last command, for $?
	markedCount int // number of commands marked so far
}

func newShell(h *host) *shell { return &shell{h: h, turn: make(chan struct{}, 1)} }

// findShell returns bash, or else sh, from the PATH of the workspace.
func (h *host) findShell() (string, []string, error) {
	for _, name := range []string{"bash", "sh"} {
		for dir := range strings.SplitSeq(h.pathVar(), ":") {
			bin := path.Join(dir, name)
			if info, err := os.Stat(bin); err != nil || !path.IsAbs(bin) || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			if name == "bash" {
				return bin, []string{"--noprofile", "--norc"}, nil
			}
			return bin, nil, nil
		}
	}
	return "", nil, fmt.Errorf("start shell: neither bash nor sh is on the workspace's PATH (%s)", h.pathVar())
}

// pathVar returns the PATH of commands.
func (h *host) pathVar() string {
	for _, kv := range slices.Backward(h.cfg.Env) {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// liveShell is a running shell process.
type liveShell struct {
	cmd      *exec.Cmd
	mark     string
	in       *os.File
	marks    chan string   // lines of descriptor 4; closed at its end of file
	statuses *exitStatuses // statuses from descriptor 5
	out      *pump
	died     chan struct{}
	ends     []*os.File
}

func (s *shell) start() (*liveShell, error) {
	bin, args, err := s.h.findShell()
	if err != nil {
		return nil, err
	}
	after := restoreWords
	if path.Base(bin) == "bash" {
		after = restoreWordsBash //control:loop-words
	}
	program := "__hr_root=" + quote(s.h.cfg.Root) + "\n" + fmt.Sprintf(loop, loopFuncs, after)
	var p pipes
	defer p.closeChild()
	inR, inW := p.pipe()
	markR, markW := p.pipe()
	outR, outW := p.pipe()
	tellR, tellW := p.pipe()
	if p.err != nil {
		return nil, errors.Join(fmt.Errorf("start shell: %w", p.err), p.closeAll())
	}
	mark := rand.Text()
	cmd := exec.Command(bin, append(args, "-c", program)...)
	cmd.Dir = s.h.cfg.Root
	cmd.Env = append(s.h.environment(mark), "PWD="+s.h.cfg.Root)
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.ExtraFiles = []*os.File{inR, markW, tellW}
	cmd.SysProcAttr = newSession()
	if err := s.h.procs.start(cmd, mark); err != nil {
		return nil, errors.Join(fmt.Errorf("start shell: %w", err), p.closeAll())
	}
	p.child = append(p.child, inR, markW, outW)
	l := &liveShell{cmd: cmd, mark: mark, in: inW, marks: make(chan string, 1), died: make(chan struct{}), statuses: newExitStatuses(tellR, tellW),
		out: newPump(outR), ends: []*os.File{inW, markR, outR, tellR, tellW}}
	go func() {
		defer close(l.marks)
		for sc := bufio.NewScanner(markR); sc.Scan(); {
			l.marks <- sc.Text()
		}
	}()
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		s.h.procs.forget(cmd.Process.Pid)
		close(l.died)
	}()
	return l, nil
}

func (l *liveShell) family() family {
	return family{leader: l.cmd.Process.Pid, mark: l.mark, orphans: true}
}

// end kills the shell and its family, and waits for its readers.
func (s *shell) end(l *liveShell) {
	s.h.procs.killAll(l.family())
	<-l.died
	s.h.procs.reap()
	l.out.stop()
	for _, f := range l.ends {
		f.Close()
	}
	for range l.marks { //nolint:revive // drained until its reader has ended
	}
	<-l.statuses.over
}

func (s *shell) close() {
	s.turn <- struct{}{}
	if s.live != nil {
		s.end(s.live)
		s.live = nil
	}
}

// run runs one command; progress goes out as notifications under id.
func (h *host) run(ctx context.Context, id jsonrpc2.ID, c workspace.Command) (workspace.CommandResult, error) {
	var none workspace.CommandResult
	if strings.ContainsRune(c.Line, 0) {
		return none, fmt.Errorf("run command: it contains a NUL byte: %w", fs.ErrInvalid)
	}
	dir, err := h.startDir(c.Cwd)
	if err != nil {
		return none, err
	}
	if err := h.base.wait(ctx); err != nil {
		return none, err
	}
	if c.Timeout <= 0 || c.Timeout > h.cfg.Limits.Command {
		c.Timeout = h.cfg.Limits.Command
	}
	select {
	case h.shell.turn <- struct{}{}:
		defer func() { <-h.shell.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if err := h.mayRun(ctx, c.Line); err != nil {
		return none, err
	}
	h.makeGit(ctx, c.Line)
	out := &sink{progress: func(text string) {
		// A failure means that the client is gone, which ends the command.
		_ = h.conn.Notify(ctx, workspace.MethodProgress, workspace.ProgressParams{ID: id.Num, Text: text})
	}}
	res, err := h.shell.run(ctx, c, dir, out)
	h.procs.reap()
	return res, err
}

// startDir returns the directory for a command, clamped to the root, or an error if it
// does not exist. It is empty if cwd is.
func (h *host) startDir(cwd string) (string, error) {
	if cwd == "" {
		return "", nil
	}
	rel := path.Clean(cwd)
	if in, ok := strings.CutPrefix(rel+"/", h.cfg.Root+"/"); ok {
		rel = in
	}
	rel, err := h.clean("." + path.Clean("/"+rel))
	if err != nil {
		return "", err
	}
	info, err := h.root.Stat(rel)
	if err != nil {
		return "", rootError(err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("run command in %s: it is not a directory: %w", rel, workspace.ErrNotExist)
	}
	if strings.Contains(rel, "\n") {
		return "", fmt.Errorf("run command in %q: a line break in the name: %w", rel, fs.ErrInvalid)
	}
	return path.Join(h.cfg.Root, rel), nil
}

// reportedDir returns the directory that a shell reports, relative to the root and without
// symlinks. If the next command cannot start there, dir is the root and left is at.
func (h *host) reportedDir(at string) (dir, left string) {
	resolved, err := filepath.EvalSymlinks(at)
	in, ok := strings.CutPrefix(resolved+"/", h.real+"/")
	rel := path.Clean(in)
	if err != nil || !ok || !path.IsAbs(at) || !utf8.ValidString(rel) {
		return ".", at
	}
	if info, err := h.root.Stat(rel); err != nil || !info.IsDir() {
		return ".", at
	}
	return rel, ""
}

func (s *shell) run(ctx context.Context, c workspace.Command, dir string, out *sink) (workspace.CommandResult, error) {
	restarted := false
	if s.live != nil {
		select {
		case <-s.live.died: // it died between two commands
			s.end(s.live)
			s.live, restarted = nil, true
		default:
		}
	}
	if s.live == nil {
		l, err := s.start()
		if err != nil {
			return workspace.CommandResult{}, err
		}
		s.live, s.last = l, 0
	}
	l := s.live
	began := time.Now()
	l.out.setSink(out)
	res, err := s.await(ctx, l, c, dir)
	l.out.drain()
	l.out.setSink(nil)
	if res.Restart || err != nil {
		s.end(l)
		s.live = nil
	}
	if res.Exit == 128+int(syscall.SIGKILL) {
		s.h.procs.dropSegments()
	}
	if note := s.h.watch.Note(context.WithoutCancel(ctx)); note != "" {
		res.Ended = note
		if !res.Restart && err == nil {
			s.end(l)
			s.live, res.Restart = nil, true
		}
	}
	s.last = res.Exit
	res.Restart = res.Restart || restarted
	res.Duration = time.Since(began)
	res.Output, res.Cut = out.result()
	if note := s.h.fullPlaces(res); note != "" {
		out.write([]byte(note))
		res.Output, res.Cut = out.result()
	}
	return res, err
}

// await gives the command to the shell. It waits until the command ends, the shell
// ends, the deadline comes or ctx ends.
func (s *shell) await(ctx context.Context, l *liveShell, c workspace.Command, dir string) (workspace.CommandResult, error) {
	nonce := rand.Text()
	first := s.markedCount
	line, commands := members.Mark(c.Line, first) //control:own-status
	s.markedCount += len(commands)
	text := fmt.Sprintf("%s %d %d %d\n%s\n%s\n", nonce, strings.Count(line, "\n")+1, max(s.last, 0), min(len(commands), 1), dir, line)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = l.in.WriteString(text) // fails if the shell dies, which is seen below
	}()
	deadline := time.NewTimer(c.Timeout)
	defer deadline.Stop()
	kill := func() {
		s.h.procs.killAll(l.family())
		<-l.died
		l.in.Close()
		<-sent
	}
	marks := l.marks
	for {
		select {
		case line, ok := <-marks:
			got, rest, _ := strings.Cut(line, " ")
			status, at, _ := strings.Cut(rest, " ")
			if !ok { // the shell ended, or replaced itself by a program that may run on
				marks = nil
				continue
			}
			if code, err := strconv.Atoi(status); err == nil && got == nonce {
				<-sent
				res := workspace.CommandResult{Exit: code, Ran: l.statuses.takeResults(nonce, first, commands)}
				res.Dir, res.Left = s.h.reportedDir(at)
				return res, nil
			}
		case <-l.died:
			kill()
			return workspace.CommandResult{Exit: exitOf(l.cmd), Restart: true}, nil
		case <-deadline.C:
			kill()
			return workspace.CommandResult{Exit: -1, TimedOut: true, Restart: true}, nil
		case <-ctx.Done():
			kill()
			return workspace.CommandResult{Exit: -1, Restart: true}, ctx.Err()
		}
	}
}

// exitOf returns the exit code, or 128 plus the signal, as shells do.
func exitOf(cmd *exec.Cmd) int {
	if sig := signalOf(cmd.ProcessState); sig > 0 {
		return 128 + sig
	}
	return cmd.ProcessState.ExitCode()
}

// environment returns the environment of every child.
func (h *host) environment(mark string) []string {
	return append(append([]string(nil), h.cfg.Env...), markEnv+"="+mark)
}
