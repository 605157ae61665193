package session

import (
	"bytes"
	"context"
	"encoding/json"
)

// Shell is what a log says of the shell that commands run in, and of what they printed.
type Shell struct {
	Dir     string // where it stands, relative to the root; "" before the first command
	Handles int    // that were given out
	Kept    int    // bytes of output that the log has besides what the model was told
}

// ran takes in a result. The state of a session does not hold the output, which
// can be long.
func (s *Shell) ran(p *Result) {
	if p.Dir != "" {
		s.Dir = p.Dir
	}
	if p.Handle != "" {
		s.Handles++
	}
	s.Kept += len(p.Output)
	p.Output = ""
}

// OutputOf returns the whole output that a log has under a handle. It reports false
// where there is none.
func OutputOf(ctx context.Context, log Log, handle string) (string, bool, error) {
	events, err := log.Events(ctx, 0)
	if err != nil {
		return "", false, err
	}
	name, err := json.Marshal(handle)
	if err != nil {
		return "", false, err
	}
	for _, e := range events {
		if e.Type != TypeResult || !bytes.Contains(e.Data, name) {
			continue
		}
		if p, err := Decode[Result](e); err != nil || p.Handle == handle && p.Output != "" {
			return p.Output, err == nil, err
		}
	}
	return "", false, nil
}
