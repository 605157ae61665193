package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

// streams counts the open streams.
type streams struct {
	mu   sync.Mutex
	all  int
	most int
	each map[string]int
}

// maxEach limits the streams of one viewer.
const maxEach = 24

// enter reports whether another stream fits.
func (st *streams) enter(who string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.all >= st.most || st.each[who] >= maxEach { //control:dashboard-streams
		return false
	}
	st.all++
	st.each[who]++
	return true
}

func (st *streams) leave(who string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.all--
	if st.each[who]--; st.each[who] == 0 {
		delete(st.each, who)
	}
}

// stream sends the events of a session as they come: an item per event with the event's
// number as id, the present state, and text that still grows. A browser that reconnects
// goes on after the last item it has.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, v viewer) error {
	x, err := s.find(r, v)
	if err == nil {
		v.May, err = s.acts(r.Context(), v, x.Repo)
	}
	if err != nil {
		return err
	}
	who := strconv.FormatInt(v.ID, 10)
	if v.All {
		who = r.RemoteAddr
	}
	if !s.streams.enter(who) {
		http.Error(w, "too many streams", http.StatusServiceUnavailable)
		return nil
	}
	defer s.streams.leave(who)
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if last, lastErr := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); lastErr == nil {
		after, err = last, nil
	}
	if err != nil || after < 0 {
		after = 0
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	state, done, err := s.summary(r.Context(), x.ID)
	if err != nil {
		return err
	}
	end := state.Seq
	done()
	f, leave := s.feeds.join(x.ID, end) //nolint:contextcheck // a feed outlives the viewer that began it
	defer leave()
	after = min(after, end)
	p := pipe{server: s, feed: f, out: w, ctl: http.NewResponseController(w), row: x, viewer: v, last: after}
	return p.run(r.Context())
}

// pipe sends a feed to one viewer.
type pipe struct {
	server *Server
	feed   *feed
	out    io.Writer
	ctl    *http.ResponseController
	row    *store.Session
	viewer viewer

	last         int64 // last event sent
	sides, lives int
}

// maxSend is the time that a browser has to take a message.
const maxSend = 30 * time.Second

// run sends until the viewer goes, the server closes or the right is lost.
func (p *pipe) run(ctx context.Context) error {
	beat := time.NewTicker(p.server.cfg.Beat)
	defer beat.Stop()
	if err := p.send([]byte("retry: 2000\n\n")); err != nil {
		return nil //nolint:nilerr // the browser is gone
	}
	for {
		message, changed, behind := p.next()
		if behind {
			var err error
			if message, err = p.catchUp(ctx); err != nil {
				return nil //nolint:nilerr // the browser comes back, and goes on from its last event
			}
		}
		if len(message) > 0 {
			if p.send(message) != nil {
				return nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.server.drain:
			return nil
		case <-changed:
		case <-beat.C:
			if ok, err := p.server.reads(ctx, p.viewer, p.row.Repo); err != nil || !ok {
				return nil //nolint:nilerr // the browser comes back, and is refused if the right is lost
			}
			if p.send([]byte(": still here\n\n")) != nil {
				return nil
			}
		}
	}
}

func (p *pipe) send(message []byte) error {
	if err := p.ctl.SetWriteDeadline(time.Now().Add(maxSend)); err != nil {
		return err
	}
	if _, err := p.out.Write(message); err != nil {
		return err
	}
	return p.ctl.Flush()
}

// next returns the messages that the viewer does not have, and a channel that is closed
// at the next change. behind means that the ring no longer has the viewer's next event.
func (p *pipe) next() (message []byte, changed <-chan struct{}, behind bool) {
	f := p.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.last < f.from {
		return nil, f.changed, true
	}
	var parts [][]byte
	for _, piece := range f.ring[len(f.ring)-int(min(int64(len(f.ring)), max(0, f.seq-p.last))):] {
		if piece.seq > p.last {
			parts = append(parts, piece.message)
			p.last = piece.seq
		}
	}
	if p.sides != f.sides {
		p.sides = f.sides
		parts = append(parts, f.side[map[bool]int{true: 1}[p.viewer.May]])
	}
	if p.lives != f.lives {
		p.lives = f.lives
		parts = append(parts, f.live)
	}
	if len(parts) == 1 {
		return parts[0], f.changed, false // shared with the other viewers
	}
	return slices.Concat(parts...), f.changed, false
}

// catchUp reads one page of events for a viewer that is far behind.
func (p *pipe) catchUp(ctx context.Context) ([]byte, error) {
	events, err := p.server.cfg.Pages(ctx, p.row.ID, p.last, storyPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	var told story
	for _, e := range events {
		piece, err := p.server.piece(p.row.ID, &told, e)
		if err != nil {
			return nil, err
		}
		b.Write(piece.message)
		p.last = piece.seq
	}
	return b.Bytes(), nil
}

// eventOf returns a message. A zero id leaves the browser's last id as it is.
func eventOf(kind string, id int64, data []byte) []byte {
	var b bytes.Buffer
	if id != 0 {
		fmt.Fprintf(&b, "id: %d\n", id)
	}
	fmt.Fprintf(&b, "event: %s\n", kind)
	for l := range bytes.Lines(bytes.ReplaceAll(data, []byte("\r"), nil)) { // a carriage return would begin a field
		fmt.Fprintf(&b, "data: %s\n", bytes.TrimSuffix(l, []byte("\n")))
	}
	if len(data) == 0 {
		b.WriteString("data:\n")
	}
	b.WriteString("\n")
	return b.Bytes()
}

// liveData returns the message of a growing text.
func liveData(title, text string) []byte {
	data, err := json.Marshal(struct {
		Title string `json:"title"`
		Text  string `json:"text"`
	}{title, text})
	if err != nil {
		return nil
	}
	return data
}
