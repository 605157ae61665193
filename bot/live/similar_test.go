package live

import (
	"fmt"
	"slices"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/thread"
)

// TestSimilar: the issue that reports the same comes first in other words of the same
// matter; the issue itself, and those with common words only, are none.
func TestSimilar(t *testing.T) {
	is := ghapp.Issue{
		Ref: thread.Ref{Number: 7}, Title: "App crashes when the config file is empty",
		Body: "Start it with an empty agent.yml. It panics with a nil pointer in parseConfig.",
	}
	others := []reads.Issue{
		{Number: 7, Title: is.Title, Body: is.Body},
		{Number: 1, Title: "The app has no dark mode", Body: "It would be nice when the app had one."},
		{Number: 2, Title: "Crash with an empty configuration", Body: "nil pointer in parseConfig"},
		{Number: 3, Title: "Translate the help", Body: ""},
		{Number: 4, Title: "", Body: ""},
	}
	for n := range 20 {
		others = append(others, reads.Issue{Number: 10 + n, Title: fmt.Sprintf("The app should support format %d", n)})
	}
	var got []int
	for _, o := range compare(others).similar(is, nil) {
		got = append(got, o.Number)
	}
	if !slices.Equal(got, []int{2}) {
		t.Errorf("similar are %v", got)
	}
	if list := compare(others).similar(ghapp.Issue{}, nil); len(list) > 0 {
		t.Errorf("to an issue without words: %v", list)
	}
	if list := compare(nil).similar(is, nil); len(list) > 0 {
		t.Errorf("in an empty repository: %v", list)
	}
}

// TestSearched: an issue that a search found counts like the newest ones, and once. The words
// to search for are the rarest of the title, then those of the text.
func TestSearched(t *testing.T) {
	is := ghapp.Issue{Ref: thread.Ref{Number: 7}, Title: "App crashes on an empty config", Body: "nil pointer in parseConfig"}
	var newest []reads.Issue
	for n := range 20 {
		newest = append(newest, reads.Issue{Number: 10 + n, Title: fmt.Sprintf("The app reads config %d", n)})
	}
	old := reads.Issue{Number: 2, Title: "Crash with an empty configuration"}
	got := compare(append(newest, old)).similar(is, []reads.Issue{old, {Number: 3, Title: "Translate the help"}, {Number: 4, Title: "Empty app crashes"}})
	if len(got) != 2 || got[0].Number+got[1].Number != 6 {
		t.Errorf("similar are %v", got)
	}
	want := []string{"crashes", "empty", "app", "config", "nil", "pointer", "parseconfig"}
	if words := compare(newest).rarest(is); !slices.Equal(words, want) {
		t.Errorf("words to search for are %v, want %v", words, want)
	}
}
