package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	loadRate = flag.Int("load.rate", 100, "deliveries a second")
	loadTime = flag.Duration("load.time", time.Duration(form(1, 6))*time.Second, "how long")
)

const loadThreads = 200

// TestLoad sends signed deliveries to the real server, which is another
// process, at a steady rate, and counts what it has stored. The same is sent
// to a bare handler for comparison. The long form is `make load`.
func TestLoad(t *testing.T) {
	longtest.Leave(t)
	stage := newCrashStage(t)
	stage.dir = t.TempDir() // on the disk, as a server's is
	w := stage.world(t, ghcheck.Faults{})
	w.gh.SetWebhook("")
	w.start(t, 0)
	l := &loader{url: "http://" + w.child.Listen + "/webhook", secret: w.child.Secret, repo: w.repo}
	got := l.run(t)
	memory := residentMiB(t, w.cmd.Process.Pid)
	w.kill()
	bare := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(http.StatusAccepted)
	}))
	defer bare.Close()
	plain := (&loader{url: bare.URL, secret: w.child.Secret, repo: w.repo}).run(t)
	lost, stored := w.stored(t, got.ids)
	t.Logf("load: %d deliveries in %s, p50 %s, p99 %s, max %s; bare handler p50 %s, p99 %s; lost %d, duplicates %d, refused %d, %d MiB resident",
		len(got.ids), *loadTime, got.at(50), got.at(99), got.at(100), plain.at(50), plain.at(99), lost, max(0, stored-len(got.ids)-got.refused), got.refused, memory)
	if lost != 0 || stored != len(got.ids) || got.refused != 0 {
		t.Errorf("lost %d, stored %d of %d, refused %d", lost, stored, len(got.ids), got.refused)
	}
	if *loadTime >= time.Minute && (got.at(99) > 250*time.Millisecond || memory > 1024) {
		t.Errorf("p99 is %s, more than 250ms, or %d MiB are more than 1024", got.at(99), memory)
	}
}

// loader is a sender that keeps its rate whatever the receiver does.
type loader struct {
	url, secret, repo string
}

type loaded struct {
	ids     []string
	times   []time.Duration
	refused int
}

// at returns a percentile.
func (l loaded) at(percent int) time.Duration {
	if len(l.times) == 0 {
		return 0
	}
	return l.times[min(len(l.times)-1, len(l.times)*percent/100)].Round(10 * time.Microsecond)
}

func (l *loader) run(t *testing.T) loaded {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var out loaded
	var wg sync.WaitGroup
	total := int(float64(*loadRate) * loadTime.Seconds())
	begin := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for sent := 0; sent < total; {
		<-tick.C
		due := min(total, int(time.Since(begin).Seconds()*float64(*loadRate)))
		for ; sent < due; sent++ {
			n := sent
			wg.Go(func() {
				id, took, ok := l.send(t.Context(), client, n)
				mu.Lock()
				defer mu.Unlock()
				if !ok {
					out.refused++
					return
				}
				out.ids = append(out.ids, id)
				out.times = append(out.times, took)
			})
		}
	}
	wg.Wait()
	slices.Sort(out.times)
	return out
}

// send posts one comment and, every tenth time, posts it twice.
func (l *loader) send(ctx context.Context, client *http.Client, n int) (id string, took time.Duration, ok bool) {
	owner, name, _ := strings.Cut(l.repo, "/")
	at := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC).Format(time.RFC3339)
	user := map[string]any{"login": fmt.Sprintf("person-%d", n), "id": 1000 + n, "type": "User"} // a flood of one account is not kept
	body, err := json.Marshal(map[string]any{
		"action": "created", "sender": user, "installation": map[string]any{"id": 1},
		"repository": map[string]any{"id": 1, "name": name, "full_name": l.repo, "owner": map[string]any{"login": owner}},
		"issue":      map[string]any{"number": 1000 + n%loadThreads, "title": "t", "body": strings.Repeat("text ", 200)},
		"comment":    map[string]any{"id": 1000 + n, "body": "/agent help", "user": user, "created_at": at, "updated_at": at},
	})
	if err != nil {
		return "", 0, false
	}
	id = fmt.Sprintf("load-%d", n)
	for range 1 + n%10/9 {
		begin := time.Now()
		if ok = l.post(ctx, client, id, body); !ok {
			return id, 0, false
		}
		took = time.Since(begin)
	}
	return id, took, ok
}

func (l *loader) post(ctx context.Context, client *http.Client, id string, body []byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "issue_comment")
	req.Header.Set("X-GitHub-Delivery", id)
	req.Header.Set("X-Hub-Signature-256", ghtest.Sign(l.secret, body))
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusAccepted
}

// stored looks into the database: how many of ids are not there, and how many
// deliveries are.
func (w *crashWorld) stored(t *testing.T, ids []string) (lost, all int) {
	t.Helper()
	s, err := records.Open(t.Context(), config.Server{Data: w.child.Data}, logger(&w.log, "error"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	unknown, err := s.Deliveries.Unknown(t.Context(), ids...)
	must(t, err)
	// Whatever is not done yet is finished here; Prune then counts them all.
	for n := range loadThreads {
		ref := thread.Ref{Owner: strings.Split(w.repo, "/")[0], Repo: strings.Split(w.repo, "/")[1], Number: 1000 + n}
		for {
			d, err := s.Deliveries.Next(t.Context(), ref.Key())
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			must(t, err)
			must(t, s.Deliveries.Done(t.Context(), "", d.ID))
		}
	}
	all, err = s.Deliveries.Prune(t.Context(), time.Now().Add(time.Hour))
	must(t, err)
	return len(unknown), all
}

// residentMiB is the memory of a process, with the pages of the program's file.
func residentMiB(t *testing.T, pid int) int {
	resident, _ := memoryMiB(t, pid)
	return resident
}

// ownMiB is the memory of a process that no file backs.
func ownMiB(t *testing.T, pid int) int {
	resident, shared := memoryMiB(t, pid)
	return resident - shared
}

func memoryMiB(t testing.TB, pid int) (resident, shared int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0, 0
	}
	var all int
	if _, err = fmt.Sscan(string(text), &all, &resident, &shared); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	return resident * page >> 20, shared * page >> 20
}
