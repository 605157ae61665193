package session

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Rewrite replaces the texts of an event's payload by what f makes of them,
// before it is stored. f is told the key that a text stands under; texts in a
// call's arguments come with the key "arguments". Names that the session is
// held together by (ids, digests, commits, paths, branches) are not texts and
// stay as they are. An event that f changes nothing in keeps its bytes.
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

// nameKeys are the keys of what is no text. "name" is a tool's or a file's,
// "data" the bytes of a picture.
var nameKeys = map[string]bool{
	"id": true, "key": true, "call": true, "tool": true, "kind": true, "digest": true, "verdict": true, "severity": true, "rule": true,
	"session": true, "thread": true, "mode": true, "model": true, "base": true, "head": true, "branch": true, "requester": true, "nonce": true,
	"commit": true, "tree": true, "parent": true, "path": true, "paths": true, "dir": true, "handle": true, "from": true, "blob": true, "approved": true, "was": true, "is": true,
	"status": true, "by": true, "author": true, "type": true, "data": true, "sealed": true, "do": true, "took_back": true, "deadline": true, "at": true,
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
			switch {
			case key == "arguments":
				v[k] = w.walk(key, x)
			case k == "name" && key == "calls", nameKeys[k]:
			default:
				v[k] = w.walk(k, x)
			}
		}
	}
	return v
}
