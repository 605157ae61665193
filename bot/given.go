package bot

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/conversation"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// codeLabel precedes code from a comment.
const codeLabel = "Code that the person gave (already provided — do not re-read):"

// words returns the command's text for the agent, with its code labelled. Text above the
// commands belongs to the first task. A mode without words has a task of its own.
func (r *request) words() string {
	said, above := r.commandText(), ""
	if r.msg.first {
		above = command.Above(r.msg.body, r.show("words above"), r.msg.names...) //control:words-above
	}
	if r.msg.first && r.isFirstPost() {
		title, _ := untrusted.CleanPlain(r.msg.ev.Title) // no Markdown: a reader sees all of it
		above = strings.TrimSpace(strings.TrimSpace(title) + "\n\n" + above)
	}
	if said == "" { //control:verb-carries-its-task
		said, above = r.cmd.Mode, strings.TrimSpace(above+"\n\n"+command.OwnTask(r.cmd.Mode))
	}
	if command.IsFix(said) {
		above = strings.TrimSpace(above + "\n\n" + command.OwnTask("code"))
	}
	if above != "" {
		said = above + "\n\n" + session.CommandMark + said
	}
	if r.own != "" {
		return said
	}
	return command.LabelCode(said, codeLabel)
}

// isFirstPost reports whether the request is in the first post of its thread.
func (r *request) isFirstPost() bool { return r.msg.from == inPost }

// commandText returns the command's text as a reader of the comment sees it.
func (r *request) commandText() string {
	if r.own != "" {
		return r.own
	}
	text, ok := specs(r.w.rows).ShownText(r.msg.body, r.cmd, r.show("words"), r.msg.names...) //control:command-as-shown
	if !ok {
		return r.cleanText("words", r.cmd.Text, "")
	}
	return text
}

// show returns the rules for reading the request's text.
func (r *request) show(what string) command.Show {
	return command.Show{Page: r.msg.page, Clean: func(body, page string) string { return r.cleanText(what, body, page) }}
}

// pageOf returns GitHub's HTML of a text: "" if the text has changed since, or was never
// on GitHub.
func (w *worker) pageOf(ctx context.Context, s userMessage) (page string, err error) {
	if s.from != inPost && s.wroteID() == 0 {
		return "", nil
	}
	said, err := w.at.Client.CurrentText(ctx, s.text())     //control:shown-is-asked
	if err != nil && ghapp.KindOf(err) == ghapp.Permanent { // deleted: the delivered text counts
		w.cfg.Log.InfoContext(ctx, "text not read again", "thread", w.key, "source", s.key, "err", err)
		return "", nil
	}
	return said.HTMLFor(s.body), err
}

// text returns the location of the text on GitHub.
func (s userMessage) text() ghapp.Text {
	at := ghapp.Text{Thread: s.ev.Thread, Target: s.target, Review: s.ev.Review.ID}
	if s.target.Diff {
		at.Review = 0
	}
	return at
}

// place returns the place of the text in the conversation.
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

// line returns the code that a comment on a diff is about.
func (s userMessage) line() *conversation.Line {
	cm := s.ev.Comment
	if !s.target.Diff || cm.Hunk == "" {
		return nil
	}
	return conversation.LineOf(cm.Path, cm.Hunk, cm.Line)
}

// defaultRoom is the approximate size in bytes of a third of 32,768 tokens.
const defaultRoom = 42_000

// background returns the context of a request from its thread: everything for a new
// session, and the news since the last request for one that goes on. With anew set, the
// news come with the posts and files that the session has forgotten.
func (r *request) background(
	ctx context.Context,
	model, words string,
	since session.Place,
	anew bool,
	heard ...session.Place,
) ([]session.Item, error) {
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
		room /= 3 // leaves room for later requests
	}
	from := r.reader(ctx)
	return conversation.Gather(ctx, from, conversation.Request{
		Hides: from.Hides,
		First: conversation.PostOf(r.at.Issue), IsFirst: r.isFirstPost(), Text: words,
		At: at, Since: since, Heard: heard, Anew: anew, Line: s.line(),
		Room: room - len(words), Review: live.Reviews(r.cmd.Mode),
		Clean: r.cleanText, Refused: func(err error) bool {
			var ge *ghapp.Error
			return errors.As(err, &ge) && ge.Kind == ghapp.Permanent
		},
		Command: func(body string) bool {
			cmds, wrong, err := w.commandsIn(ctx, body)
			return len(cmds) > 0 || wrong != nil || err != nil
		},
	})
}

// news returns the context of a request that continues a session.
func (r *request) news(ctx context.Context, model, words string, v *session.State) ([]session.Item, error) {
	since := v.HeardUpTo()
	if since.At.IsZero() { // a log of an older version
		since.At = v.Started
	}
	return r.background(ctx, model, words, since, v.Cleared, v.Heard...)
}

// reader returns a reader of the thread.
func (r *request) reader(ctx context.Context) conversation.GitHub {
	w := r.w
	var hides conversation.Hides
	if w.cfg.Clone != nil && r.at.Pull != nil {
		hides = sync.OnceValues(func() (func(string) bool, error) { return w.cfg.Clone.Hidden(ctx, *r.at) })
	}
	return conversation.GitHub{
		Client: w.at.Client,
		Issue:  r.at.Issue,
		Pull:   r.at.Pull,
		Hides:  hides,
		Own: func(ctx context.Context, c conversation.Comment) (bool, error) {
			s := userMessage{body: c.Body, author: ghapp.User{Login: c.Author.Login, Bot: c.Author.Bot}}
			s.ev.Comment.ID = c.ID
			why, err := w.notFromUser(ctx, s)
			return why != "", err
		},
	}
}

// texts returns the texts of a request: the comment and, if it opens a session, the first
// post of the thread.
func (r *request) texts(opens bool) []conversation.Shown {
	s := r.msg
	at := s.text()
	at.Thread = r.at.Ref
	out := []conversation.Shown{{Text: at, Where: "the comment", Pictures: command.Pictures(s.body)}}
	first := conversation.Shown{
		Text:     ghapp.Text{Thread: r.at.Ref},
		Where:    "the first post",
		Pictures: command.Pictures(s.ev.Body),
	}
	switch {
	case r.isFirstPost():
		out[0].Where = first.Where
	case opens:
		out = append(out, first)
	}
	return out
}

// maxLinks is the maximum number of links looked up per request.
const maxLinks = 32

// links returns the targets of a request's links to files of a repository. A reader does
// not see targets, so the model is not told; the linked lines are looked up all the same.
func (r *request) links(opens bool) []string {
	var out []string
	texts := [][2]string{{r.msg.body, r.msg.page}}
	if opens && !r.isFirstPost() {
		texts = append(texts, [2]string{r.msg.ev.Body, r.at.Issue.HTML})
	}
	for _, t := range texts {
		for _, to := range untrusted.Links(t[0], t[1]) { //control:links-of-the-raw-text
			if strings.Contains(to, "/blob/") && len(out) < maxLinks {
				out = append(out, to)
			}
		}
	}
	return out
}

// pictures returns the pictures of a request, if the model can see them, and a note on
// each.
func (r *request) pictures(ctx context.Context, model string, opens bool) ([]session.Blob, string) {
	cfg := r.w.cfg
	return conversation.Sight{
		Model: model, Fetch: r.w.at.Client.Picture,
		Sees: func() bool { return cfg.Sees == nil || cfg.Sees(ctx, model) },
		Missing: func(address string, err error) {
			cfg.Log.InfoContext(ctx, "picture not fetched", "thread", r.w.key, "host", ghapp.HostOf(address), "err", err)
		},
	}.Pictures(ctx, r.texts(opens))
}
