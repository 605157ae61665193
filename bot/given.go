package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/conversation"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	mostPictures     = 6        // with one request
	mostPictureBytes = 12 << 20 // of all of them; they are kept in the session's log
)

// labelOfCode stands before code that a person wrote into a comment.
const labelOfCode = "Code that the person gave (already provided — do not re-read):"

// words is what the agent is told of the command's text, with its code labelled. What
// the person wrote above the commands belongs to the first task of the text.
func (r *request) words() string {
	said, above := r.said(), ""
	if r.msg.first {
		above = command.Above(r.msg.body, func(s string) string { return r.cleaned("words above", s) }, r.msg.names...) //control:words-above
	}
	if r.msg.first && r.isFirstPost() {
		title, _ := untrusted.CleanPlain(r.msg.ev.Title) // no Markdown: a reader sees all of it
		above = strings.TrimSpace(strings.TrimSpace(title) + "\n\n" + above)
	}
	if above != "" {
		said = above + "\n\n" + session.CommandMark + said
	}
	if r.own != "" {
		return said
	}
	return command.LabelCode(said, labelOfCode)
}

// isFirstPost reports whether the request stands in the post that its thread begins with.
func (r *request) isFirstPost() bool {
	return r.msg.ev.Kind == "issues" || r.msg.ev.Kind == "pull_request"
}

// said is what a reader of the comment sees of the command's text.
func (r *request) said() string {
	if r.own != "" {
		return r.own
	}
	clean := func(s string) string { return r.cleaned("words", s) }
	text, ok := specs(r.w.rows).Seen(r.msg.body, r.cmd, clean, r.msg.names...) //control:command-as-shown
	if !ok {
		return clean(r.cmd.Text)
	}
	return text
}

// place is where the text stands.
func (s userMessage) place() session.Place {
	p := session.Place{At: s.ev.Updated, Thread: s.away}
	cm, rv := s.ev.Comment, s.ev.Review
	switch {
	case cm.ID != 0 && s.target.Diff:
		p.At, p.Comment, p.DiffThread = cm.Created, cm.ID, cmp.Or(cm.InReplyTo, cm.ID)
	case cm.ID != 0:
		p.At, p.Comment = cm.Created, cm.ID
	case rv.ID != 0:
		p.At, p.Comment = rv.Submitted, rv.ID
	}
	return p
}

// line is the code that a comment on a diff is about.
func (s userMessage) line() *conversation.Line {
	cm := s.ev.Comment
	if !s.target.Diff || cm.Hunk == "" {
		return nil
	}
	return conversation.LineOf(cm.Path, cm.Hunk, cm.Line)
}

// defaultRoom is how many bytes of text a third of 32,768 tokens holds.
const defaultRoom = 42_000

// background is what the thread tells of a request in words: all of it for a
// session that begins, what came since the last request for one that goes on, with
// what the thread is about where the session has forgotten that.
func (r *request) background(ctx context.Context, model, words string, since session.Place, anew bool) ([]session.Item, error) {
	w, s := r.w, r.msg
	at := s.place()
	if !since.At.IsZero() && since == at {
		return nil, nil // it came with another command of the same text
	}
	room := defaultRoom
	if w.cfg.Room != nil {
		room = w.cfg.Room(ctx, model)
	}
	if !since.At.IsZero() && !anew {
		room /= 3 // others may follow
	}
	return conversation.Gather(ctx, r.reader(), conversation.Request{
		First: conversation.PostOf(r.at.issue), IsFirst: r.isFirstPost(), Text: words, At: at, Since: since, Anew: anew, Line: s.line(),
		Room:  room - len(words),
		Clean: r.cleaned, Refused: func(err error) bool {
			var ge *ghapp.Error
			return errors.As(err, &ge) && ge.Kind == ghapp.Permanent
		},
		Command: func(body string) bool {
			cmds, wrong, err := w.commandsIn(ctx, body)
			return len(cmds) > 0 || wrong != nil || err != nil
		},
	})
}

// reader reads the thread.
func (r *request) reader() conversation.Reader {
	w := r.w
	return conversation.GitHub{Client: w.at.Client, Issue: r.at.issue, Pull: r.at.Pull, Own: func(ctx context.Context, c conversation.Comment) (bool, error) {
		s := userMessage{body: c.Body, author: ghapp.User{Login: c.Author.Login, Bot: c.Author.Bot}}
		s.ev.Comment.ID = c.ID
		why, err := w.notTheirs(ctx, s)
		return why != "", err
	}}
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
	at := ghapp.Text{Thread: r.at.Ref, Target: s.target, Review: s.ev.Review.ID}
	if s.target.Diff {
		at.Review = 0
	}
	out := []shown{{at, s.body, "the comment"}}
	first := shown{ghapp.Text{Thread: r.at.Ref}, s.ev.Body, "the first post"}
	switch {
	case r.isFirstPost():
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
	w.cfg.Log.InfoContext(ctx, "picture not fetched", "thread", w.key, "host", ghapp.HostOf(address), "err", err)
	var r *ghapp.Refused
	if errors.As(err, &r) {
		return r.Reason
	}
	return "GitHub did not give it"
}
