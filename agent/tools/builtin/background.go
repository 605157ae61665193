package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/testrun"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits of background commands: their number, and the bytes printed by each.
const (
	maxJobs    = 8
	maxPrinted = 256 << 20
)

// launcher runs its first argument in the workspace's shell, with an empty stdin and
// stderr merged into stdout.
const launcher = `exec 2>&1 </dev/null; command -v bash >/dev/null && exec bash --noprofile --norc -c "$0"; exec sh -c "$0"`

// jobs are the background commands. They end with the workspace.
type jobs struct {
	mu   sync.Mutex
	list []*job
}

// job is one background command.
type job struct {
	id, line string
	began    time.Time
	conn     io.ReadWriteCloser
	more     chan struct{} // signals news; capacity 1
	seen     int           // number of whole lines shown to the model
	shown    int64         // value of printed at that time

	mu      sync.Mutex
	head    []byte
	tail    []byte
	printed int64
	how     string // how the command ended; "" while it runs
	took    time.Duration
	stopped string // reason if we stopped it
	told    bool   // the model knows that it ended
	saved   bool   // its file changes were checked after its end
}

// find returns the command with a handle, or nil.
func (j *jobs) find(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.list {
		if b.id == id {
			return b
		}
	}
	return nil
}

// Busy implements [tools.Beside].
func (j *jobs) Busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	busy := false
	for _, b := range j.list {
		b.mu.Lock()
		busy = busy || !b.saved
		b.saved = b.how != ""
		b.mu.Unlock()
	}
	return busy
}

// News implements [tools.Beside].
func (j *jobs) News() (say []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.list {
		b.mu.Lock()
		switch {
		case b.how == "":
			say = append(say, fmt.Sprintf("%s (%s) still runs in the background.", b.id, firstLine(b.line)))
		case !b.told:
			say = append(
				say,
				fmt.Sprintf(
					"%s (%s) ended in the background: %s; read_output {\"id\":%q} shows what it printed.",
					b.id,
					firstLine(b.line),
					b.how,
					b.id,
				),
			)
			b.told = true
		}
		b.mu.Unlock()
	}
	return say
}

func (j *jobs) running() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.list {
		if _, how := b.state(); how == "" {
			n++
		}
	}
	return n
}

// detach starts a command in the background.
func (r runner) detach(ctx context.Context, cmd workspace.Command) (tools.Result, error) {
	if r.Start == nil {
		return tools.Result{}, errors.New("no command runs in the background here")
	}
	if r.running() >= maxJobs { //control:bounded-jobs
		return tools.Result{}, fmt.Errorf(
			"%d commands run in the background, which is the most: stop one with read_output {\"id\":…,\"stop\":true}",
			maxJobs,
		)
	}
	conn, err := r.Start.Start(ctx, workspace.Program{Argv: []string{"sh", "-c", launcher, cmd.Line}, Cwd: cmd.Cwd})
	if err != nil {
		return tools.Result{}, err
	}
	b := &job{id: r.Kept.Handle("b"), line: cmd.Line, began: time.Now(), conn: conn, more: make(chan struct{}, 1)}
	r.jobs.mu.Lock()
	r.list = append(r.list, b)
	r.jobs.mu.Unlock()
	go b.follow() // until the workspace ends, at the latest
	say := fmt.Sprintf(
		"[It runs in the background as %s. read_output {\"id\":%q,\"wait\":30} waits for its end, or with \"search\" for a line; \"stop\":true ends it. It ends with the workspace.]",
		b.id,
		b.id,
	)
	return tools.Result{
		Content: say,
		Title:   "Started " + firstLine(cmd.Line) + " in the background",
		Handle:  b.id,
		Dir:     r.dir(),
		Ran:     testrun.Begun(cmd.Line),
	}, nil
}

// follow reads the output of a command until it ends.
func (b *job) follow() {
	buf := make([]byte, 64<<10)
	for {
		n, err := b.conn.Read(buf)
		b.take(buf[:n])
		if err != nil {
			b.end(err)
			return
		}
	}
}

// take keeps the beginning and the end of the output.
func (b *job) take(p []byte) {
	b.mu.Lock()
	b.printed += int64(len(p))
	tooMuch := b.printed > maxPrinted && b.stopped == ""
	n := min(max(workspace.MaxOutput/2-len(b.head), 0), len(p))
	b.head = append(b.head, p[:n]...)
	b.tail = append(b.tail, p[n:]...)
	if over := len(b.tail) - workspace.MaxOutput; over > 0 {
		b.tail = append([]byte(nil), b.tail[len(b.tail)-workspace.MaxOutput/2:]...)
	}
	b.mu.Unlock()
	b.wake()
	if tooMuch {
		b.stop(fmt.Sprintf("stopped, because it printed more than %d MiB", maxPrinted>>20))
	}
}

func (b *job) wake() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *job) end(err error) {
	b.mu.Lock()
	defer b.wake()
	defer b.mu.Unlock()
	b.took = time.Since(b.began)
	switch {
	case b.stopped != "":
		b.how = b.stopped
	case errors.Is(err, io.EOF):
		b.how = "exit code 0"
	default:
		b.how = strings.Replace(strings.TrimPrefix(err.Error(), "program ended: "), "exit status", "exit code", 1)
	}
}

// stop ends a command and all its child processes.
func (b *job) stop(why string) {
	b.mu.Lock()
	if b.stopped == "" {
		b.stopped = why
	}
	b.mu.Unlock()
	_ = b.conn.Close() // it never fails; follow sees the end
}

// state returns the bytes printed, and how the command ended; "" while it runs.
func (b *job) state() (printed int64, how string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.printed, b.how
}

// text returns the output of a command as a terminal shows it.
func (b *job) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if lost := b.printed - int64(len(b.head)+len(b.tail)); lost > 0 {
		return untrusted.Screen(b.head) + fmt.Sprintf("\n[%d bytes of output left out]\n", lost) + untrusted.Screen(b.tail)
	}
	return untrusted.Screen(append(b.head[:len(b.head):len(b.head)], b.tail...))
}

// await waits until a command ends, its output matches v.search, or most elapses.
func (b *job) await(ctx context.Context, v view, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	for {
		_, how := b.state()
		if how != "" || v.search != nil && v.search.MatchString(b.text()) {
			return nil
		}
		select {
		case <-b.more:
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch reports on a background command: new output, or the requested view.
func (r runner) watch(ctx context.Context, a tools.Args, b *job, v view) (tools.Result, error) {
	stop, err := a.Flag("stop", false)
	if err != nil {
		return tools.Result{}, err
	}
	wait, ok, err := seconds(a, "wait")
	if err != nil {
		return tools.Result{}, err
	}
	if stop {
		b.stop("stopped")
		v.search, wait, ok = nil, time.Minute, true
	}
	if ok {
		if err := b.await(ctx, v, min(wait, r.MaxTimeout)); err != nil {
			return tools.Result{}, err
		}
	}
	printed, _ := b.state()
	text := b.text()
	if r.Redact != nil {
		text = r.Redact(text) //control:redact-background
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var say string
	switch {
	case strings.TrimSpace(text) == "":
		say = "(no output)"
	case v.search != nil || v.from > 0 || v.tail > 0:
		say = v.show(b.id, lines)
	case printed == b.shown:
		say = "(nothing new)"
	default:
		if b.seen >= len(lines) { // the middle was dropped since then
			b.seen = 0
		}
		v.from = max(b.seen, len(lines)-tools.TailLines) + 1
		say = v.show(b.id, lines)
	}
	b.seen, b.shown = strings.Count(text, "\n"), printed // an unfinished line may still grow
	b.mu.Lock()
	defer b.mu.Unlock()
	how, title := fmt.Sprintf("still runs after %s", time.Since(b.began).Round(time.Second)), "Read output "+b.id
	if b.how != "" {
		how, b.told = fmt.Sprintf("ended: %s, after %s", b.how, b.took.Round(time.Millisecond)), true
		title += " (" + b.how + ")"
	}
	return tools.Result{Content: fmt.Sprintf("%s\n[%s %s]", say, b.id, how), Title: title}, nil
}
