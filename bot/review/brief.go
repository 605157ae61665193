package review

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// rules is the file with a repository's rules for reviews.
const rules = ".github/agent/review.md"

const (
	maxRules      = 8 << 10  // maximum size of the rules, in bytes
	maxRuledFiles = 1000     // maximum number of files matched against rules
	maxNew        = 24 << 10 // maximum size of newly pushed diffs, in bytes
	maxBefore     = 60       // maximum number of earlier findings
)

// Brief is the context of a review besides its thread.
type Brief struct {
	Place
	Client *ghapp.Client
	Before []*session.State // sessions of the thread, with findings
	Keyed  func(body string) string
	Since  string // last commit that was read, "" if there is none
}

// Items returns the brief as context for the model.
func (b Brief) Items(ctx context.Context) ([]session.Item, error) {
	var out []session.Item
	text, err := b.Client.FileAt(ctx, b.Pull.Base, rules)
	switch {
	case err == nil:
		words, _ := untrusted.Clean(string(text[:min(len(text), maxRules)]), "")
		if pathRules(words) {
			files, err := reads.Files(ctx, b.Client, b.Thread, maxRuledFiles)
			if err != nil {
				return nil, err
			}
			var names []string
			for _, f := range files.List {
				names = append(names, f.Path)
			}
			words = rulesFor(words, names)
		}
		out = append(
			out,
			session.Item{
				Kind: session.ItemExplicit,
				Name: "How this repository wants reviews, from " + rules + " on " + b.Pull.Base + "; do as it says",
				Text: words,
			},
		)
	case ghapp.KindOf(err) != ghapp.Permanent:
		return nil, err
	}
	found, err := b.earlierFindings(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, found...)
	fresh, err := b.newDiffs(ctx)
	return append(out, fresh...), err
}

// earlierFindings lists earlier findings with their outcome.
func (b Brief) earlierFindings(ctx context.Context) ([]session.Item, error) {
	var list []session.Finding
	for _, v := range b.Before {
		for _, f := range v.Findings {
			if f.Refuted == "" && len(list) < maxBefore {
				list = append(list, *f.Finding)
			}
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	talks, err := b.talks(ctx, b.Client, b.Keyed, b.Pull.HeadSHA)
	notes := map[string]string{}
	for _, t := range talks {
		switch {
		case t.isNo:
			notes[t.mark] = " (answered: this is no fault, it stays)"
		case t.gone && notes[t.mark] == "":
			notes[t.mark] = " (these lines are gone since; report it again where the new ones still have the fault)"
		}
	}
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "- %s: %s%s\n", f.Where(), f.Claim, notes[findingMark(f)])
	}
	return []session.Item{
		{
			Kind: session.ItemThread,
			Name: "What was reported before in this pull request; the author knows it, so do not report it again in any words",
			Text: text.String(),
		},
	}, err
}

// newDiffs returns the diffs since the commit that was read last, which limits the new
// review to them.
func (b Brief) newDiffs(ctx context.Context) (out []session.Item, err error) {
	if b.Since == "" || b.Since == b.Pull.HeadSHA {
		return nil, nil
	}
	files, err := reads.Compare(ctx, b.Client, b.Thread, b.Since, b.Pull.HeadSHA)
	if errors.Is(err, ghapp.ErrNotFound) {
		return nil, nil // that commit is gone: review everything
	}
	room := maxNew
	for _, f := range files {
		patch, _ := untrusted.CleanPlain(f.Patch)
		if patch == "" || len(patch) > room {
			continue
		}
		room -= len(patch)
		out = append(
			out,
			session.Item{
				Kind: session.ItemThread,
				Name: fmt.Sprintf(
					"New since your last review, which is all that you have to read. Diff of %s (+%d −%d)",
					f.Path,
					f.Additions,
					f.Deletions,
				),
				Text: patch,
			},
		)
	}
	return out, err
}
