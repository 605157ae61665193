package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// message is one message of a stream.
type message struct {
	id         int64
	kind, data string
}

// listen opens a stream and returns its messages. The channel ends with the stream.
func listen(ctx context.Context, t *testing.T, c *http.Client, address, last string) <-chan message {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("stream: %s", resp.Status)
	}
	out := make(chan message, 4096)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		var m message
		r := bufio.NewReader(resp.Body)
		for {
			l, err := r.ReadString('\n')
			if err != nil {
				return
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), ": ")
			switch field {
			case "id":
				m.id, _ = strconv.ParseInt(value, 10, 64)
			case "event":
				m.kind = value
			case "data":
				m.data += value + "\n"
			case "":
				if value != "" {
					m.kind = "beat"
				}
				if m.kind != "" {
					out <- m
				}
				m = message{}
			}
		}
	}()
	return out
}

// ids collects the ids of items until one is the last.
func ids(t *testing.T, from <-chan message, last int64) (out []int64) {
	t.Helper()
	for m := range from {
		if m.kind == "item" {
			out = append(out, m.id)
		}
		if m.id == last {
			return out
		}
	}
	t.Fatalf("the stream ended after %v", out)
	return nil
}

func upTo(from, to int64) (out []int64) {
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// TestStream: a stream has each event once and in order, from the place that the page or
// the browser's last event names, however far behind that is.
func TestStream(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld()
	w.hostile(3000)
	_, web := start(t, w.config())
	for name, tt := range map[string]struct {
		after, last string
		want        []int64
	}{
		"from the beginning": {"0", "", upTo(1, 3001)},
		"from the page":      {"2990", "", upTo(2991, 3001)},
		"after a break":      {"0", "3000", upTo(3001, 3001)},
		"far behind":         {"0", "5", upTo(6, 3001)},
	} {
		ctx, stop := context.WithCancel(t.Context())
		from := listen(ctx, t, web.Client(), web.URL+"/s/hostile/events?after="+tt.after, tt.last)
		if got := ids(t, from, 3001); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d ids, from %d", name, len(got), got[0])
		}
		stop()
	}
}

// TestStreamStateAndLive: a stream tells the present state without buttons for a reader,
// and the text that still grows; it has a heartbeat, and ends with the server.
func TestStreamStateAndLive(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Beat = 30 * time.Millisecond
	s, web := start(t, cfg)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	from := listen(ctx, t, web.Client(), web.URL+"/s/sample/events?after=19", "")
	var state, live, beat bool
	for m := range from {
		switch m.kind {
		case "state":
			state = strings.Contains(m.data, "k7m2p4xa") && !strings.Contains(m.data, "<button")
			s.Live("sample", Live{Title: "Writing", Content: "half a line\x1b[2J\u202e<b>\r\nevent: state"})
		case "live":
			if m.data != "\n" {
				live = strings.Contains(m.data, "half a line") && !strings.ContainsAny(m.data, "\x1b\u202e\r<")
			}
		case "beat":
			beat = true
		}
		if state && live && beat {
			break
		}
	}
	if !state || !live || !beat {
		t.Errorf("state %t, growing text %t, heartbeat %t", state, live, beat)
	}
	s.Close()
	for range from {
		continue // until the stream ends
	}
	if ctx.Err() != nil {
		t.Error("a closing server does not end its streams")
	}
}

// TestStateFollows: the state after the last of several events is shown, also if no look at the
// log follows.
func TestStateFollows(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Poll = time.Hour
	s, web := start(t, cfg)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	from := listen(ctx, t, web.Client(), web.URL+"/s/sample/events?after=19", "")
	for m := range from {
		if m.kind == "state" {
			break
		}
	}
	for i := range 3 {
		event := session.NewEvent(session.TypeState, i, session.Update{Todo: []session.Todo{{Text: fmt.Sprint("step ", i)}}})
		if err := w.logs["sample"].Append(ctx, event); err != nil {
			t.Fatal(err)
		}
		s.Grown("sample")
	}
	for m := range from {
		if m.kind == "state" && strings.Contains(m.data, "step 2") {
			return
		}
	}
	t.Error("the last state is not shown")
}

// TestStreamsAreLimited: one viewer cannot hold all streams.
func TestStreamsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Most = 3
	_, web := start(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 3 {
		<-listen(ctx, t, web.Client(), web.URL+"/s/sample/events?after=0", "")
	}
	status, body := get(t, web.Client(), web.URL+"/s/sample/events?after=0")
	if status != http.StatusServiceUnavailable {
		t.Errorf("the fourth stream: %d %s", status, body)
	}
}

// TestViewersShareTheWork: the log of a session is read once for all of its viewers.
func TestViewersShareTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.sample()
	cfg := w.config()
	cfg.Poll = time.Hour
	var reads int
	cfg.Pages = func(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
		events, err := w.page(ctx, id, after, limit)
		w.mu.Lock()
		reads += len(events)
		w.mu.Unlock()
		return events, err
	}
	s, web := start(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all []<-chan message
	for range maxEach {
		from := listen(ctx, t, &http.Client{Transport: &http.Transport{}}, web.URL+"/s/sample/events?after=19", "")
		for m := range from {
			if m.kind == "state" {
				break
			}
		}
		all = append(all, from)
	}
	w.mu.Lock()
	reads = 0
	w.mu.Unlock()
	for i := range 20 {
		if err := w.logs["sample"].Append(ctx, session.NewEvent(session.TypeAnswer, i, session.Answer{Content: fmt.Sprint("step ", i)})); err != nil {
			t.Fatal(err)
		}
		s.Grown("sample")
	}
	for _, from := range all {
		if got := ids(t, from, 39); !slices.Equal(got, upTo(20, 39)) {
			t.Fatalf("a viewer got %v", got)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if reads > 60 { // once for the stream, once for the state
		t.Errorf("%d viewers read %d events", len(all), reads)
	}
}

// TestRingIsBounded: the ring of a feed has a limit by bytes, and says where it begins.
func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	f := &feed{changed: make(chan struct{})}
	for i := range int64(5000) {
		f.push([]piece{{i + 1, make([]byte, 10<<10)}})
	}
	if f.bytes > maxRingBytes || len(f.ring) > maxRing || f.ring[0].seq != f.from+1 || f.seq != 5000 {
		t.Errorf("%d bytes, %d pieces, from %d", f.bytes, len(f.ring), f.from)
	}
}
