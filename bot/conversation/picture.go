package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
)

const (
	maxPictures     = 6        // maximum number per request
	maxPictureBytes = 12 << 20 // maximum bytes per request; the session's log keeps them
)

// Shown is a text with pictures, its place, and a name for it.
type Shown struct {
	Text     ghapp.Text
	Where    string
	Pictures []string // URLs
}

// Sight fetches the pictures of a request for a model.
type Sight struct {
	Model   string
	Sees    func() bool // reports whether the model sees pictures; called at the first one
	Fetch   func(ctx context.Context, text ghapp.Text, address string) (ghapp.Picture, error)
	Missing func(address string, err error) // called for each missing picture
}

// Pictures fetches the pictures in texts, and returns notes on them for the model.
func (s Sight) Pictures(ctx context.Context, texts []Shown) ([]session.Blob, string) {
	var out []session.Blob
	var notes strings.Builder
	size, seen, sees := 0, 0, false
	for _, t := range texts {
		for i, address := range t.Pictures {
			if seen++; seen == 1 {
				sees = s.Sees()
			}
			p, err := ghapp.Picture{}, error(nil)
			switch {
			case !sees:
				err = &ghapp.Refused{Reason: fmt.Sprintf("the model %s cannot see pictures", s.Model)}
			case len(out) == maxPictures:
				err = &ghapp.Refused{Reason: fmt.Sprintf("there are more than %d", maxPictures)}
			default:
				p, err = s.Fetch(ctx, t.Text, address)
			}
			if err == nil && size+len(p.Data) > maxPictureBytes {
				err = &ghapp.Refused{Reason: fmt.Sprintf("all of them have more than %d bytes", maxPictureBytes)}
			}
			name := fmt.Sprintf("Picture %d in %s", i+1, t.Where)
			if err != nil {
				s.Missing(address, err)
				why := &ghapp.Refused{Reason: "GitHub did not give it"}
				errors.As(err, &why)
				fmt.Fprintf(&notes, "\n[%s is not shown: %s.]", name, why.Reason)
				continue
			}
			size += len(p.Data)
			out = append(out, session.Blob{Name: name, Type: p.Type, Data: p.Data})
			fmt.Fprintf(&notes, "\n[%s is attached as image %d.]", name, len(out))
		}
	}
	if notes.Len() == 0 {
		return nil, ""
	}
	return out, "\n" + notes.String()
}
