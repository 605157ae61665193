package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// Limits in bytes of the rules of a place that the model is given at once.
const (
	maxPlaces      = 16000
	maxPlacesSmall = 3000 // small window or model
	maxPlacesWeak  = 600  // small model
)

// seenFiles is the part of the state about files that the model read or changed, and the rules
// that it was given for them.
type seenFiles struct {
	paths []string
	with  []string // rules in the context of a request, which stays
	noted []string // rules in notes, which a compaction removes
	reset int      // number of compactions
}

func (s *seenFiles) add(paths ...string) {
	for _, p := range paths {
		if p != "" && !slices.Contains(s.paths, p) {
			s.paths = append(s.paths, p)
		}
	}
}

// context adds the files of a request.
func (s *seenFiles) context(items []session.Item) {
	for _, it := range items {
		switch it.Kind {
		case session.ItemFile, session.ItemExplicit:
			s.add(it.Name)
		case session.ItemSelection:
			name, _, _ := strings.Cut(it.Name, ":L")
			s.add(name)
		case session.ItemRules:
			s.with = append(s.with, it.Name)
		}
	}
}

// result adds the files that a call named and changed.
func (s *seenFiles) result(c *session.CallState, named, changed []string) {
	if c.Result.OK && !c.Result.Mistake {
		s.add(named...)
		s.add(changed...)
	}
}

func (s *seenFiles) note(p *session.Note) {
	switch p.Kind {
	case session.NoteContext:
		s.context(p.Items)
	case session.NoteRules:
		for _, it := range p.Items {
			s.noted = append(s.noted, it.Name)
		}
	case session.NoteCompaction:
		s.paths, s.noted, s.reset = nil, nil, s.reset+1
	}
}

// places gives the model the rules of the files that it works on.
type places struct {
	*journal
	rules    func(ctx context.Context, files, known []string) ([]session.Item, error)
	requests *requests
	model    *model
	asked    []string // files whose rules were looked up
	reset    int      // number of compactions at that time
}

// give looks up the rules of new files, and tells the model about those that it does not
// know yet. They become part of the request if the model has not answered it, so that the
// request itself comes last.
func (p *places) give(ctx context.Context) (*session.Outcome, error) {
	if p.rules == nil || len(p.talk.entries) == 0 {
		return nil, nil
	}
	if p.reset != p.seen.reset {
		p.asked, p.reset = nil, p.seen.reset
	}
	fresh := slices.DeleteFunc(slices.Clone(p.seen.paths), func(f string) bool { return slices.Contains(p.asked, f) })
	if len(fresh) == 0 {
		return nil, nil
	}
	p.asked = append(p.asked, fresh...)
	items, err := p.rules(ctx, fresh, append(slices.Clone(p.seen.with), p.seen.noted...))
	if err != nil {
		return nil, fmt.Errorf("look up rules: %w", err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	p.limit(items)
	note := session.Note{Kind: session.NoteContext, Items: items}
	if last := p.talk.entries[len(p.talk.entries)-1]; !last.person && p.model.form != llm.FormFiles {
		note.Kind, note.Text = session.NoteRules, strings.TrimSpace(renderItems(p.talk.nonce, items))
		note.Items = slices.Clone(items)
		for i := range note.Items {
			note.Items[i].Text = ""
		}
	}
	return nil, p.record(ctx, session.NewEvent(session.TypeNote, p.Turns, note))
}

// limit replaces rules for which there is no room by a reference.
func (p *places) limit(items []session.Item) {
	left := maxPlaces
	switch {
	case p.requests.tools.weak():
		left = maxPlacesWeak
	case p.requests.tools.small():
		left = maxPlacesSmall
	}
	for i := range items {
		if left -= len(items[i].Text); left < 0 {
			items[i].Text = "They are too long to be shown here: read " + items[i].Name + " before you change files there."
		}
	}
}
