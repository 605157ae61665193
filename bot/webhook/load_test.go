package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// BenchmarkLoad sends 1,000 deliveries in each iteration, which takes one
// second, over loopback into SQLite: -benchtime=60x is a minute. It reports
// how long the answers took.
func BenchmarkLoad(b *testing.B) {
	const rate = 1000
	db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	}()
	server := httptest.NewServer(handler(b, webhook.Config{Intake: db.Deliveries}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	var senders sync.WaitGroup
	due := make(chan int, rate)
	for range 64 {
		senders.Go(func() {
			for i := range due {
				began := time.Now()
				send(b, client, server.URL, i)
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
				due <- n
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

func send(b *testing.B, client *http.Client, url string, i int) {
	pad := strings.Repeat("x", 8<<10) // about what an issue comment takes
	body := fmt.Sprintf(`{"comment":{"id":%d,"updated_at":"x"},"issue":{"number":%d},"repository":{"full_name":"octo/hello"},"sender":{"login":"octocat"},"pad":%q}`, i, i%200, pad)
	made := request(fmt.Sprint("d", i), "issue_comment", body)
	r, err := http.NewRequestWithContext(context.WithoutCancel(b.Context()), http.MethodPost, url+"/webhook", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.Header = made.Header
	resp, err := client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != 202 {
		b.Errorf("status is %d", resp.StatusCode)
	}
}
