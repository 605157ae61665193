package reader_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/cmd/reader"
	"github.com/handrail-bot/handrail/policy"
)

// TestBoard: what a session writes to its thread has the key of the call, labels are
// those that there are, and there is an end to it.
func TestBoard(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	must(t, w.gh.Label(w.issue, "kim", "bug"))
	log := &session.Memory{}
	var sent []ghapp.Write
	var fails error
	b := reader.Board{Reader: reader.New(w.client, w.issue, nil), Session: "s1", Log: log, Send: func(_ context.Context, wr ghapp.Write) (ghapp.Ref, error) {
		sent = append(sent, wr)
		return ghapp.Ref{}, fails
	}}
	for _, call := range []string{"1.1", "1.1", "2.1"} {
		must(t, b.Put(ctx, call, github.Post{Comment: "hello"}))
	}
	must(t, b.Put(ctx, "3.1", github.Post{Labels: []string{"Bug"}, Off: []string{"triage"}}))
	if sent[0].Key != sent[1].Key || sent[0].Key == sent[2].Key || sent[0].Thread != w.issue || sent[0].Body != "hello" || sent[3].Kind != ghapp.WriteLabels || !slices.Equal(sent[3].Labels, []string{"Bug"}) || !slices.Equal(sent[3].Off, []string{"triage"}) {
		t.Errorf("sent %+v", sent)
	}
	must(t, b.May(ctx, github.Post{Labels: []string{"Bug"}}))
	if err := b.May(ctx, github.Post{Labels: []string{"bug", "deploy"}}); err == nil || !strings.Contains(err.Error(), `no label "deploy"; it has: bug`) {
		t.Errorf("a label that is not there: %v", err)
	}
	if err := b.May(ctx, github.Post{Off: []string{"deploy"}}); err == nil || !strings.Contains(err.Error(), `no label "deploy"; it has: bug`) {
		t.Errorf("a label to take off that is not there: %v", err)
	}
	fails = &ghapp.Refusal{Reason: "locked"}
	if err := b.Put(ctx, "4.1", github.Post{Comment: "x"}); !errors.Is(err, fails) {
		t.Errorf("refused: %v", err)
	}
	fails = errors.New("502")
	var away *session.Away
	if err := b.Put(ctx, "4.1", github.Post{Comment: "x"}); !errors.As(err, &away) || away.For != session.PhaseWaitingGitHub {
		t.Errorf("away: %v", err)
	}
	for i := range 10 {
		must(t, b.May(ctx, github.Post{Comment: "x"}))
		id := string(rune('a' + i))
		must(t, log.Append(ctx, session.NewEvent(session.TypeDecision, 1, session.Decision{Call: id, Kind: policy.Post}),
			session.NewEvent(session.TypeStarted, 1, session.Started{Call: id}), session.NewEvent(session.TypeResult, 1, session.Result{Call: id, OK: true})))
	}
	if err := b.May(ctx, github.Post{Comment: "x"}); err == nil || !strings.Contains(err.Error(), "10 times") {
		t.Errorf("the eleventh: %v", err)
	}
}
