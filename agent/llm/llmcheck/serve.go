package llmcheck

import (
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// TB is the part of testing.TB that a scripted server needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Check reports the error of [llmtest.Server.Err] to t.
func Check(t TB, s *llmtest.Server) {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Errorf("%v", err)
	}
}

// Serve starts the script, and stops and checks it when the test ends. If the script is
// invalid, the test fails and Serve returns a server without an address.
func Serve(t TB, script llmtest.Script) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Start(script, Dialect)
	if err != nil {
		t.Errorf("%v", err)
		nowhere, _ := llmtest.New(
			llmtest.Script{Turns: []llmtest.Turn{{Say: "nothing", Optional: true}}},
		) // this script is valid
		return nowhere
	}
	t.Cleanup(func() {
		s.Close()
		Check(t, s)
	})
	return s
}
