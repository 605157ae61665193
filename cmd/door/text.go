package door

import (
	"encoding/json"
	"errors"
)

// textLine answers a line.
type textLine struct {
	ID   json.RawMessage `json:"id"`
	Text string          `json:"text"`
}

// EachText answers every line of standard input with its text changed.
func EachText(w *Console, change func(string) string) error {
	return eachLine(w, nil, func(l explainLine) (any, error) {
		if l.Text == nil {
			return nil, errors.New(`the line has no "text"`)
		}
		return textLine{l.id(), change(*l.Text)}, nil
	})
}
