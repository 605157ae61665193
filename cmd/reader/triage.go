package reader

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy"
)

// Desk sorts a session's own issue. It implements [github.Desk].
type Desk struct {
	Board
	Rules policy.Config
	Alone bool     // no requester asked for it
	Had   []string // labels of the issue when the triage began without a request
}

// Tool returns the tool that ends a triage.
func (d Desk) Tool() tools.Tool { return github.Triage(d, d.Alone) }

// Labels implements [github.Desk]. Without a request, an issue gets labels of the
// configured list only, and none once a user has labelled it. A call keeps its labels if
// GitHub's answer to them was lost.
func (d Desk) Labels(ctx context.Context, call string) ([]string, error) {
	wr, err := d.Intended(ctx, d.key(call))
	if err != nil || len(wr.Labels) > 0 { //control:triage-keeps-its-labels
		return wr.Labels, err
	}
	is, err := d.client.Issue(ctx, d.ref)
	if err != nil {
		return nil, err
	}
	has := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, name) })
	}
	if d.Alone {
		byUser := slices.ContainsFunc(is.Labels, func(name string) bool { return !has(d.Had, name) })
		if byUser || !d.Rules.ListsLabels() { //control:triage-leaves-the-labelled
			return nil, nil
		}
	}
	all, err := reads.Labels(ctx, d.client)
	var names []string
	for _, l := range all {
		if d.Rules.MayLabel(l.Name) && !has(is.Labels, l.Name) {
			names = append(names, l.Name)
		}
	}
	return names, err
}

// Exists implements [github.Desk].
func (d Desk) Exists(ctx context.Context, number int64) (bool, error) {
	at := d.ref
	if at.Number = int(number); at == d.ref {
		return false, nil
	}
	is, err := d.client.Issue(ctx, at)
	if errors.Is(err, ghapp.ErrNotFound) {
		return false, nil
	}
	return err == nil && !is.IsPull && is.Ref.Same(at), err
}

// Label implements [github.Desk].
func (d Desk) Label(ctx context.Context, call string, labels []string) error {
	return d.Put(ctx, call, github.Post{Labels: labels})
}
