package dashboard

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// feeds holds one feed per session with viewers, so that each event is read and rendered
// once for all of them.
type feeds struct {
	server  *Server
	mu      sync.Mutex
	running map[string]*feed
	wait    sync.WaitGroup
}

// feed follows the log of one session.
type feed struct {
	id      string
	viewers int           // guarded by feeds.mu
	stop    func()        // ends the feed
	nudged  chan struct{} // the log may have grown

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	from    int64         // the ring has all events after this one
	seq     int64         // last event of the ring
	ring    []piece
	bytes   int
	side    [2][]byte // state without and with buttons
	sides   int       // number of the state
	live    []byte    // text that still grows
	lives   int
	next    []byte // the text by now
	liveAt  time.Time
	later   *time.Timer // shows next
}

// piece is the message of an event.
type piece struct {
	seq     int64
	message []byte
}

const (
	maxRing      = 512     // events in a ring
	maxRingBytes = 1 << 20 // and their size
	maxSideRate  = 500 * time.Millisecond
	maxLiveRate  = 250 * time.Millisecond
)

// join returns the feed of a session, and a function that leaves it.
func (fs *feeds) join(id string, seq int64) (*feed, func()) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.running[id]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{id: id, stop: stop, nudged: make(chan struct{}, 1), changed: make(chan struct{}), from: seq, seq: seq}
		fs.running[id] = f
		fs.wait.Go(func() { fs.server.follow(ctx, f) })
	}
	f.viewers++
	return f, func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if f.viewers--; f.viewers == 0 {
			f.stop()
			delete(fs.running, id)
		}
	}
}

// of returns the feed of a session, or nil.
func (fs *feeds) of(id string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.running[id]
}

func (fs *feeds) nudge(id string) {
	if f := fs.of(id); f != nil {
		select {
		case f.nudged <- struct{}{}:
		default:
		}
	}
}

// follow reads the log until the last viewer leaves or the server closes.
func (s *Server) follow(ctx context.Context, f *feed) {
	tick := time.NewTicker(s.cfg.Poll)
	defer tick.Stop()
	var told story
	var sideAt time.Time
	stale := true
	for {
		grew, err := s.advance(ctx, f, &told)
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.WarnContext(ctx, "stream of a session", "session", f.id, "err", err)
		}
		var later <-chan time.Time
		switch wait := maxSideRate - time.Since(sideAt); {
		case !stale && !grew:
		case wait > 0:
			stale, later = true, time.After(wait) //control:dashboard-state-follows
		default:
			stale, sideAt = s.restate(ctx, f) != nil, time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-s.drain:
			return
		case <-f.nudged:
		case <-later:
		case <-tick.C:
			stale = true // leases and ages change without an event
		}
	}
}

// advance renders the new events of a log.
func (s *Server) advance(ctx context.Context, f *feed, told *story) (grew bool, err error) {
	for {
		events, err := s.cfg.Pages(ctx, f.id, f.seq, storyPage)
		if err != nil || len(events) == 0 {
			return grew, err
		}
		var pieces []piece
		for _, e := range events {
			p, err := s.piece(f.id, told, e)
			if err != nil {
				return grew, err
			}
			pieces = append(pieces, p)
		}
		f.push(pieces)
		grew = true
	}
}

// piece renders an event. Its HTML is empty if the event shows nothing.
func (s *Server) piece(id string, told *story, e session.Event) (p piece, err error) {
	var html []byte
	if it, ok := told.item(e); ok {
		html, err = s.html("item", itemView{id, it})
	}
	return piece{e.Seq, eventOf("item", e.Seq, html)}, err
}

// push adds pieces to the ring, and drops the oldest ones beyond its limits.
func (f *feed) push(list []piece) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range list {
		f.ring, f.bytes, f.seq = append(f.ring, p), f.bytes+len(p.message), p.seq
	}
	for len(f.ring) > maxRing || f.bytes > maxRingBytes && len(f.ring) > 1 { //control:dashboard-ring
		f.bytes, f.from = f.bytes-len(f.ring[0].message), f.ring[0].seq
		f.ring = f.ring[1:]
	}
	f.next, f.live = nil, eventOf("live", 0, nil)
	f.lives++
	f.tell()
}

// tell wakes the viewers. The caller holds the lock.
func (f *feed) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// restate renders the present state, and tells the viewers if it has changed.
func (s *Server) restate(ctx context.Context, f *feed) error {
	x, err := s.cfg.Sessions.Session(ctx, f.id)
	if err != nil {
		return err
	}
	state, done, err := s.summary(ctx, f.id)
	if err != nil {
		return err
	}
	var now [2][]byte
	sides := [2]sideData{s.sideOf(x, state, false), s.sideOf(x, state, true)}
	done()
	for i, d := range sides {
		html, err := s.html("side", d.steady())
		if err != nil {
			return err
		}
		now[i] = eventOf("state", 0, html)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes.Equal(now[0], f.side[0]) && bytes.Equal(now[1], f.side[1]) {
		return nil
	}
	f.side = now
	f.sides++
	f.tell()
	return nil
}

// steady gives forms a number that depends on the state alone, so that an unchanged state
// is recognized.
func (d sideData) steady() sideData {
	d.Nonce = d.Turns + "-" + d.Tokens + "-" + d.Phase
	asked := make([]askView, len(d.Asked))
	for i, a := range d.Asked {
		a.Nonce = a.ID
		asked[i] = a
	}
	d.Asked = asked
	return d
}

// Live is progress that is not in the log yet. Text fields hold the whole text so far.
type Live struct {
	Thinking, Content, Title string
}

// Live shows progress to the viewers of a session on this server. It does not block, and
// costs nothing without viewers.
func (s *Server) Live(id string, l Live) {
	f := s.feeds.of(id)
	if f == nil {
		return
	}
	text := l.Content
	if text == "" {
		text = l.Thinking
	}
	f.grow(liveData(line(l.Title, 120), lastPart(text)))
}

// grow shows a text that still grows: at once, or when the last one was shown for a moment,
// since each time costs a message to each viewer.
func (f *feed) grow(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes.Equal(data, f.next) {
		return
	}
	f.next = data
	switch wait := maxLiveRate - time.Since(f.liveAt); {
	case f.later != nil:
	case wait <= 0:
		f.showNext()
	default:
		f.later = time.AfterFunc(wait, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.later = nil; f.next != nil {
				f.showNext()
			}
		})
	}
}

// showNext tells the viewers the text by now. The caller holds the lock.
func (f *feed) showNext() {
	f.live, f.liveAt = eventOf("live", 0, f.next), time.Now()
	f.lives++
	f.tell()
}

// maxLive limits the shown end of a growing text.
const maxLive = 4 << 10

func lastPart(s string) string {
	if len(s) > maxLive {
		s = s[len(s)-maxLive:]
	}
	return neutral(s)
}
