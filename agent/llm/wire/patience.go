package wire

import (
	"errors"
	"sync"
	"time"
)

// Silence limits for servers without a configured one. Before the first byte of an
// answer, a server loads the model and reads the prompt. On a small machine, a long
// prompt takes many minutes.
const (
	defaultIdle = 5 * time.Minute
	settling    = 2 * time.Minute // allowance for loading the model and for other requests
	maxWait     = 45 * time.Minute
	unknownRate = 100.0 // prompt bytes per second, for a server without measurements
	minBody     = 4000  // minimum prompt size in bytes for measuring the server's speed
	margin      = 4     // multiple of the expected time
)

// patience decides the time to wait for a server. It is safe for concurrent use.
type patience struct {
	fixed time.Duration // configured by the operator; 0 means measured

	mu      sync.Mutex
	slowest float64 // lowest measured prompt bytes per second; a cached prefix is read faster
}

// betweenLimit returns the maximum pause within an answer.
func (p *patience) betweenLimit() time.Duration {
	if p.fixed > 0 {
		return p.fixed
	}
	return defaultIdle
}

// firstLimit returns the maximum time until the first byte of the answer to a body of the
// given size.
func (p *patience) firstLimit(body int64) time.Duration {
	if p.fixed > 0 || body < minBody {
		return p.betweenLimit()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slowest == 0 { //control:measured-patience
		return min(defaultIdle+seconds(float64(body)/unknownRate), maxWait)
	}
	return min(settling+seconds(margin*float64(body)/p.slowest), maxWait)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// record records the time until the first byte of an answer.
func (p *patience) record(body int64, took time.Duration) {
	if body < minBody {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rate := float64(body) / max(took, time.Millisecond).Seconds(); p.slowest == 0 || rate < p.slowest {
		p.slowest = rate
	}
}

// reset discards the measurements: the server stayed silent for longer than they
// allow.
func (p *patience) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = 0
}

// Silent reports whether err means that the server fell silent, and may hang.
func Silent(err error) bool { return errors.Is(err, errIdle) }
