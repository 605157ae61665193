package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
)

// starts is a runner whose starts end with these errors, one after another.
type starts []error

func (s *starts) Start(context.Context) error {
	err := (*s)[0]
	*s = (*s)[1:]
	return err
}

func (s *starts) Stop(context.Context) error { return nil }

func (s *starts) StopAndCancel(context.Context) error { return nil }

// TestPatientStart: a runner that gave up while another process held the file is started again, and
// nothing but the end of the program ends that.
func TestPatientStart(t *testing.T) {
	t.Parallel()
	slow := fmt.Errorf("start of the producer timed out after 10s: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		starts starts
		left   int
		fails  bool
	}{
		"at once":      {starts: starts{nil}},
		"timed out":    {starts: starts{slow, slow, nil}},
		"other errors": {starts: starts{context.Canceled, nil}, left: 1, fails: true},
	} {
		jobs := patientJobs{&c.starts, slog.New(slog.DiscardHandler)}
		if err := jobs.Start(t.Context()); (err != nil) != c.fails || len(c.starts) != c.left {
			t.Errorf("%s: %v, %d starts are left", name, err, len(c.starts))
		}
	}
	gone, end := context.WithCancel(t.Context())
	end()
	once := starts{slow, nil}
	if err := (patientJobs{&once, slog.New(slog.DiscardHandler)}).Start(gone); err == nil || len(once) != 1 {
		t.Errorf("at the end of the program it goes on: %v", err)
	}
}
