package policy

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What a request names, and what it gets that names nothing, is chosen from the lists
// of the repository and of the server, whichever is shorter.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		server, repo Config
		asked, want  Choice
		not          []string // what is allowed instead; nil for a choice that is
	}{
		{"nothing set", Config{}, Config{}, Choice{}, Choice{Mode: "code", Model: "m"}, nil},
		{"named", Config{}, Config{}, Choice{Mode: "Plan", Model: "x", Turns: 7}, Choice{Mode: "plan", Model: "x", Turns: 7}, nil},
		{"of the repository", Config{Mode: "ask", Model: "s"}, Config{Mode: "debug", Model: "r"}, Choice{}, Choice{Mode: "debug", Model: "r"}, nil},
		{"no mode named", Config{}, Config{Modes: []string{"ask", "review"}}, Choice{}, Choice{}, []string{"ask", "review"}},
		{"a mode of neither", Config{Modes: []string{"ask", "code"}}, Config{}, Choice{Mode: "debug"}, Choice{}, []string{"ask", "code"}},
		{"a mode of the server alone", Config{Modes: []string{"ask", "code"}}, Config{Modes: []string{"code", "plan"}}, Choice{Mode: "ask"}, Choice{}, []string{"code"}},
		{"nothing in common", Config{Modes: []string{"ask"}}, Config{Modes: []string{"code"}}, Choice{Mode: "ask"}, Choice{}, []string{}},
		{"a model of the repository alone", Config{Models: []string{"a"}}, Config{Models: []string{"b", "a"}}, Choice{Model: "b"}, Choice{}, []string{"a"}},
		{"no model named", Config{Models: []string{"a", "b"}}, Config{}, Choice{}, Choice{Mode: "code", Model: "a"}, nil},
		{"the server's default", Config{Models: []string{"a", "m"}}, Config{}, Choice{}, Choice{Mode: "code", Model: "m"}, nil},
	} {
		got, err := Merge(tt.server, tt.repo).WithDefaults().Choose(tt.asked, "m")
		var no *NotAllowed
		switch {
		case errors.As(err, &no) != (tt.not != nil):
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		case no != nil && !slices.Equal(no.Allowed, tt.not):
			t.Errorf("%s: %v are allowed, want %v", tt.name, no.Allowed, tt.not)
		case no == nil && got != tt.want:
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Whatever is chosen is on both lists, and what is on both can be chosen.
func TestChoiceIsOnBothLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom(modeNames()), rapid.ID)
		server, repo := Config{Modes: names.Draw(rt, "server"), Models: names.Draw(rt, "server's models")}, Config{Modes: names.Draw(rt, "repository"), Models: names.Draw(rt, "repository's models")}
		asked := Choice{Mode: rapid.SampledFrom(modeNames()).Draw(rt, "mode"), Model: rapid.SampledFrom(modeNames()).Draw(rt, "model")}
		on := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
		want := on(server.Modes, asked.Mode) && on(repo.Modes, asked.Mode) && on(server.Models, asked.Model) && on(repo.Models, asked.Model)
		both := Merge(server.WithDefaults(), repo).WithDefaults()
		if err := both.Validate(); err != nil {
			rt.Fatalf("%+v and %+v join to what is wrong: %v", server, repo, err)
		}
		if _, err := Merge(server, repo).WithDefaults().Choose(asked, ""); (err == nil) != want {
			rt.Fatalf("%+v under %+v and %+v: %v", asked, server, repo, err)
		}
	})
}

// The lower of the two numbers of turns is the limit.
func TestTurnLimit(t *testing.T) {
	t.Parallel()
	session := func(n int) Budget { return Budget{Session: Limits{Turns: n}} }
	for _, tt := range []struct {
		server, repo Config
		want         int
	}{
		{Config{}, Config{}, 0},
		{Config{Turns: 9}, Config{}, 9},
		{Config{Turns: 9}, Config{Budget: session(4)}, 4},
		{Config{Budget: session(4)}, Config{Turns: 40, Budget: session(50)}, 4},
		{Config{Budget: session(30)}, Config{Turns: 12}, 12},
	} {
		if got := Merge(tt.server, tt.repo).WithDefaults().TurnLimit(); got != tt.want {
			t.Errorf("%+v, %+v: %d, want %d", tt.server, tt.repo, got, tt.want)
		}
	}
}
