package reader_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/cmd/reader"
	"github.com/handrail-bot/handrail/policy"
)

// TestDesk: an issue may get labels that the repository has, the configuration allows, and it
// lacks. Without a request the configuration has to list them, and a user's label ends it. A
// call that put labels on keeps them.
func TestDesk(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	for _, name := range []string{"docs", "agent", "UI"} {
		must(t, w.gh.Label(w.pull, "kim", name))
	}
	must(t, w.gh.Label(w.issue, "kim", "bug"))
	rules := policy.Config{Watch: policy.Watch{Triggers: policy.Triggers{Labels: map[string]string{"Agent": "code"}}}}
	listed := policy.Merge(rules, policy.Config{Watch: policy.Watch{Triage: policy.Triage{Labels: []string{"ui", "bug", "agent"}}}})
	var sent []ghapp.Write
	board := reader.Board{
		Reader:  reader.New(w.client, w.issue, nil),
		Session: "s1",
		Send: func(_ context.Context, wr ghapp.Write) (ghapp.Ref, error) {
			sent = append(sent, wr)
			return ghapp.Ref{}, nil
		},
		Intended: func(_ context.Context, key string) (ghapp.Write, error) {
			for _, wr := range sent {
				if wr.Key == key {
					return wr, nil
				}
			}
			return ghapp.Write{}, nil
		},
	}
	for _, c := range []struct {
		name string
		desk reader.Desk
		want string
	}{
		{"by request", reader.Desk{Board: board, Rules: rules}, "[UI docs]"},
		{"by request, from a list", reader.Desk{Board: board, Rules: listed}, "[UI]"},
		{"alone, without a list", reader.Desk{Board: board, Rules: rules, Alone: true, Had: []string{"bug"}}, "[]"},
		{"alone, from a list", reader.Desk{Board: board, Rules: listed, Alone: true, Had: []string{"Bug"}}, "[UI]"},
		{"alone, and labelled since", reader.Desk{Board: board, Rules: listed, Alone: true}, "[]"},
	} {
		if got, err := c.desk.Labels(ctx, "1.1"); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	d := reader.Desk{Board: board, Rules: listed, Alone: true}
	other, err := w.gh.OpenIssue(repo, "rae", "It still breaks", "")
	must(t, err)
	for number, want := range map[int]bool{w.issue.Number: false, w.pull.Number: false, other.Number: true, 99: false} {
		if is, err := d.Exists(ctx, int64(number)); err != nil || is != want {
			t.Errorf("#%d is another issue: %t, %v", number, is, err)
		}
	}
	must(t, d.Label(ctx, "1.1", []string{"UI"}))
	if len(sent) != 1 || sent[0].Kind != ghapp.WriteLabels || sent[0].Thread != w.issue || sent[0].Key == "" || fmt.Sprint(sent[0].Labels) != "[UI]" {
		t.Errorf("sent %+v", sent)
	}
	must(t, w.gh.Label(w.issue, "kim", "UI")) // it is there, although the answer to the call was lost
	for call, want := range map[string]string{"1.1": "[UI]", "2.1": "[]"} {
		if got, err := d.Labels(ctx, call); err != nil || fmt.Sprint(got) != want {
			t.Errorf("call %s, after its labels: %s, %v, want %s", call, got, err, want)
		}
	}
}
