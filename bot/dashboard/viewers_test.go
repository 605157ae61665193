package dashboard

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

var (
	viewers = flag.Int("dashboard.viewers", 0, "streams of TestManyViewers; 0 skips it")
	watches = flag.String("dashboard.watch", "", "address that the process of TestViewersChild watches")
)

// TestViewersChild is the viewers of TestManyViewers, in a process of their own so that they
// are not measured. It prints the number of bytes that have come, each second.
func TestViewersChild(t *testing.T) {
	if *watches == "" {
		t.Skip("is started by TestManyViewers")
	}
	var got, open atomic.Int64
	for range *viewers {
		go func() {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(*watches, "http://"))
			if err != nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "GET /s/busy/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			open.Add(1)
			for buf := make([]byte, 16<<10); ; {
				n, err := c.Read(buf)
				if got.Add(int64(n)); err != nil {
					return
				}
			}
		}()
	}
	for range 600 {
		<-time.After(100 * time.Millisecond)
		fmt.Fprintf(os.Stdout, "viewers %d %d\n", open.Load(), got.Load())
	}
}

// TestManyViewers measures a busy session, with an event every second and text that grows
// ten times a second, without viewers and with many. `make viewers` prints both.
func TestManyViewers(t *testing.T) {
	if *viewers == 0 {
		t.Skip("needs -dashboard.viewers")
	}
	w := newWorld()
	w.add(w.row("busy", "team/app#20", session.PhaseRunning, time.Second),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "busy", Text: "Work.", Requester: "kim", Mode: "code"}}))
	cfg := w.config()
	cfg.Poll, cfg.Most = time.Second, *viewers+10
	s, web := start(t, cfg)
	alone, heap := busy(t, w, s)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	child := exec.CommandContext(ctx, self, "-test.run=^TestViewersChild$", "-test.v", "-dashboard.watch="+web.URL, "-dashboard.viewers="+strconv.Itoa(*viewers))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var open, bytes atomic.Int64
	ready := make(chan struct{})
	go func() {
		seen := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n, b int64
			if _, err := fmt.Sscanf(lines.Text(), "viewers %d %d", &n, &b); err != nil {
				continue
			}
			open.Store(n)
			bytes.Store(b)
			if n == int64(*viewers) && b > 0 && !seen {
				seen = true
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(10 * time.Minute):
		t.Fatalf("%d viewers came", open.Load())
	}
	before := bytes.Load()
	shown, more := busy(t, w, s)
	came := bytes.Load() - before
	stop()
	_ = child.Wait() // was killed
	const second = 100 / float64(measured/time.Second) / float64(time.Second)
	extra := float64(shown-alone) * second / float64(runtime.NumCPU())
	t.Logf("%d viewers got %.1f MB in %s", *viewers, float64(came)/1e6, measured)
	t.Logf("processor: %.1f %% of one without viewers, %.1f %% with them: %.1f %% of the machine more", float64(alone)*second, float64(shown)*second, extra)
	t.Logf("memory: %.1f MiB without viewers, %.1f MiB with them", float64(heap)/(1<<20), float64(more)/(1<<20))
	if came < int64(*viewers)*1000 {
		t.Errorf("the viewers got %d bytes", came)
	}
	if extra > 10 {
		t.Errorf("the viewers take %.1f %% of the machine", extra)
	}
	if more > heap+100<<20 {
		t.Errorf("the viewers take %d MiB", (more-heap)>>20)
	}
}

const measured = 10 * time.Second

// busy works on a session, and returns the processor time and the memory of this process.
func busy(t *testing.T, w *world, s *Server) (processor time.Duration, memory uint64) {
	t.Helper()
	log := w.logs["busy"]
	begin := usage(t)
	text := ""
	for i := range int(measured / (100 * time.Millisecond)) {
		<-time.After(100 * time.Millisecond)
		text += "A few more words of the answer. "
		s.Live("busy", Live{Title: "Writing", Content: text})
		if i%10 != 9 {
			continue
		}
		text = ""
		if err := log.Append(t.Context(), session.NewEvent(session.TypeAnswer, i, session.Answer{Content: strings.Repeat("words of a step ", 60)})); err != nil {
			t.Fatal(err)
		}
		s.Grown("busy")
	}
	processor = usage(t) - begin
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return processor, m.Sys - m.HeapReleased
}

// usage returns the processor time of this process.
func usage(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
