package render_test

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
)

// TestPicturesAreLinked: pictures are shown by the dashboard alone, and only if there are some.
func TestPicturesAreLinked(t *testing.T) {
	const page = "https://agent.example/s/s1"
	for name, tt := range map[string]struct {
		images []session.Blob
		links  render.Links
		want   bool
	}{
		"a picture":              {[]session.Blob{{Name: "page.png"}}, render.Links{Pictures: page}, true},
		"without a dashboard":    {[]session.Blob{{Name: "page.png"}}, render.Links{}, false},
		"a step without picture": {nil, render.Links{Pictures: page}, false},
	} {
		s := session.NewState()
		s.Timeline = []session.Moment{&session.ToolRun{Name: "browser_action", Result: &session.Result{OK: true, Images: tt.images}}}
		if got := render.Progress(s, tt.links).Text; strings.Contains(got, "("+page+")") != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
