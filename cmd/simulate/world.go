package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// world is a fake GitHub with the objects of a payload.
type world struct {
	gh           *ghtest.Server
	ev           ghapp.Event
	base, branch string // start of the work
	installation int64
}

// newWorld creates the repository, the thread and the text of an event. The fake GitHub
// listens on loopback.
func newWorld(in Input, ev ghapp.Event, dir string) (*world, error) {
	gh, err := ghtest.New(ghtest.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	w := &world{gh: gh, ev: ev, branch: branchName(ev.DefaultBranch, "main")}
	at := ev.Thread
	src := ghtest.Source{
		Files:   map[string]string{"README.md": "# " + at.Repo + "\n"},
		Branch:  w.branch,
		Private: ev.Private,
	}
	if w.installation, err = gh.AddRepo(at.Owner, at.Repo, src); err != nil {
		return nil, err
	}
	gh.Do(func() { err = w.layOut(in) })
	if err != nil {
		return nil, err
	}
	return w, gh.Start()
}

func (w *world) layOut(in Input) error {
	r := w.gh.FindRepo(w.ev.Thread.Owner, w.ev.Thread.Repo)
	r.ID = cmp.Or(w.ev.RepoID, r.ID)
	w.base = r.Dir.Branch(w.branch)
	r.Roles[strings.ToLower(w.ev.Sender.Login)] = in.Permission
	w.user(w.ev.Sender)
	if w.ev.Thread.Number == 0 {
		return nil
	}
	is, err := w.thread(r)
	if err != nil {
		return err
	}
	is.ID = w.gh.NextID()
	is.Labels, is.Updated = slices.Clone(w.ev.Labels), w.ev.Updated
	if w.ev.State == "closed" {
		is.State = "closed"
	}
	delete(r.Issues, is.Number)
	is.Number = w.ev.Thread.Number
	r.Issues[is.Number] = is
	if is.Pull != nil {
		if _, err := r.Dir.Run(nil, "update-ref", fmt.Sprintf("refs/pull/%d/head", is.Number), is.Pull.HeadSHA); err != nil {
			return err
		}
	}
	w.text(is)
	return nil
}

// user returns a user of the event, with the id from the event.
func (w *world) user(u ghapp.User) *hub.User {
	kind := "User"
	if u.Bot {
		kind = "Bot"
	}
	out := w.gh.EnsureUser(cmp.Or(u.Login, "ghost"), kind)
	out.ID = cmp.Or(u.ID, out.ID)
	return out
}

// thread creates the issue or the pull request.
func (w *world) thread(r *hub.Repo) (*hub.Issue, error) {
	author, title := w.user(w.ev.Author), cmp.Or(strings.TrimSpace(w.ev.Title), "Untitled")
	if !w.ev.IsPull {
		return w.gh.NewIssue(r, author, title, w.ev.Body), nil
	}
	p, from := w.ev.Pull, r
	owner, name, _ := strings.Cut(p.HeadRepo, "/")
	if p.Fork && thread.ValidateRepository(owner, name) == nil && w.gh.FindRepo(owner, name) == nil {
		fork, err := w.gh.MakeRepo(owner, name, ghtest.Source{Path: r.Dir.Path, Branch: w.branch})
		if err != nil {
			return nil, err
		}
		fork.Parent, from = r, fork
	}
	head, base := branchName(p.Head, "change"), branchName(p.Base, w.branch)
	if from == r && head == base {
		head += "-head"
	}
	for _, b := range []struct {
		in   *hub.Repo
		name string
	}{{r, base}, {from, head}} {
		if b.name == w.branch && b.in == r {
			continue
		}
		c := bare.Change{
			Branch:  b.name,
			Parent:  b.in.Dir.Branch(w.branch),
			Author:  author.Login,
			Message: "Change\n",
			Files:   map[string]string{b.name + ".txt": "changed\n"},
		}
		if _, err := b.in.Dir.Commit(c, w.gh.Now().Unix()); err != nil {
			return nil, err
		}
	}
	if from != r {
		head = from.Owner.Login + ":" + head
	}
	return w.gh.OpenPull(r, author, hub.NewPull{Title: title, Body: w.ev.Body, Head: head, Base: base, Draft: p.Draft})
}

// branchName returns a branch name from the payload, or other if the name is invalid.
func branchName(name, other string) string {
	if policy.ValidateBranch(name) != nil {
		return other
	}
	return name
}

// text adds the comment or the review of the event to the thread.
func (w *world) text(is *hub.Issue) {
	if c := w.ev.Comment; c.ID != 0 && w.ev.Action != "deleted" {
		made := w.gh.NewComment(is, w.user(c.Author), c.Body)
		made.ID, made.Created, made.Updated = c.ID, c.Created, c.Updated
		if !c.Diff {
			is.Comments = append(is.Comments, made)
		} else if is.Pull != nil {
			made.Path, made.Line, made.Hunk, made.Side, made.Commit, made.Review, made.InReplyTo = c.Path, c.Line, c.Hunk, "RIGHT", is.Pull.HeadSHA, c.ReviewID, c.InReplyTo
			is.Pull.Comments = append(is.Pull.Comments, made)
		}
	}
	if rv := w.ev.Review; rv.ID != 0 && is.Pull != nil {
		is.Pull.Reviews = append(
			is.Pull.Reviews,
			&hub.Review{
				ID:        rv.ID,
				Author:    w.user(rv.Author),
				Body:      rv.Body,
				State:     rv.State,
				Commit:    is.Pull.HeadSHA,
				Submitted: rv.Submitted,
			},
		)
	}
}

// withInstallation returns the payload with the id of the fake GitHub's installation.
func (w *world) withInstallation(payload []byte) ([]byte, error) {
	var p map[string]json.RawMessage
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, err
	}
	p["installation"] = json.RawMessage(fmt.Sprintf(`{"id":%d}`, w.installation))
	return json.Marshal(p)
}

// contents returns the texts and the reactions in the thread.
func (w *world) contents(at thread.Ref) (texts, reactions []string) {
	if at.Number == 0 {
		return nil, nil
	}
	t := w.gh.Thread(at)
	given, comments := slices.Clone(t.Reactions), slices.Clone(t.Comments)
	if t.Pull != nil {
		comments = append(comments, t.Pull.Comments...)
	}
	for _, c := range comments {
		texts, given = append(texts, c.Body), append(given, c.Reactions...)
	}
	for _, r := range given {
		reactions = append(reactions, r.Content)
	}
	return texts, reactions
}

// openedThread returns the thread that the bot opened, the only one in the repository.
func (w *world) openedThread(at thread.Ref) thread.Ref {
	w.gh.Do(func() {
		for n := range w.gh.FindRepo(at.Owner, at.Repo).Issues {
			at.Number = max(at.Number, n)
		}
	})
	return at
}
