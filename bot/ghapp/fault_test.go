package ghapp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func count(w *world, key string) int {
	n := 0
	for _, c := range w.gh.Thread(w.issue).Comments {
		if strings.HasSuffix(c.Body, "<!-- handrail:"+key+" -->") {
			n++
		}
	}
	return n
}

// effect carries a write out as the bot does after a crash: an unknown outcome
// is looked up after the settle time, and only then is the write repeated.
func (w *world) effect(ctx context.Context, wr ghapp.Write, settle bool) error {
	for range 50 {
		_, err := w.client.Perform(ctx, wr)
		switch {
		case err == nil:
			return nil
		case ghapp.KindOf(err) == ghapp.Temporary:
			continue
		case ghapp.KindOf(err) == ghapp.Permanent:
			return err
		}
		if settle {
			if err := w.gh.Settled(ctx); err != nil {
				return err
			}
		}
		for {
			_, done, err := w.client.Find(ctx, wr)
			if err == nil && done {
				return nil
			}
			if err == nil {
				break
			}
		}
	}
	return errors.New("too many attempts")
}

// TestNoDuplicates: GitHub loses answers, commits late and fails, and yet
// every comment is there exactly once. Without the settle time the same run
// makes duplicates, which shows that the faults bite.
func TestNoDuplicates(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	run := func(t *testing.T, settle bool) (missing, double int) {
		ctx := context.Background()
		w := newWorld(t)
		_, err := w.client.Self(ctx)
		must(t, err)
		w.gh.SetFaults(ghcheck.Faults{Seed: 7, BadGateway: 0.1, Lost: 0.15, Late: 0.25, LateBy: 30 * time.Millisecond,
			Match: func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "access_tokens") }})
		const n = 60
		for i := range n {
			must(t, w.effect(ctx, ghapp.Write{Key: fmt.Sprintf("s/%d", i), Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}, settle))
		}
		if got := w.gh.FaultsInjected(); got < n/4 {
			t.Errorf("only %d faults were injected", got)
		}
		w.gh.SetFaults(ghcheck.Faults{})
		must(t, w.gh.Close()) // waits for the late ones
		for i := range n {
			switch got := count(w, fmt.Sprintf("s/%d", i)); {
			case got == 0:
				missing++
			case got > 1:
				double++
			}
		}
		return missing, double
	}
	if missing, double := run(t, true); missing != 0 || double != 0 {
		t.Errorf("with settle time: %d missing, %d double", missing, double)
	}
	if missing, double := run(t, false); missing != 0 || double == 0 {
		t.Errorf("without settle time: %d missing, %d double; the faults do not bite", missing, double)
	}
}

// TestWritesAreNotRepeated: the client itself sends a write once, whatever
// happens, and says that it does not know.
func TestWritesAreNotRepeated(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	for name, f := range map[string]ghcheck.Faults{"lost": {Lost: 1}, "bad gateway": {BadGateway: 1}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.client.Perform(ctx, ghapp.Write{Key: "first", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}) // has a token now
			must(t, err)
			posts := 0
			var mu sync.Mutex
			f.Match = func(r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == http.MethodPost {
					posts++
				}
				return r.Method == http.MethodPost
			}
			w.gh.SetFaults(f)
			_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
			if ghapp.KindOf(err) != ghapp.Unknown {
				t.Errorf("err = %v (%v), want unknown", err, ghapp.KindOf(err))
			}
			mu.Lock()
			defer mu.Unlock()
			if posts != 1 {
				t.Errorf("the write was sent %d times", posts)
			}
		})
	}
}

// TestHourlyLimit: what is over GitHub's limit is not sent, and the error says
// when there is room again.
func TestHourlyLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { ac.Limits.PerHour = 3 })
	for i := range 5 {
		_, err := w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
		var e *ghapp.Error
		if i < 3 && err != nil {
			t.Fatal(err)
		}
		if i >= 3 && (!errors.As(err, &e) || e.Kind != ghapp.Temporary || e.RetryAfter < 59*time.Minute) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got := count(w, "k"); got != 3 {
		t.Errorf("%d comments, want 3", got)
	}
	if _, err := w.client.Issue(ctx, w.issue); err != nil {
		t.Errorf("a read was held up: %v", err)
	}
}

// TestTokenCannotBeHad: why there is no token decides what to do.
func TestTokenCannotBeHad(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	tests := []struct {
		name   string
		faults ghcheck.Faults
		kind   ghapp.Kind
		after  time.Duration
	}{
		{"rate limit", ghcheck.Faults{Secondary: 1, RetryAfter: 50 * time.Second}, ghapp.Temporary, 50 * time.Second},
		{"bad gateway", ghcheck.Faults{BadGateway: 1}, ghapp.Temporary, 0},
		{"lost", ghcheck.Faults{Lost: 1}, ghapp.Temporary, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.faults.Match = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/access_tokens") }
			w.gh.SetFaults(tt.faults)
			_, err := w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
			var e *ghapp.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.RetryAfter != tt.after || count(w, "k") != 0 {
				t.Errorf("err = %v (%v)", err, ghapp.KindOf(err))
			}
		})
	}
	w := newWorld(t)
	c, err := w.app.For(ctx, w.issue, 424242)
	must(t, err)
	if _, err := c.Issue(ctx, w.issue); !errors.Is(err, ghapp.ErrNotFound) || ghapp.KindOf(err) != ghapp.Permanent {
		t.Errorf("an installation that is not there: %v", err)
	}
}

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	n := 0
	w.gh.SetFaults(ghcheck.Faults{BadGateway: 1, Match: func(r *http.Request) bool {
		if r.Method == http.MethodGet {
			n++
		}
		return r.Method == http.MethodGet && n <= 3
	}})
	if _, err := w.client.Issue(ctx, w.issue); err != nil || n != 4 {
		t.Errorf("after %d tries: %v", n, err)
	}
}

// TestSecondaryLimit: a short one is sat out, and the write is then done once;
// a long one is an error that says how long.
func TestSecondaryLimit(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { ac.MaxSleep = 2 * time.Second })
	_, err := w.client.Perform(ctx, ghapp.Write{Key: "first", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}) // has a token now
	must(t, err)
	hits := 0
	w.gh.SetFaults(ghcheck.Faults{Secondary: 1, RetryAfter: time.Second, Match: func(*http.Request) bool { hits++; return hits == 1 }})
	began := time.Now()
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	if err != nil || count(w, "k") != 1 || time.Since(began) < time.Second {
		t.Errorf("after %v: %v, %d comments", time.Since(began), err, count(w, "k"))
	}
	w.gh.SetFaults(ghcheck.Faults{Secondary: 1, RetryAfter: 90 * time.Second})
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k2", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	var e *ghapp.Error
	if !errors.As(err, &e) || e.Kind != ghapp.Temporary || e.RetryAfter < 80*time.Second || count(w, "k2") != 0 {
		t.Errorf("err = %#v", err)
	}
}

func TestPrimaryLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	_, err := w.client.Repo(ctx)
	must(t, err)
	reset := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	w.gh.SetRateLimit(0, reset)
	_, err = w.client.Repo(ctx)
	var e *ghapp.Error
	if !errors.As(err, &e) || e.Kind != ghapp.Temporary || !e.Reset.Equal(reset) || e.RetryAfter < 9*time.Minute {
		t.Fatalf("err = %#v", err)
	}
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	if ghapp.KindOf(err) != ghapp.Temporary {
		t.Errorf("a write over the limit: %v (%v)", err, ghapp.KindOf(err))
	}
}

// TestRevokedToken: a token that GitHub no longer takes is renewed, once, also
// for a write.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	_, err := w.client.Issue(ctx, w.issue)
	must(t, err)
	w.gh.RevokeTokens()
	_, err = w.client.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	if err != nil || count(w, "k") != 1 {
		t.Errorf("after revocation: %v, %d comments", err, count(w, "k"))
	}
	tok, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), Token: "ghp_wrong", Spacing: -1})
	must(t, err)
	c, err := tok.For(ctx, w.issue, 0)
	must(t, err)
	if _, err := c.Issue(ctx, w.issue); !errors.Is(err, ghapp.ErrForbidden) || ghapp.KindOf(err) != ghapp.Temporary {
		t.Errorf("a wrong token: %v", err)
	}
}

// TestSpacing: writes of one installation are serial and apart, reads are not
// held up.
func TestSpacing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const spacing = 60 * time.Millisecond
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { ac.Spacing = spacing })
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			_, err := w.client.Perform(ctx, ghapp.Write{Key: fmt.Sprintf("k%d", i), Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took < 3*spacing {
		t.Errorf("four writes took %v, want at least %v", took, 3*spacing)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.client.Perform(short, ghapp.Write{Key: "late", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"}); err == nil {
		t.Error("a canceled write was sent")
	}
	if count(w, "late") != 0 {
		t.Error("a canceled write was done")
	}
}

// TestUnreachable: nothing listens, so nothing was done.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	tok, err := ghapp.New(ghapp.Config{APIURL: "http://127.0.0.1:1", Token: "x", Login: "bot", Spacing: -1, Backoff: time.Millisecond})
	must(t, err)
	c, err := tok.For(ctx, w.issue, 0)
	must(t, err)
	_, err = c.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
	if ghapp.KindOf(err) != ghapp.Temporary {
		t.Errorf("err = %v (%v), want temporary", err, ghapp.KindOf(err))
	}
}
