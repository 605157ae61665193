package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// The approved command of the story tells the server's process twice where it
// is, before its effects and after them, and waits for a word to go on. So a
// kill can hit in the middle of a command, and every run of it is known with
// the files that it found.
const (
	crashCommand = "sh step.sh before && rm -rf build && echo ran >> ran.txt && sh step.sh after"

	stateBefore = "out - echo Hello"
	stateAfter  = "- ran+ echo Hello"
)

// crashScript is step.sh: it writes its state into the pipe of the server that
// it runs under, and goes on when it is told, or ends with that server.
func crashScript(dir string) string {
	return strings.ReplaceAll(`server=$PPID
until [ -p "DIR/$server.pipe" ]; do
  [ "$server" -gt 1 ] || exit 1
  read -r _ _ _ server _ < "/proc/$server/stat" || exit 1
done
ask="$1-$$"
out=$(ls build 2>/dev/null) ran=$(tr '\n' '+' 2>/dev/null < ran.txt)
exec 3<>"DIR/$server.pipe"
echo "$ask $(date +%s%6N) ${out:--} ${ran:--} $(cat greet.sh)" >&3
until [ -e "DIR/$ask.go" ]; do
  kill -0 "$server" 2>/dev/null || exit 1
  sleep 0.01
done
`, "DIR", dir)
}

// hear listens for commands of this process, keeps what they say and lets
// them go on after a step.
func (k *killer) hear(dir string) error {
	pipe := filepath.Join(dir, strconv.Itoa(os.Getpid())+".pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	in, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, "runs"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	go k.listen(in, out, dir)
	return nil
}

func (k *killer) listen(in io.Reader, out io.Writer, dir string) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return
		}
		ask, _, _ := strings.Cut(lines.Text(), " ")
		phase, _, _ := strings.Cut(ask, "-")
		k.step(phase + " the effects of a command")
		if err := os.WriteFile(filepath.Join(dir, ask+".go"), nil, 0o600); err != nil {
			return
		}
	}
}

// judgeRuns checks every run of the approved command: it found the workspace
// as it was before the first one, it was recorded as started, it was the one
// that was approved, it had a yes of its own, and none came after the last result.
func (w *crashWorld) judgeRuns(t *testing.T, v *verdict, events []session.Event) {
	t.Helper()
	a := approvedCalls(t, events)
	text, err := os.ReadFile(filepath.Join(w.child.Steps, "runs"))
	must(t, err)
	runs := map[string]int{}
	for line := range bytes.Lines(text) {
		ask, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		at, state, _ := strings.Cut(rest, " ")
		phase, _, _ := strings.Cut(ask, "-")
		runs[phase]++
		want := map[string]string{"before": stateBefore, "after": stateAfter}[phase]
		v.is("what a run of the command found "+phase+" its effects", state, want)
		micros, err := strconv.ParseInt(at, 10, 64)
		must(t, err)
		if phase == "before" && a.ended.Before(time.UnixMicro(micros)) {
			v.duplicates = append(v.duplicates, "the command was run after its result was recorded")
		}
	}
	v.is("that the command ran", runs["before"] > 0 && runs["after"] > 0, true)
	if runs["before"] > a.started {
		v.duplicates = append(v.duplicates, fmt.Sprintf("the command ran %d times and was started %d times", runs["before"], a.started))
	}
	v.exactly("calls that were started twice under one yes", a.twice, 0)
	if cut := w.kills + w.stops + w.cutOff(); runs["before"] > 1+cut {
		v.duplicates = append(v.duplicates, fmt.Sprintf("the command ran %d times and was cut off %d times at most", runs["before"], cut))
	}
	v.is("rulings on other bytes than the approved ones", a.foreign, 0)
	w.again = max(0, runs["before"]-1)
}

// cutOff is how often a server that lived gave up in the middle of its work:
// it lost its lease, or could not keep what a command did on a full disk.
func (w *crashWorld) cutOff() int {
	n := 0
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "lost lease") || strings.Contains(line, `msg="work on thread"`) && strings.Contains(line, "no space left") {
			n++
		}
	}
	return n
}

// approved is what a log says about the calls that a person was asked for.
type approved struct {
	started int // how often they were started
	twice   int // of them, those that were started before
	foreign int // rulings on other bytes than those that were approved
	ended   time.Time
}

func approvedCalls(t *testing.T, events []session.Event) (a approved) {
	t.Helper()
	digests, started := map[string]string{}, map[string]bool{}
	for _, e := range events {
		switch e.Type {
		case session.TypeAsked:
			asked, err := session.Decode[session.Asked](e)
			must(t, err)
			digests[asked.Call] = asked.Digest
		case session.TypeStarted:
			s, err := session.Decode[session.Started](e)
			must(t, err)
			if digests[s.Call] == "" {
				continue
			}
			a.started++
			if started[s.Call] {
				a.twice++
			}
			started[s.Call] = true
		case session.TypeResult:
			r, err := session.Decode[session.Result](e)
			must(t, err)
			if digests[r.Call] != "" {
				a.ended = e.Time
			}
		}
	}
	for _, e := range events {
		if e.Type == session.TypeDecision {
			d, err := session.Decode[session.Decision](e)
			must(t, err)
			if want := digests[d.Call]; want != "" && d.Digest != want {
				a.foreign++
			}
		}
	}
	return a
}
