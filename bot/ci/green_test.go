package ci

import (
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/reads"
)

// TestDraftWaits: a draft stays one while a check runs, and for the moment after the last
// check in which the next one may begin.
func TestDraftWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		is   reads.Standing
		want time.Duration
	}{
		{"none", reads.Standing{}, pause},
		{"one runs", reads.Standing{Running: []string{"test"}, Passed: []string{"lint"}, Changed: now.Add(-time.Hour)}, pause},
		{"one failed", reads.Standing{Failed: []string{"test"}, Passed: []string{"lint"}, Changed: now.Add(-time.Hour)}, pause},
		{"the last has just passed", reads.Standing{Passed: []string{"test"}, Changed: now.Add(-4 * time.Second)}, 6 * time.Second},
		{"a while ago", reads.Standing{Passed: []string{"test"}, Changed: now.Add(-time.Minute)}, 0},
		{"without times", reads.Standing{Passed: []string{"test"}}, 0},
	} {
		if got := waitOf(tt.is, now, 10*time.Second); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
