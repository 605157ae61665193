package action

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Home finds the thread whose ref has the session that opened a pull request.
type Home struct {
	App    *ghapp.App
	Client *ghapp.Client
	Has    func(ctx context.Context, at thread.Ref, session string) (bool, error)
}

// numbers are those that the thread may have: its issue's, in the text of the pull
// request, or in the name of the branch.
var numbers = regexp.MustCompile(`#([1-9]\d{0,8})\b|/([1-9]\d{0,8})(?:-|$)`)

// mostHomes is how many numbers are tried.
const mostHomes = 8

// Of returns the thread for an event: that of the session that opened its pull request,
// or its own.
func (h Home) Of(ctx context.Context, ev ghapp.Event) (thread.Ref, error) {
	_, key := h.App.Written(ev.Body)
	rest, ok := strings.CutPrefix(key, "pull-")
	id, _, _ := strings.Cut(rest, "-")
	if !ok || !ev.IsPull && !strings.HasPrefix(ev.Kind, "pull_request") {
		return ev.Thread, nil
	}
	if ev.Pull.Head == "" { // GitHub leaves it out of comments
		p, err := h.Client.GetPull(ctx, ev.Thread)
		if err != nil {
			return ev.Thread, err
		}
		ev.Pull.Head = p.Head
	}
	tried := map[string]bool{}
	for _, m := range numbers.FindAllStringSubmatch("/"+ev.Pull.Head+" "+ev.Body, -1) {
		number := m[1] + m[2]
		if tried[number] || len(tried) == mostHomes {
			continue
		}
		tried[number] = true
		at := ev.Thread
		at.Number, _ = strconv.Atoi(number) // digits, and few
		if has, err := h.Has(ctx, at, id); has || err != nil {
			return at, err
		}
	}
	return ev.Thread, nil
}
