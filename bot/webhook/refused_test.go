package webhook_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/webhook"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *lines) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// Requests that nobody signed fill no disk: some are logged, the others are
// counted, and none is lost in the count.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	log := &lines{}
	h := handler(t, webhook.Config{Intake: &memory{}, Log: slog.New(slog.NewTextHandler(log, nil))})
	const all = 2000
	began := time.Now()
	for i := range all {
		r := request(fmt.Sprint("d", i), "issue_comment", comment)
		switch i % 4 {
		case 0:
			r.Header.Del("X-Hub-Signature-256")
		case 1:
			r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		case 2:
			r.URL.Path = "/" + strings.Repeat("x", 500)
		case 3:
			r.Method = "PUT"
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	took := time.Since(began)
	said, counted := 0, 0
	for until := time.Now().Add(10 * time.Minute); time.Now().Before(until); {
		said, counted = 0, 0
		for line := range strings.Lines(log.String()) {
			var n int
			if _, rest, ok := strings.Cut(line, "count="); ok {
				_, _ = fmt.Sscan(rest, &n)
				counted += n
				continue
			}
			said++
		}
		if said+counted == all {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if most := 5 * (2 + int(took.Seconds())); said+counted != all || said > most || said == 0 {
		t.Errorf("%d logged (want at most %d) and %d counted of %d, in %s", said, most, counted, all, took)
	}
	if long := len(log.String()); long > 20_000+1000*int(took.Seconds()) {
		t.Errorf("the log has %d bytes", long)
	}
}
