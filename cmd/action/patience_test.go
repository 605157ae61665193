package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/gitops"
)

// A run waits for a GitHub that is away, and for nothing that a person has to mend.
func TestPatient(t *testing.T) {
	away := fmt.Errorf("fetch: %w: 503", gitops.ErrUnavailable)
	for name, tt := range map[string]struct {
		err   error
		fails int // times
		took  time.Duration
		asked int
	}{
		"it answers":         {away, 0, 0, 1},
		"away, twice":        {away, 2, 6 * time.Second, 3},
		"away for too long":  {away, 99, 4 * time.Minute, 12},
		"busy":               {&ghapp.Error{Kind: ghapp.Temporary, Status: 429, RetryAfter: time.Minute}, 1, time.Minute, 2},
		"busy for an hour":   {&ghapp.Error{Kind: ghapp.Temporary, Status: 403, RetryAfter: time.Hour}, 1, 0, 1},
		"broken":             {fmt.Errorf("read: %w", &ghapp.Error{Kind: ghapp.Temporary, Status: 502}), 1, 2 * time.Second, 2},
		"its answer is lost": {fmt.Errorf("create: %w", &ghapp.Error{Kind: ghapp.Unknown}), 1, 2 * time.Second, 2},
		"a wrong token":      {&ghapp.Error{Kind: ghapp.Temporary, Status: 401}, 9, 0, 1},
		"a wrong token, git": {gitops.ErrAuth, 9, 0, 1},
		"not there":          {&ghapp.Error{Status: 404}, 9, 0, 1},
		"a fault of ours":    {errors.New("no such image"), 9, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said strings.Builder
				asked, began := 0, time.Now()
				got, err := Patient(t.Context(), &said, 4*time.Minute, func() (int, error) {
					if asked++; asked <= tt.fails {
						return 0, tt.err
					}
					return 7, nil
				})
				if lasts := tt.asked <= tt.fails; lasts != (err != nil) || !lasts && got != 7 || asked != tt.asked {
					t.Errorf("%d, %v after %d times", got, err, asked)
				}
				if took := time.Since(began); took > tt.took || tt.asked <= tt.fails && took < tt.took-longestPause || tt.asked > tt.fails && took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if n := strings.Count(said.String(), "asking again in "); n != tt.asked-1 {
					t.Errorf("said %d times:\n%s", n, said.String())
				}
			})
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Patient(ctx, &strings.Builder{}, time.Hour, func() (int, error) { return 0, away }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the job: %v", err)
	}
}
