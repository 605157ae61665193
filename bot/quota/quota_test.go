package quota_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/quota"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// In no stretch of time of its length are more tokens taken than a bucket
// has, and Wait says exactly when the next one is there.
func TestBucket(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := quota.Bucket{Size: 1 + rng.IntN(9), Per: time.Duration(1+rng.IntN(50)) * time.Second, Share: rng.IntN(2) * 4}
		reserve := rng.IntN(b.Size)
		now := start
		var taken []time.Time
		for range 400 {
			by := string(rune('a' + rng.IntN(3)))
			wait := b.Wait(now, by, reserve)
			if wait > 0 {
				if early := b.Wait(now.Add(wait-1), by, reserve); early == 0 {
					t.Fatalf("seed %d: a token is there before the %s that were said", seed, wait)
				}
				now = now.Add(wait)
				if b.Wait(now, by, reserve) != 0 {
					t.Fatalf("seed %d: no token after the %s that were said", seed, wait)
				}
			}
			b.Take(now, by)
			taken = append(taken, now)
			if n := len(taken) - (b.Size - reserve) - 1; n >= 0 && now.Sub(taken[n]) < b.Per {
				t.Fatalf("seed %d: %d tokens of %d taken in %s", seed, b.Size-reserve+1, b.Size-reserve, now.Sub(taken[n]))
			}
			now = now.Add(time.Duration(rng.Int64N(int64(3 * time.Second))))
		}
	}
	var none quota.Bucket
	none.Take(start, "a")
	if none.Wait(start, "a", 5) != 0 {
		t.Error("a bucket without a size has a limit")
	}
}

// One repository that wants everything leaves something for each that comes
// later, and in the end has no more than they have.
func TestFairShare(t *testing.T) {
	t.Parallel()
	w := quota.NewWrites(quota.Limits{PerHour: 500, Reserve: 20})
	now := start
	drain := func(repo string) int {
		n := 0
		for ; w.Wait(now, quota.Work, repo) == 0; n++ {
			w.Take(now, quota.Work, repo)
		}
		return n
	}
	for i, least := range []int{300, 50, 10, 2} {
		if got := drain(fmt.Sprint("greedy ", i)); got < least {
			t.Errorf("repository %d got %d writes, want at least %d", i, got, least)
		}
	}
	// An hour of two that ask all the time: each gets half.
	got := map[string]int{}
	for range 3 * 3600 {
		now = now.Add(time.Second)
		for _, repo := range []string{"greedy 0", "late"} {
			if w.Wait(now, quota.Work, repo) == 0 {
				w.Take(now, quota.Work, repo)
				got[repo]++
			}
		}
	}
	if a, b := got["greedy 0"], got["late"]; a < 300 || b < 300 || a > b*5/4 || b > a*5/4 {
		t.Errorf("in three hours %d and %d writes, want about as many", a, b)
	}
	if alone := quota.NewWrites(quota.Limits{PerHour: 500, Alone: true}); alone.Wait(now, quota.Work, "only") != 0 {
		t.Error("nothing may be written")
	}
}

// Who may still write when so much is spent.
func TestClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		spent                           int
		first, work, progress, outsider bool
	}{
		{0, true, true, true, true},
		{49, true, true, true, true},
		{50, true, true, false, false},
		{79, true, true, false, false},
		{80, true, false, false, false},
		{99, true, false, false, false},
		{100, false, false, false, false},
	} {
		w := quota.NewWrites(quota.Limits{PerHour: 100, Reserve: 20, Alone: true})
		for range tt.spent {
			w.Take(start, quota.Work, "r")
		}
		for class, want := range map[quota.Class]bool{quota.First: tt.first, quota.Work: tt.work, quota.Progress: tt.progress, quota.Outsider: tt.outsider} {
			if got := w.Wait(start, class, "r") == 0; got != want {
				t.Errorf("after %d of 100, class %d may write: %t, want %t", tt.spent, class, got, want)
			}
		}
	}
	w := quota.NewWrites(quota.Limits{PerMinute: 80, PerHour: 500, Reserve: 20})
	n := 0
	for ; w.Wait(start, quota.Outsider, fmt.Sprint("repo ", n)) == 0; n++ {
		w.Take(start, quota.Outsider, fmt.Sprint("repo ", n))
	}
	if n != 25 {
		t.Errorf("%d writes in an hour are for people without rights, want 25", n)
	}
}

// What matters more is written first, then the repository that wrote less.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := quota.NewWrites(quota.Limits{PerHour: 500})
	w.Take(start, quota.Work, "busy")
	turn := func(c quota.Class, repo string, after time.Duration) quota.Turn {
		return quota.Turn{Class: c, Repo: repo, Since: start.Add(after)}
	}
	order := []quota.Turn{
		turn(quota.First, "busy", time.Minute), turn(quota.Work, "quiet", time.Second), turn(quota.Work, "quiet", time.Minute),
		turn(quota.Work, "busy", 0), turn(quota.Progress, "quiet", 0), turn(quota.Outsider, "quiet", 0),
	}
	for i, a := range order {
		for j, b := range order {
			if got := w.Before(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%+v before %+v: %d", a, b, got)
			}
		}
	}
}

// A restart does not make GitHub forget.
func TestWritesAreKept(t *testing.T) {
	t.Parallel()
	old := quota.NewWrites(quota.Limits{PerMinute: 80, PerHour: 100, Alone: true})
	for range 100 {
		old.Take(start, quota.Work, "r")
	}
	data, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	now := quota.NewWrites(quota.Limits{PerMinute: 80, PerHour: 100, Alone: true})
	if err := json.Unmarshal(data, now); err != nil {
		t.Fatal(err)
	}
	if got := now.Wait(start.Add(time.Minute), quota.First, "r"); got != 59*time.Minute {
		t.Errorf("after the restart a write waits %s, want 59m", got)
	}
	if err := json.Unmarshal([]byte(`{"no":1}`), now); err == nil {
		t.Error("something else was read")
	}
}

// TestClockSetBack: writes that were kept while the clock was hours ahead count for an hour, as others do.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	old := quota.NewWrites(quota.Limits{PerMinute: 80, PerHour: 100})
	for range 100 {
		old.Take(start.Add(5*time.Hour), quota.Work, "r")
	}
	data, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	now := quota.NewWrites(quota.Limits{PerMinute: 80, PerHour: 100})
	now.Take(start, quota.Work, "r")
	if err := json.Unmarshal(data, now); err != nil {
		t.Fatal(err)
	}
	if got := now.Wait(start, quota.First, "r"); got != time.Hour {
		t.Errorf("a write waits %s, want an hour", got)
	}
	if got := now.Wait(start.Add(time.Hour), quota.First, "r"); got != 0 {
		t.Errorf("after an hour a write waits %s", got)
	}
}

// Each quota holds on its own, the reserve of all is for what is urgent, and
// nobody's flood takes what others may ask for.
func TestRequests(t *testing.T) {
	t.Parallel()
	one := quota.Request{Sender: "kim", Thread: "a/b#1", Repository: "a/b", Installation: "1"}
	with := func(change func(*quota.Request)) quota.Request {
		r := one
		change(&r)
		return r
	}
	for name, tt := range map[string]struct {
		limits quota.Hourly
		other  quota.Request // not held up by what the first one asked
		same   quota.Request // held up with it
		most   int
	}{
		"sender": {
			quota.Hourly{Sender: 10}, with(func(r *quota.Request) { r.Sender = "sam" }),
			with(func(r *quota.Request) { r.Thread, r.Repository, r.Installation = "c/d#1", "c/d", "2" }), 8,
		},
		"thread": {
			quota.Hourly{Thread: 10}, with(func(r *quota.Request) { r.Thread = "a/b#2" }), one, 7,
		},
		"others in the thread": {quota.Hourly{Thread: 10}, with(func(r *quota.Request) { r.Sender = "sam" }), one, 7},
		"repository": {
			quota.Hourly{Repository: 10}, with(func(r *quota.Request) { r.Repository = "c/d" }),
			with(func(r *quota.Request) { r.Thread = "a/b#2" }), 7,
		},
		"installation":                     {quota.Hourly{Installation: 10}, with(func(r *quota.Request) { r.Installation = "2" }), one, 7},
		"others of the installation":       {quota.Hourly{Installation: 10}, with(func(r *quota.Request) { r.Repository = "c/d" }), one, 7},
		"what is urgent, of the same":      {quota.Hourly{Sender: 10, Thread: 20, Repository: 20, Installation: 20}, with(func(r *quota.Request) { r.Urgent = true }), one, 8},
		"what is urgent, in a full thread": {quota.Hourly{Thread: 10}, with(func(r *quota.Request) { r.Urgent = true }), one, 7},
	} {
		q, n := quota.NewRequests(tt.limits), 0
		for ; q.Wait(start, one) == 0 && n < 1000; n++ {
			q.Take(start, one)
		}
		if n != tt.most {
			t.Errorf("%s: %d requests at once, want %d", name, n, tt.most)
		}
		if q.Wait(start, tt.other) != 0 {
			t.Errorf("%s: %+v is held up", name, tt.other)
		}
		if q.Wait(start, tt.same) == 0 {
			t.Errorf("%s: %+v is not held up", name, tt.same)
		}
		if q.Wait(start.Add(time.Hour), one) != 0 {
			t.Errorf("%s: it is held up an hour later", name)
		}
	}
}

// A flood of names takes a bounded amount of memory, and whoever is at the
// limit stays there.
func TestManyNames(t *testing.T) {
	t.Parallel()
	g := quota.Group{Bucket: quota.Bucket{Size: 1, Per: time.Hour}}
	for i := range 10_050 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		b := g.Of(fmt.Sprint(i), at)
		b.Take(at, "")
	}
	late := start.Add(time.Minute)
	if g.Of("10049", late).Wait(late, "", 0) == 0 {
		t.Error("the newest is forgotten")
	}
	if g.Of("3", late).Wait(late, "", 0) != 0 {
		t.Error("nothing is forgotten")
	}
}
