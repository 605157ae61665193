package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/store"
)

func at(thread, sender string, priority, age int) *offer {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Second)
	return &offer{Waiting: store.Waiting{Thread: thread, Sender: sender, Priority: priority, Since: since}}
}

func take(s *slots) []string {
	var out []string
	for o := s.next(); o != nil; o = s.next() {
		out = append(out, o.Thread)
	}
	return out
}

func TestSlots(t *testing.T) {
	tests := map[string]struct {
		limits Limits
		offers []*offer
		want   []string
	}{
		"age": {
			Limits{Total: 3, Repo: 3, User: 3},
			[]*offer{at("a/a#1", "u", 3, 1), at("a/a#2", "u", 3, 3), at("a/a#3", "u", 3, 2)},
			[]string{"a/a#2", "a/a#3", "a/a#1"},
		},
		"total": {
			Limits{Total: 2, Repo: 2, User: 9},
			[]*offer{at("a/a#1", "u", 3, 3), at("b/b#1", "v", 3, 2), at("c/c#1", "w", 3, 1)},
			[]string{"a/a#1", "b/b#1"},
		},
		"repository": {
			Limits{Total: 9, Repo: 1, User: 9},
			[]*offer{at("a/a#1", "u", 3, 3), at("a/a#2", "v", 3, 2), at("a/ab#1", "w", 3, 1)},
			[]string{"a/a#1", "a/ab#1"},
		},
		"user": {
			Limits{Total: 9, Repo: 9, User: 1},
			[]*offer{at("a/a#1", "u", 3, 4), at("b/b#1", "u", 3, 3), at("c/c#1", "", 3, 2), at("c/c#2", "", 3, 1)},
			[]string{"a/a#1", "c/c#1", "c/c#2"},
		},
		"priority before age": {
			Limits{Total: 2, Repo: 2, User: 9},
			[]*offer{at("a/a#1", "u", 4, 9), at("b/b#1", "v", 2, 1), at("c/c#1", "w", 1, 1)},
			[]string{"c/c#1", "b/b#1"},
		},
		"every repository has its turn": {
			Limits{Total: 4, Repo: 4, User: 9},
			[]*offer{at("a/a#1", "u", 3, 9), at("a/a#2", "u", 3, 8), at("a/a#3", "u", 3, 7), at("b/b#1", "v", 3, 1), at("b/b#2", "v", 3, 1)},
			[]string{"a/a#1", "b/b#1", "a/a#2", "b/b#2"},
		},
		"every requester has a turn": {
			Limits{Total: 4, Repo: 4, User: 4},
			[]*offer{at("a/a#1", "u", 3, 9), at("a/a#2", "u", 3, 8), at("a/a#3", "u", 3, 7), at("a/a#4", "v", 3, 2), at("a/a#5", "v", 3, 1)},
			[]string{"a/a#1", "a/a#4", "a/a#2", "a/a#5"},
		},
		"reserve for answers": {
			Limits{Total: 1, Repo: 9, User: 9, Reserve: 1},
			[]*offer{at("a/a#1", "u", 3, 9), at("a/a#2", "u", 3, 8), at("b/b#1", "v", 2, 1), at("b/b#2", "v", 2, 1)},
			[]string{"b/b#1", "b/b#2"},
		},
		"one offer for each thread": {
			Limits{Total: 9, Repo: 9, User: 9},
			[]*offer{at("a/a#1", "u", 3, 9), at("a/a#1", "v", 2, 1)},
			[]string{"a/a#1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSlots(test.limits)
			for _, o := range test.offers {
				s.add(o)
			}
			if diff := cmp.Diff(test.want, take(s)); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlotsAgain(t *testing.T) {
	s := newSlots(Limits{Total: 1, Repo: 1, User: 1})
	s.add(at("a/a#1", "u", 3, 1))
	first := s.next()
	if !s.add(at("a/a#1", "u", 3, 0)) {
		t.Error("an offer of a thread that runs is not told")
	}
	s.add(at("b/b#1", "u", 3, 0))
	if got := take(s); got != nil {
		t.Errorf("started %v above the limit", got)
	}
	s.done(first)
	if diff := cmp.Diff([]string{"a/a#1"}, take(s)); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
	s.done(first)
	if diff := cmp.Diff([]string{"b/b#1"}, take(s)); diff != "" {
		t.Errorf("after the second end (-want +got):\n%s", diff)
	}
	if len(s.users) != 1 || len(s.repos) != 1 || len(s.again) != 0 {
		t.Errorf("counts are kept: %v %v %v", s.users, s.repos, s.again)
	}
}

func TestSlotsBounded(t *testing.T) {
	s := newSlots(Limits{})
	for i := range 2 * maxWaiting {
		s.add(at("a/a#"+string(rune('0'+i)), "u", 3, 0))
	}
	if len(s.waiting) != maxWaiting {
		t.Errorf("%d threads wait in memory, want %d", len(s.waiting), maxWaiting)
	}
}
