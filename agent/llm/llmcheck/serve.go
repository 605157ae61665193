package llmcheck

import (
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// TB is what of testing.TB is needed to serve a script.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Check reports to t what [llmtest.Server.Err] finds.
func Check(t TB, s *llmtest.Server) {
	t.Helper()
	if err := s.Err(); err != nil {
		t.Errorf("%v", err)
	}
}

// Serve starts the script and, when the test ends, stops it and checks it. A
// script that cannot be served fails the test and is answered by a server
// without an address.
func Serve(t TB, script llmtest.Script) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Start(script, Dialect)
	if err != nil {
		t.Errorf("%v", err)
		nowhere, _ := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{Say: "nothing", Optional: true}}}) // can be served
		return nowhere
	}
	t.Cleanup(func() {
		s.Close()
		Check(t, s)
	})
	return s
}
