package session

import (
	"fmt"
	"strings"
)

// Fact is one fact that an approval is bound to. Name fits into a sentence: "the last
// checkpoint".
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Moved describes the differences between then and now, or returns "". Facts missing
// from now are ignored.
func Moved(then, now []Fact) string {
	was := map[string]string{}
	for _, f := range then {
		was[f.Name] = f.Value
	}
	var words []string
	for _, f := range now {
		old, known := was[f.Name]
		switch {
		case known && old == f.Value || !known && f.Value == "":
		case old == "":
			words = append(words, fmt.Sprintf("there is a new %s: %s", f.Name, brief(f.Value)))
		case f.Value == "":
			words = append(words, fmt.Sprintf("the %s %s is gone", f.Name, brief(old)))
		default:
			words = append(words, fmt.Sprintf("the %s was %s and is %s now", f.Name, brief(old), brief(f.Value)))
		}
	}
	return strings.Join(words, "; ")
}

// brief shortens commit ids for display.
func brief(s string) string {
	if len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:12]
	}
	return s
}
