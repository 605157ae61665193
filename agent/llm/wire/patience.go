package wire

import (
	"errors"
	"sync"
	"time"
)

// How long a server may be silent that nobody set a limit for. Before the first byte
// of an answer it loads the model and reads the prompt, which on a small machine takes
// many minutes for a long one.
const (
	defaultIdle = 5 * time.Minute
	settling    = 2 * time.Minute // for the model to be loaded and for other requests
	longest     = 45 * time.Minute
	unknownRate = 100.0 // bytes of a prompt a second, for a server of which nothing is known
	leastBody   = 4000  // bytes of a prompt that says how fast a server reads
	margin      = 4     // times what it should take
)

// patience is how long to wait for a server. It is safe for concurrent use.
type patience struct {
	fixed time.Duration // set by whoever runs the server, 0 when it is not

	mu      sync.Mutex
	slowest float64 // bytes of a prompt a second, as far as seen; a prompt whose beginning the server kept is read faster
}

// between is how long an answer that has begun may pause.
func (p *patience) between() time.Duration {
	if p.fixed > 0 {
		return p.fixed
	}
	return defaultIdle
}

// first is how long the first byte of the answer to a body of so many bytes may take.
func (p *patience) first(body int64) time.Duration {
	if p.fixed > 0 || body < leastBody {
		return p.between()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slowest == 0 { //control:measured-patience
		return min(defaultIdle+seconds(float64(body)/unknownRate), longest)
	}
	return min(settling+seconds(margin*float64(body)/p.slowest), longest)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// saw takes in how long the first byte took.
func (p *patience) saw(body int64, took time.Duration) {
	if body < leastBody {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rate := float64(body) / max(took, time.Millisecond).Seconds(); p.slowest == 0 || rate < p.slowest {
		p.slowest = rate
	}
}

// ended forgets what was measured: the server was silent for longer than that allows.
func (p *patience) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = 0
}

// Silent reports whether err is that of a server that fell silent, and may hang.
func Silent(err error) bool { return errors.Is(err, errIdle) }
