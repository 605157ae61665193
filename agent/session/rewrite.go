package session

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Rewrite replaces the texts in an event's payload with the results of f, before the
// event is stored. f is called with the key of each text; all texts in a call's
// arguments have the key "arguments". Identifying values (ids, digests, commits,
// paths, branches) are not texts and are kept. An event without changes keeps its
// bytes.
func Rewrite(e *Event, f func(key, text string) string) error {
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	dec.UseNumber()
	var payload any
	if err := dec.Decode(&payload); err != nil {
		return fmt.Errorf("rewrite %s event: %w", e.Type, err)
	}
	w := rewriter{f: f}
	payload = w.walk("", payload)
	if !w.changed {
		return nil
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("rewrite %s event: %w", e.Type, err)
	}
	e.Data = data
	return nil
}

// nameKeys are the keys of values that are not texts; "data" is the bytes of a
// picture. Besides them, the "name" of a call is skipped.
var nameKeys = map[string]bool{
	"id": true, "key": true, "call": true, "tool": true, "kind": true, "digest": true, "verdict": true, "severity": true, "rule": true,
	"session": true, "thread": true, "mode": true, "model": true, "base": true, "head": true, "branch": true, "requester": true, "nonce": true,
	"commit": true, "tree": true, "parent": true, "path": true, "paths": true, "dir": true, "handle": true, "from": true, "blob": true, "approved": true, "was": true, "is": true,
	"status": true, "by": true, "author": true, "type": true, "data": true, "sealed": true, "do": true, "took_back": true, "deadline": true, "at": true,
	"plan": true, "layer": true, "form": true, "image": true,
}

type rewriter struct {
	f       func(key, text string) string
	changed bool
}

func (w *rewriter) walk(key string, v any) any {
	switch v := v.(type) {
	case string:
		if out := w.f(key, v); out != v {
			w.changed = true
			return out
		}
	case []any:
		for i := range v {
			v[i] = w.walk(key, v[i])
		}
	case map[string]any:
		for k, x := range v {
			_, deeper := x.(map[string]any) // such as the image of a session, with the reason of the choice
			switch {
			case key == "arguments":
				v[k] = w.walk(key, x)
			case k == "name" && key == "calls", nameKeys[k] && !deeper:
			default:
				v[k] = w.walk(k, x)
			}
		}
	}
	return v
}
