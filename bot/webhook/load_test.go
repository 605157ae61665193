package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/webhook"
)

// BenchmarkLoad sends 1,000 deliveries in each iteration, which takes one second, over
// loopback into SQLite, then to a handler that appends them to a file and syncs it, and to one
// that only reads them: -benchtime=60x is a minute of each. It reports how long the answers took.
func BenchmarkLoad(b *testing.B) {
	b.Run("handrail", func(b *testing.B) {
		db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		}()
		load(b, handler(b, webhook.Config{Intake: db.Deliveries}))
	})
	b.Run("file", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "deliveries"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		var one sync.Mutex
		load(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			one.Lock()
			defer one.Unlock()
			if err == nil {
				_, err = f.Write(body)
			}
			if err == nil && f.Sync() == nil {
				w.WriteHeader(http.StatusAccepted)
			}
		}))
	})
	b.Run("bare", func(b *testing.B) {
		load(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				w.WriteHeader(http.StatusAccepted)
			}
		}))
	})
}

func load(b *testing.B, h http.Handler) {
	b.Helper()
	const rate = 1000
	server := httptest.NewServer(h)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	var senders sync.WaitGroup
	due := make(chan *http.Request, rate)
	for range 64 {
		senders.Go(func() {
			for r := range due {
				began := time.Now()
				send(b, client, r)
				d := time.Since(began)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	n := 0
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.Loop() {
		for range 100 {
			<-tick.C
			for range rate / 100 {
				due <- delivery(b, server.URL, n)
				n++
			}
		}
	}
	close(due)
	senders.Wait()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	slices.Sort(took)
	for name, part := range map[string]int{"p50-ms": 50, "p99-ms": 99} {
		b.ReportMetric(float64(took[len(took)*part/100].Microseconds())/1000, name)
	}
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(float64(memory.Sys>>20), "MiB")
}

// pad has about the size of an issue comment.
var pad = strings.Repeat("x", 8<<10)

// delivery returns a signed request: to sign it is the sender's time.
func delivery(b *testing.B, url string, i int) *http.Request {
	b.Helper()
	body := fmt.Sprintf(`{"comment":{"id":%d,"updated_at":"x"},"issue":{"number":%d},"repository":{"full_name":"octo/hello"},"sender":{"login":"octocat"},"pad":"%s"}`, i, i%200, pad)
	made := request(fmt.Sprint("d", i), "issue_comment", body)
	r, err := http.NewRequestWithContext(context.WithoutCancel(b.Context()), http.MethodPost, url+"/webhook", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header = made.Header
	return r
}

func send(b *testing.B, client *http.Client, r *http.Request) {
	b.Helper()
	resp, err := client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // an answer read to its end keeps the connection
		b.Error(err)
	}
	if resp.StatusCode != http.StatusAccepted {
		b.Errorf("status is %d", resp.StatusCode)
	}
}
