package speech_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
)

// Of a loss no more is told than is known: a count of tokens is no proof that a call was
// lost, and other calls of the answer may have run.
func TestLossesAreNoClaims(t *testing.T) {
	call := []session.Call{{Name: "read_file", Arguments: []byte("{}")}}
	for _, tt := range []struct {
		lost  string
		calls []session.Call
		want  string
		not   string
	}{
		{session.LostCall, nil, "If a tool call was in it", "Nothing was run"},
		{session.LostCall, call, "If a tool call was in it", "Nothing was run"},
		{session.LostUnread, nil, "Nothing was run", "That call"},
		{session.LostUnread, call, "That call did not run", "Nothing was run"},
	} {
		var l speech.Losses
		l.AddAnswer(&session.Answer{Lost: tt.lost, Calls: tt.calls, Errors: []string{"XML syntax error"}})
		if got := l.Reminder([]string{"read_file"}); !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) || !strings.Contains(got, "The tools are: read_file") {
			t.Errorf("%s with %d calls: %s", tt.lost, len(tt.calls), got)
		}
	}
}
