package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// token lets the server work with the token of a person, in place of an App.
func (s *stage) token(_ *testscript.TestScript, args []string) error {
	token, err := s.gh.Token(args[0])
	s.env = slices.DeleteFunc(s.env, func(kv string) bool {
		return strings.HasPrefix(kv, "HANDRAIL_APP_ID=") || strings.HasPrefix(kv, "HANDRAIL_PRIVATE_KEY_FILE=") || strings.HasPrefix(kv, "HANDRAIL_GITHUB_TOKEN=")
	})
	s.env = append(s.env, "HANDRAIL_GITHUB_TOKEN="+token, "HANDRAIL_REPOSITORY="+scriptRepository)
	return err
}

// again sends the last delivery of an event once more, as one of its own, with
// values changed: PATH=VALUE, where a value is JSON, or a text. The value of a
// path to a user is a login.
func (s *stage) again(_ *testscript.TestScript, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.gh.Flush(ctx); err != nil {
		return err
	}
	var last *ghtest.Delivery
	for _, d := range s.gh.Deliveries() {
		if d.Event == args[0] {
			last = &d
		}
	}
	if last == nil {
		return fmt.Errorf("there was no %s yet", args[0])
	}
	var payload map[string]any
	if err := json.Unmarshal(last.Payload, &payload); err != nil {
		return err
	}
	for _, change := range args[1:] {
		path, value, ok := strings.Cut(change, "=")
		if !ok {
			return errors.New("write PATH=VALUE")
		}
		at, keys := payload, strings.Split(path, ".")
		for _, k := range keys[:len(keys)-1] {
			inner, ok := at[k].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[k] = inner
			}
			at = inner
		}
		var v any
		name := keys[len(keys)-1]
		if name == "sender" || name == "user" {
			v = map[string]any{"login": value, "id": s.gh.UserID(value), "type": "User"}
		} else if json.Unmarshal([]byte(value), &v) != nil {
			v = s.names.real(value)
		}
		at[name] = v
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	s.sent++
	if !s.gh.Enqueue(&ghtest.Delivery{GUID: fmt.Sprintf("again-%d", s.sent), Event: last.Event, Action: last.Action, Payload: body}) {
		return errors.New("no server runs; begin with serve")
	}
	return nil
}
