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
	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// loop is the program of the shell. It reads commands from descriptor 3 and reports their
// ends on descriptor 4; commands have neither. A command comes as a line "nonce lines status",
// the directory to start in, or an empty line, and its own lines. If the shell cannot enter
// that directory, it ends, and another shell takes its place. A shell outside of the root is
// sent back. The current directory is entered again, because it may have been
// replaced; the target of `cd -` stays.
//
// The line of a command reaches the shell as it was approved. bash reads one line of ours behind
// it, [tail], which keeps the ends of the last pipeline.
//
// Functions and traps of one command are there for the next, and must not get between it and
// the loop: a function named cd would send it elsewhere, one named printf report another end.
// The loop takes its words back before it uses them; in posix mode no function precedes trap,
// unset and exit, which do that. Options that the mode changes are restored. set -x ends with
// its command, so that it shows nothing of the loop.
const loop = `while IFS=' ' read -r __hr_n __hr_k __hr_s <&3; do
IFS= read -r __hr_d <&3; __hr_c= __hr_p=
while [ "$__hr_k" -gt 0 ]; do IFS= read -r __hr_l <&3; __hr_c="$__hr_c$__hr_l
"; __hr_k=$((__hr_k-1)); done
if [ -n "$__hr_d" ]; then
__hr_o=${OLDPWD-}; [ "$PWD" = "$__hr_d" ] || __hr_o=$PWD
CDPATH= cd -- "$__hr_d" || exit 1; OLDPWD=$__hr_o; else
case "$PWD/" in "$__hr_root/"*) [ -d "$PWD" ] || cd -- "$__hr_root";; *) cd -- "$__hr_root"; echo "[back in $__hr_root]";; esac; fi
[ "$__hr_s" = 0 ] || (exit "$__hr_s")
eval "$__hr_c" 3<&- 4>&-
{ __hr_s=$?; } 2>/dev/null
%s
{ set +x
case $__hr_p in ?*) __hr_s=${__hr_p%%%%:*}; printf '|%%s\n' "${__hr_p#*:}" >&4;; esac
printf '%%s %%s %%s\n' "$__hr_n" "$__hr_s" "$PWD" >&4; } 2>/dev/null
done
`

// tail keeps how a line ended: its status, and those of the commands of its last pipeline.
const tail = `{ __hr_p="$?:${PIPESTATUS[@]}"; } 2>/dev/null`

// again removes functions that hide words of the loop. bashAgain does so for bash, which has
// traps that run between words, allows functions before any word except in posix mode, and
// forgets two of its options with that mode.
const (
	words     = "unset -f read cd printf echo shopt eval return set '[' || exit \"$__hr_s\"\n"
	again     = "{ " + words + "} 2>/dev/null"
	bashAgain = `{ __hr_b=:${BASHOPTS-}: __hr_o=${POSIXLY_CORRECT-} POSIXLY_CORRECT=y
trap - DEBUG RETURN ERR
` + words + `if [ -n "$__hr_o" ]; then POSIXLY_CORRECT=$__hr_o; else unset POSIXLY_CORRECT
case $__hr_b in *:expand_aliases:*) shopt -s expand_aliases;; esac
case $__hr_b in *:inherit_errexit:*) ;; *) shopt -u inherit_errexit;; esac; fi; } 2>/dev/null`
)

// shell is the one persistent shell. Commands queue for it.
type shell struct {
	h    *host
	turn chan struct{} // full while a command runs
	live *liveShell
	last int // exit code of the last command, for $?
}

func newShell(h *host) *shell { return &shell{h: h, turn: make(chan struct{}, 1)} }

// findShell returns bash, or else sh, from the PATH of the workspace.
func (h *host) findShell() (string, []string, error) {
	if bash := h.onPath("bash"); bash != "" {
		return bash, []string{"--noprofile", "--norc"}, nil
	}
	if sh := h.onPath("sh"); sh != "" {
		return sh, nil, nil
	}
	return "", nil, fmt.Errorf("start shell: neither bash nor sh is on the workspace's PATH (%s)", h.pathVar())
}

// onPath returns the path of a program on the PATH of commands, or "".
func (h *host) onPath(name string) string { return programIn(strings.Split(h.pathVar(), ":"), name) }

// programIn returns the path of the first program of a name in absolute directories, or "".
func programIn(dirs []string, name string) string {
	for _, dir := range dirs {
		at := path.Join(dir, name)
		if info, err := os.Stat(at); err == nil && path.IsAbs(at) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
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
	cmd   *exec.Cmd
	mark  string
	in    *os.File
	bash  bool
	marks chan string // lines of descriptor 4; closed at its end
	out   *pump
	died  chan struct{}
	ends  []*os.File
}

func (s *shell) start() (*liveShell, error) {
	bin, args, err := s.h.findShell()
	if err != nil {
		return nil, err
	}
	after, bash := again, path.Base(bin) == "bash"
	if bash {
		after = bashAgain //control:loop-words
	}
	program := "__hr_root=" + quote(s.h.cfg.Root) + "\n" + fmt.Sprintf(loop, after)
	var p pipes
	defer p.closeChild()
	inR, inW := p.pipe()
	markR, markW := p.pipe()
	outR, outW := p.pipe()
	if p.err != nil {
		return nil, errors.Join(fmt.Errorf("start shell: %w", p.err), p.closeAll())
	}
	mark := rand.Text()
	cmd := exec.Command(bin, append(args, "-c", program)...)
	cmd.Dir = s.h.cfg.Root
	cmd.Env = append(s.h.environment(mark), "PWD="+s.h.cfg.Root)
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.ExtraFiles = []*os.File{inR, markW}
	cmd.SysProcAttr = newSession()
	if err := s.h.procs.start(cmd, mark); err != nil {
		return nil, errors.Join(fmt.Errorf("start shell: %w", err), p.closeAll())
	}
	p.child = append(p.child, inR, markW, outW)
	l := &liveShell{
		cmd:   cmd,
		mark:  mark,
		in:    inW,
		bash:  bash,
		marks: make(chan string, 1),
		died:  make(chan struct{}),
		out:   newPump(outR),
		ends:  []*os.File{inW, markR, outR},
	}
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
	if !c.NoGit {
		h.makeGit(ctx, c.Line)
	}
	out := &sink{progress: func(text string) {
		// A failure means that the client is gone, which ends the command.
		_ = h.conn.Notify(ctx, workspace.MethodProgress, workspace.ProgressParams{ID: id.Num, Text: text})
	}}
	res, err := h.shell.run(ctx, c, dir, out)
	h.servers.ran()
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
func (s *shell) await(
	ctx context.Context,
	l *liveShell,
	c workspace.Command,
	dir string,
) (workspace.CommandResult, error) {
	nonce := rand.Text()
	line := c.Line
	if l.bash && endsWhole(line) { //control:line-ends-whole
		line += "\n" + tail //control:pipeline-ends
	}
	text := fmt.Sprintf("%s %d %d\n%s\n%s\n", nonce, strings.Count(line, "\n")+1, max(s.last, 0), dir, line)
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
	var pipeline []int
	for {
		select {
		case line, ok := <-marks:
			if ends, of := strings.CutPrefix(line, "|"); of {
				pipeline = statuses(ends)
				continue
			}
			got, rest, _ := strings.Cut(line, " ")
			status, at, _ := strings.Cut(rest, " ")
			if !ok { // the shell ended, or replaced itself by a program that may run on
				marks = nil
				continue
			}
			if code, err := strconv.Atoi(status); err == nil && got == nonce {
				<-sent
				res := workspace.CommandResult{Exit: code, Pipeline: pipeline}
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

// endsWhole reports whether a line of shell ends by itself: a line behind it is read as a line
// of its own, not as the text of a here-document or as the rest of a command.
func endsWhole(line string) bool {
	if strings.HasSuffix(line, `\`) {
		return false
	}
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return err == nil
}

// statuses reads exit codes with spaces between them. It returns nil if one is no number.
func statuses(s string) (codes []int) {
	for f := range strings.FieldsSeq(s) {
		code, err := strconv.Atoi(f)
		if err != nil {
			return nil
		}
		codes = append(codes, code)
	}
	return codes
}

// exitOf returns the exit code, or 128 and the signal as shells do.
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
