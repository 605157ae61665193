package live

// A triage needs the labels that an issue may get, and the issues that may report the same: similar.go
// searches for them.

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	maxLabels = 80 // in the context
	maxWords  = 120
	maxSame   = 5 // issues in the context
)

// triageItems returns the context of the triage of an issue. may reports whether it may get a
// label.
func triageItems(
	ctx context.Context,
	c *ghapp.Client,
	is ghapp.Issue,
	may func(label string) bool,
) ([]session.Item, error) {
	labels, err := reads.Labels(ctx, c)
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	n := 0
	for _, l := range labels {
		if n == maxLabels || !may(l.Name) {
			continue
		}
		n++
		list.WriteString("- " + shown(l.Name))
		if l.Description != "" {
			list.WriteString(": " + shown(l.Description))
		}
		list.WriteString("\n")
	}
	var out []session.Item
	add := func(name, text string) {
		if text != "" {
			out = append(out, session.Item{Kind: session.ItemThread, Name: name, Text: text})
		}
	}
	add("The labels that this issue may get", list.String())
	newest, err := reads.Issues(ctx, c, "all", maxPages)
	if err != nil {
		return nil, err
	}
	among := "Issues"
	all := compare(newest)
	found, err := search(ctx, c, all.rarest(is))
	switch {
	case ghapp.KindOf(err) == ghapp.Temporary:
		return nil, err
	case err != nil:
		among = fmt.Sprintf("GitHub refuses a search. Of the %d issues with the newest activity, those", len(newest)) //control:refused-search-is-told
	}
	var same strings.Builder
	for _, o := range all.similar(is, found) {
		fmt.Fprintf(&same, "- #%d, %s: %s\n", o.Number, o.State, shown(o.Title))
	}
	add(among+" with similar words, which may report the same or not: read one with the tool github before you name it",
		same.String())
	return out, nil
}

// search asks GitHub for issues with one of the words.
func search(ctx context.Context, c *ghapp.Client, words []string) (out []reads.Issue, err error) {
	list, err := c.SearchIssues(ctx, words)
	for _, is := range list {
		out = append(out, reads.Issue{Number: is.Ref.Number, Title: is.Title, Body: is.Body, State: is.State})
	}
	return out, err
}

// maxPages is the number of pages of issues to compare, a hundred each, newest activity first.
const maxPages = 3

// shown returns a line of a stranger as a reader sees it.
func shown(text string) string {
	text, _ = untrusted.CleanPlain(text)
	return phrase.Short(strings.Join(strings.Fields(text), " "), maxWords)
}
