package session

import (
	"bytes"
	"context"
	"encoding/json"
)

// Shell is the state of the shell and of the command output according to a log.
type Shell struct {
	Dir     string // current directory, relative to the root; "" before the first command
	Handles int    // number of handles issued
	Kept    int    // bytes of logged output beyond the text for the model
}

// addResult applies a result. It drops the output, which can be long, from the state.
func (s *Shell) addResult(p *Result) {
	if p.Dir != "" {
		s.Dir = p.Dir
	}
	if p.Handle != "" {
		s.Handles++
	}
	s.Kept += len(p.Output)
	p.Output = ""
}

// OutputOf returns the whole output stored in a log under a handle. It returns false
// if there is none.
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
