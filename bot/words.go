package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// userMessage is a text that may hold commands, and its place. Its author is the one that
// GitHub reports.
type userMessage struct {
	ev     ghapp.Event
	author ghapp.User
	id     string // id of the delivery
	key    string // of this version of the text
	body   string
	page   string   // GitHub's HTML of the text, see [worker.pageOf]
	names  []string // equivalents of the command word
	target ghapp.Target
	from   origin
	away   int    // number of its thread, if that is not the session's own
	first  bool   // the current command is the first task of the text
	why    string // origin of a task that no user wrote in the thread
}

// origin is the place in which a text was written.
type origin int

const (
	unwritten   origin = iota // a task that no user wrote in the thread
	inComment                 // of the thread, or of a diff
	inReview                  // the words of a review
	inPost                    // the first post of the thread
	inDashboard               // it is not on GitHub
)

// TurnsAway returns the author of an event's text and the reason that they get no part in
// a thread, or "" if they may. It changes nothing.
func (b *Bot) TurnsAway(ctx context.Context, at thread.Ref, event string, payload []byte) (who, why string, err error) {
	ev, err := ghapp.ParseEvent(event, payload)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", store.ErrUnparsable, err)
	}
	s, ok := textOf(ev)
	if !ok || s.author.Bot {
		return "", "", nil
	}
	w := b.worker(at)
	if err := w.at.Reach(ctx, b.cfg.GitHub, ev.Installation); err != nil {
		return "", "", err
	}
	_, why, err = w.admit(ctx, s)
	return s.author.Login, why, err
}

// unverified returns the author as the event names it. GitHub was not asked for its rights.
func (s userMessage) unverified() policy.Actor {
	return policy.Actor{ID: s.author.ID, Login: s.author.Login, Bot: s.author.Bot, Lookup: policy.Failed}
}

// wroteID returns the number of the text as recorded for a write of the bot.
func (s userMessage) wroteID() int64 { return cmp.Or(s.ev.Comment.ID, s.ev.Review.ID) }

// notFromUser returns the reason why a text does not come from a user, or "": the bot wrote
// it, or an App that is not listed.
func (b *Bot) notFromUser(ctx context.Context, s userMessage) (why string, err error) {
	ours, key := b.cfg.GitHub.Written(s.body)
	if !ours {
		ours, err = b.cfg.GitHub.Speaks(ctx, s.author, s.ev.AppID)
	}
	if !ours && err == nil && key != "" {
		ours, err = b.wroteText(ctx, key, s.wroteID())
	}
	switch {
	case err != nil:
		return "", err
	case ours:
		return "own words", nil
	case s.ev.AppID != 0 && !s.author.Bot && !slices.Contains(b.cfg.Apps, s.ev.AppID): //control:other-apps
		return "written through an App that is not on the list github.apps", nil
	}
	return "", nil
}

// wroteText reports whether the write with a key made the text with a number. Servers knew
// their own texts that way before markers had a checksum.
func (b *Bot) wroteText(ctx context.Context, key string, id int64) (bool, error) {
	in, err := b.cfg.Store.Effects.Effect(ctx, key)
	if err != nil {
		return false, store.Unless(err, store.ErrNotFound)
	}
	return id != 0 && in.State == store.Done && outbox.RefOf(in).ID == id, nil
}

// serves reports whether the bot works for a repository.
func (b *Bot) serves(ref thread.Ref) bool {
	return len(b.cfg.Repositories) == 0 || slices.ContainsFunc(b.cfg.Repositories, func(entry string) bool {
		owner, repo, _ := strings.Cut(entry, "/")
		return strings.EqualFold(owner, ref.Owner) && (repo == "*" || strings.EqualFold(repo, ref.Repo))
	})
}

// intakePatience is the maximum time that intake waits for the bot's own name.
const intakePatience = 3 * time.Second

// textsIn returns all texts of an event, to find mentions in them.
func textsIn(ev ghapp.Event) string {
	return strings.Join([]string{ev.Comment.Body, ev.Review.Body, ev.Body, ev.OldBody}, "\n")
}

// Source returns the thread and the priority of a delivery. It reports false if the
// delivery holds neither a command nor an answer, or comes from a repository that is not
// served, from the bot itself, from a bot that is not allowed, or from an author without
// rights that floods a repository.
func (b *Bot) Source(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error) {
	if event == ghapp.Dashboard || event == ghapp.Part { //control:dashboard-not-by-webhook
		return store.Delivery{}, false, nil
	}
	ev, err := ghapp.ParseEvent(event, payload)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%w: %w", store.ErrUnparsable, err)
	}
	e := classify(ev)
	if e.kind == moved {
		return store.Delivery{}, false, b.repositoryChanged(ctx, ev)
	}
	if e.speaks && (b.unlistedBot(e.text.author) || b.cfg.GitHub.Flooding(ev.Thread.Repository(), e.text.author.Login)) {
		return store.Delivery{}, false, nil // before its text is parsed, which takes time
	}
	ctx, cancel := context.WithTimeout(ctx, intakePatience)
	defer cancel()
	e.names, err = b.names(ctx, textsIn(ev))
	e.unnamed = err != nil
	d, ok, err := b.deliveryOf(ctx, e)
	if err != nil || !ok {
		return d, ok, err
	}
	if !b.serves(ev.Thread) { //control:repositories
		if _, told := b.unserved.LoadOrStore(strings.ToLower(ev.Thread.Repository()), true); !told {
			b.cfg.Log.Warn("deliveries of a repository that is not served are dropped", "repository", ev.Thread.Repository())
		}
		return d, false, nil
	}
	said := e.text.body
	if ev.Action == "edited" {
		said = ev.Comment.Body
	}
	ours, _ := b.cfg.GitHub.Written(said)
	return d, !ours, nil //control:own-edits-cost-nothing
}

// repositoryChanged renames the records of a repository, or ends its sessions if it is
// gone.
func (b *Bot) repositoryChanged(ctx context.Context, ev ghapp.Event) error {
	b.wakeRemoved(ctx, ev.Removed)
	switch is, was := ev.Thread.Repository(), ev.From.Repository(); {
	case ev.Kind != "repository": // access to repositories
	case was != "/" && b.serves(ev.Thread):
		return store.Rename(ctx, b.cfg.Store, was, is)
	case was != "/":
		b.wakeRemoved(ctx, []thread.Ref{ev.From})
	case ev.Action == "deleted":
		b.wakeRemoved(ctx, []thread.Ref{ev.Thread})
	case ev.Action == "archived":
		return b.wake(ctx, store.Query{Repo: strings.ToLower(is), States: live.Unfinished, Limit: 200})
	}
	return nil
}

// waitsHere reports whether a thread has a session that waits for an answer.
func (b *Bot) waitsHere(ctx context.Context, at thread.Ref) (bool, error) {
	sess, err := b.cfg.Store.Sessions.ByThread(ctx, at.Key())
	return err == nil && sess.State.Waits(), store.Unless(err, store.ErrNotFound)
}

// names returns the accounts with mentions equivalent to the command word: the bot's own.
// GitHub is asked for it once, at the first mention of any account.
func (b *Bot) names(ctx context.Context, body string) ([]string, error) {
	if !strings.Contains(body, "@") {
		return nil, nil
	}
	self, err := b.cfg.GitHub.Self(ctx)
	return []string{self}, err
}

// commandsIn parses the commands of a text. use is a usage error in them.
func (b *Bot) commandsIn(ctx context.Context, body string) (cmds []command.Command, use *command.Error, err error) {
	names, err := b.names(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	cmds, err = specs(b.rows).Parse(body, names...)
	if errors.As(err, &use) {
		err = nil
	}
	return cmds, use, err
}

// Verbs returns the names of the commands in a payload's text.
func (b *Bot) Verbs(ctx context.Context, event string, payload []byte) (names []string, err error) {
	ev, err := ghapp.ParseEvent(event, payload)
	if err != nil {
		return nil, err
	}
	s, ok := textOf(ev)
	if !ok {
		return nil, nil
	}
	cmds, _, err := b.commandsIn(ctx, s.body)
	for _, c := range cmds {
		names = append(names, c.Name)
	}
	return names, err
}
