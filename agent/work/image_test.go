package work

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// shelf is an engine with some images.
type shelf struct {
	workspace.Engine
	has    string
	images bool
	opened []string
}

func (s *shelf) Images() bool { return s.images }

func (s *shelf) OnMachine(context.Context) bool { return false }

func (s *shelf) Programs(_ context.Context, spec workspace.Spec) (string, error) {
	s.opened = append(s.opened, fmt.Sprintf("%s %v", spec.Image, spec.Pull))
	if !strings.Contains(s.has, "<"+spec.Image+">") {
		return "", fmt.Errorf("find image %q: %w", spec.Image, workspace.ErrNoImage)
	}
	return "id", nil
}

// The configuration's image goes before one that was found, and a guess that is not to be
// had before the engine's own, which is said. What was named is never replaced.
func TestImage(t *testing.T) {
	for _, tt := range []struct {
		name, configured, found, has string
		own                          bool // the engine has images of its own alone
		opened, image                string
		says                         string
	}{
		{"configured", "acme/a:1", "golang:1", "<golang:1><>", false, "", "acme/a:1", "the configuration names it"},
		{"found", "", "golang:1", "<golang:1><>", false, "golang:1 true", "golang:1", "it fits"},
		{"found, and away", "", "golang:1", "<>", false, "golang:1 true, false", "", "golang:1: it fits; but find image"},
		{"found, and all away", "", "golang:1", "", false, "golang:1 true, false", "", `find image ""`},
		{"none", "", "", "<>", false, "", "", "the repository asks for no other image"},
		{"a machine's own programs", "", "golang:1", "<>", true, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{has: tt.has, images: !tt.own}
			rules := policy.Config{Workspace: policy.Workspace{Image: tt.configured}}
			e := New(Config{Workspace: s, Rules: rules, Image: func(context.Context, project.Files, func(string) bool) (session.Image, error) {
				return session.Image{Name: tt.found, Why: map[bool]string{true: "it fits"}[tt.found != ""], Guess: tt.found != ""}, nil
			}})
			image, err := e.image(t.Context(), Job{RulesAt: "c"}, session.NewState())
			says := fmt.Sprint(image.Why, image.Notes)
			if err != nil {
				image.Name, says = "", err.Error()
			}
			if got := strings.Join(s.opened, ","); got != tt.opened || image.Name != tt.image || !strings.Contains(says, tt.says) {
				t.Errorf("opened %q in %q: %s", got, image.Name, says)
			}
		})
	}
}

// A guess that did not come is not asked for again for a while, unless it is there by then.
func TestImageAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{has: "<>", images: true}
		first := New(Config{Workspace: s, Image: func(context.Context, project.Files, func(string) bool) (session.Image, error) {
			return session.Image{Name: "golang:1", Why: "it fits", Guess: true}, nil
		}})
		look := func(name, opened string) {
			t.Helper()
			e, err := first.Under(policy.Config{}) // as each session has it
			if err != nil {
				t.Fatal(err)
			}
			s.opened = nil
			image, err := e.image(t.Context(), Job{RulesAt: "c"}, session.NewState())
			if got := strings.Join(s.opened, ","); err != nil || got != opened || image.Name != name || name == "" && !strings.Contains(fmt.Sprint(image.Notes), "golang:1: it fits; but find image") {
				t.Errorf("opened %q in %q %q, %v; want %q in %q", got, image.Name, image.Notes, err, opened, name)
			}
		}
		look("", "golang:1 true, false")
		look("", "golang:1 false, false")
		<-time.After(awayTime)
		look("", "golang:1 true, false")
		s.has = "<golang:1>"
		look("golang:1", "golang:1 false")
	})
}
