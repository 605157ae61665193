package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	mostPictures     = 6        // with one request
	mostPictureBytes = 12 << 20 // of all of them; they are kept in the session's log
)

// labelOfCode stands before code that a person wrote into a comment.
const labelOfCode = "Code that the person gave (already provided — do not re-read):"

// words is what the agent is told of the command's text, with its code labelled.
func (r *request) words() string { return command.LabelCode(r.said(), labelOfCode) }

// said is what a reader of the comment sees of the command's text.
func (r *request) said() string {
	clean := func(s string) string { return r.cleaned("words", s) }
	text, ok := specs(r.w.rows).Seen(r.msg.body, r.cmd, clean) //control:command-as-shown
	if !ok {
		return clean(r.cmd.Text)
	}
	return text
}

// selected is the code that a comment on a diff is about.
func selected(s userMessage) []session.Item {
	cm := s.ev.Comment
	if !s.target.Diff || cm.Hunk == "" {
		return nil
	}
	return []session.Item{{Kind: session.ItemSelection, Name: cm.Path + linesOf(cm.Hunk, cm.Line), Text: cm.Hunk}}
}

var hunkStart = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// linesOf returns ":L3-L9" of a hunk that ends at the line that a comment is on,
// "" when the comment is not on a line of the new file.
func linesOf(hunk string, last int) string {
	m := hunkStart.FindStringSubmatch(hunk)
	if m == nil || last == 0 {
		return ""
	}
	from, err := strconv.Atoi(m[1])
	if err != nil || from > last {
		return fmt.Sprintf(":L%d", last)
	}
	return fmt.Sprintf(":L%d-L%d", from, last)
}

// shown is a text whose pictures count: where it stands, and how to call it.
type shown struct {
	text  ghapp.Text
	body  string
	where string
}

// texts are those that a request consists of: what was said and, when it
// opens a session, the post that the thread begins with.
func (r *request) texts(opens bool) []shown {
	s := r.msg
	at := ghapp.Text{Thread: r.w.at.Ref, Target: s.target, Review: s.ev.Review.ID}
	if s.target.Diff {
		at.Review = 0
	}
	out := []shown{{at, s.body, "the comment"}}
	first := shown{ghapp.Text{Thread: r.w.at.Ref}, s.ev.Body, "the first post"}
	switch {
	case s.ev.Kind == "issues" || s.ev.Kind == "pull_request":
		out[0].where = first.where
	case opens:
		out = append(out, first)
	}
	return out
}

// mostLinks is how many links of a text are looked up.
const mostLinks = 32

// links returns where the links of a request lead that name a file of a repository. A
// reader does not see that, so the model is not told; the lines behind them are looked
// up all the same.
func (r *request) links(opens bool) []string {
	var out []string
	for _, t := range r.texts(opens) {
		for _, to := range untrusted.Links(t.body) { //control:links-of-the-raw-text
			if strings.Contains(to, "/blob/") && len(out) < mostLinks {
				out = append(out, to)
			}
		}
	}
	return out
}

// pictures fetches the pictures that a request shows, for a model that can
// see them, and says in words what became of each.
func (r *request) pictures(ctx context.Context, model string, opens bool) ([]session.Blob, string) {
	var out []session.Blob
	var notes strings.Builder
	size, seen, sees := 0, 0, false
	for _, t := range r.texts(opens) {
		for i, address := range command.Pictures(t.body) {
			if seen++; seen == 1 {
				sees = r.w.cfg.Sees == nil || r.w.cfg.Sees(ctx, model)
			}
			p, err := ghapp.Picture{}, error(nil)
			switch {
			case !sees:
				err = &ghapp.Refused{Reason: fmt.Sprintf("the model %s cannot see pictures", model)}
			case len(out) == mostPictures:
				err = &ghapp.Refused{Reason: fmt.Sprintf("there are more than %d", mostPictures)}
			default:
				p, err = r.w.at.Client.Picture(ctx, t.text, address)
			}
			if err == nil && size+len(p.Data) > mostPictureBytes {
				err = &ghapp.Refused{Reason: fmt.Sprintf("all of them have more than %d bytes", mostPictureBytes)}
			}
			name := fmt.Sprintf("Picture %d in %s", i+1, t.where)
			if err != nil {
				fmt.Fprintf(&notes, "\n[%s is not shown: %s.]", name, r.w.whyNot(ctx, address, err))
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

// whyNot returns why a picture is missing, for the model, and logs what was in
// the way.
func (w *worker) whyNot(ctx context.Context, address string, err error) string {
	w.cfg.Log.InfoContext(ctx, "picture not fetched", "thread", w.key, "host", hostOf(address), "err", err)
	var r *ghapp.Refused
	if errors.As(err, &r) {
		return r.Reason
	}
	return "GitHub did not give it"
}

// hostOf is the host of an address, as far as it can be one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789.-:") != "" {
		return "an address that is none"
	}
	return u.Hostname()
}
