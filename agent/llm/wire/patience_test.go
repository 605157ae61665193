package wire

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// reader answers each request after the time that reading its body takes.
type reader struct {
	rate  float64 // bytes a second
	hangs bool
}

func (r *reader) RoundTrip(req *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { _ = body.CloseWithError(req.Context().Err()) })
	if !r.hangs {
		time.AfterFunc(seconds(float64(req.ContentLength)/r.rate), func() {
			_, _ = w.Write([]byte("x"))
			_ = w.Close()
		})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: req}, nil
}

// A prompt may take as long as the server's speed makes of it, and a server that hangs
// is not waited for as if it were slow.
func TestPatienceByThePrompt(t *testing.T) {
	for name, c := range map[string]struct {
		rate     float64
		prompts  []int // read one after the other
		hangs    int   // at a prompt of so many bytes
		min, max time.Duration
	}{
		"a small machine reads a long prompt": {rate: 120, prompts: []int{90_000, 100_000}},
		"slower than it was":                  {rate: 40, prompts: []int{5_000, 30_000}},
		"a fast server hangs":                 {rate: 20_000, prompts: []int{80_000}, hangs: 80_000, min: 2 * time.Minute, max: 3 * time.Minute},
		"a slow server hangs":                 {rate: 200, prompts: []int{40_000}, hangs: 80_000, min: 20 * time.Minute, max: 30 * time.Minute},
		"an unknown server hangs":             {hangs: 30_000, min: 5 * time.Minute, max: 11 * time.Minute},
		"a short question hangs":              {hangs: 300, min: 5 * time.Minute, max: 5 * time.Minute},
		"there is an end":                     {hangs: 9_000_000, min: 45 * time.Minute, max: 45 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &reader{rate: c.rate}
				client := newHTTP(&http.Client{Transport: server}, 0)
				ask := func(n int) (time.Duration, error) {
					start := time.Now()
					resp, err := Post(t.Context(), client, "http://server/", nil, make([]byte, n))
					if err != nil {
						t.Fatal(err)
					}
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					return time.Since(start), err
				}
				for _, n := range c.prompts {
					if took, err := ask(n); err != nil {
						t.Fatalf("%d bytes: after %s: %v", n, took, err)
					}
				}
				if server.hangs = c.hangs > 0; !server.hangs {
					return
				}
				took, err := ask(c.hangs)
				if !Silent(err) || took < c.min || took > c.max {
					t.Errorf("given up after %s: %v; want %s to %s", took, err, c.min, c.max)
				}
			})
		})
	}
}

// A limit that somebody set holds for everything, and a hang is forgotten as a measure.
func TestPatienceIsSet(t *testing.T) {
	p := &patience{fixed: time.Minute}
	if p.record(100_000, time.Hour); p.firstLimit(1_000_000) != time.Minute || p.betweenLimit() != time.Minute {
		t.Error(p.firstLimit(1_000_000), p.betweenLimit())
	}
	p = &patience{}
	p.record(100_000, time.Second)
	fast := p.firstLimit(100_000)
	if p.reset(); p.firstLimit(100_000) <= fast {
		t.Error("after a silence the next try is as impatient")
	}
}
