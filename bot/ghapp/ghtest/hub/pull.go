package hub

import (
	"fmt"
	"strings"
)

// NewPull is a pull request to open. Head is a branch, or "owner:branch" of a fork.
type NewPull struct {
	Title, Body, Head, Base string
	Draft                   bool
	MaintainerCanModify     *bool `json:"maintainer_can_modify"`
}

// OpenPull opens a pull request, or returns GitHub's refusal.
func (h *Hub) OpenPull(r *Repo, author *User, req NewPull) (*Issue, error) {
	if strings.TrimSpace(req.Title) == "" {
		return nil, Invalid("PullRequest", "title", "missing_field", "")
	}
	if err := CheckText("PullRequest", req.Body); err != nil {
		return nil, err
	}
	headRepo, headRef := r, req.Head
	if owner, ref, ok := strings.Cut(req.Head, ":"); ok {
		headRef, headRepo = ref, h.forkOf(r, owner)
	}
	baseSHA := r.Dir.Branch(req.Base)
	if baseSHA == "" {
		return nil, Invalid("PullRequest", "base", "invalid", "")
	}
	if headRepo == nil || headRepo.Dir.Branch(headRef) == "" {
		return nil, Invalid("PullRequest", "head", "invalid", "")
	}
	for _, other := range r.Issues {
		if p := other.Pull; p != nil && other.State == "open" && p.HeadRepo == headRepo && p.HeadRef == headRef &&
			p.BaseRef == req.Base {
			return nil, custom(
				"PullRequest",
				fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.Owner.Login, headRef),
			)
		}
	}
	headSHA, err := h.importHead(r, headRepo, headRef, r.lastNumber+1)
	if err != nil {
		return nil, err
	}
	if n, err := r.Dir.Count(baseSHA + ".." + headSHA); err != nil || n == 0 {
		return nil, custom("PullRequest", fmt.Sprintf("No commits between %s and %s", req.Base, headRef))
	}
	is := h.NewIssue(r, author, req.Title, req.Body)
	is.Pull = &pull{HeadRepo: headRepo, HeadRef: headRef, HeadSHA: headSHA, BaseRef: req.Base, BaseSHA: baseSHA,
		Draft: req.Draft, NoMaintainer: req.MaintainerCanModify != nil && !*req.MaintainerCanModify}
	h.Tell(AboutIssue("opened", is, author))
	return is, nil
}

// Ready takes a pull request out of draft.
func (h *Hub) Ready(is *Issue, by *User) {
	if is.Pull.Draft {
		is.Pull.Draft = false
		is.Updated = h.Now()
		h.Tell(AboutIssue("ready_for_review", is, by))
	}
}

func (h *Hub) forkOf(r *Repo, owner string) *Repo {
	if strings.EqualFold(owner, r.Owner.Login) {
		return r
	}
	for _, f := range h.Repos {
		if f.Parent == r && strings.EqualFold(f.Owner.Login, owner) {
			return f
		}
	}
	return nil
}

// importHead copies the head of a pull request into the base repository under
// refs/pull, where it can be fetched by number.
func (h *Hub) importHead(r, from *Repo, ref string, number int) (string, error) {
	target := fmt.Sprintf("refs/pull/%d/head", number)
	if from == r {
		sha := r.Dir.Branch(ref)
		_, err := r.Dir.Run(nil, "update-ref", target, sha)
		return sha, err
	}
	if _, err := r.Dir.Run(nil, "fetch", "--quiet", "--no-tags", from.Dir.Path, "+refs/heads/"+ref+":"+target); err != nil {
		return "", err
	}
	return r.Dir.Line("rev-parse", target)
}

// Move is a branch update. An empty Before means a new branch, an empty After a deleted
// one.
type Move struct {
	Repo          *Repo
	Branch        string
	Before, After string
	By            *User
}

// BranchMoved sends the events of a branch update and updates pull requests. The caller
// holds the lock.
func (h *Hub) BranchMoved(m Move) {
	if m.After == "" {
		delete(m.Repo.Heads, m.Branch)
	} else {
		m.Repo.Heads[m.Branch] = m.After
	}
	h.Tell(Event{Kind: "push", By: m.By, Repo: m.Repo, Move: &m})
	for _, base := range h.Repos {
		for _, is := range base.Sorted() {
			h.pullMoved(is, m)
		}
	}
}

func (h *Hub) pullMoved(is *Issue, m Move) {
	p := is.Pull
	if p == nil || is.State != "open" {
		return
	}
	if is.Repo == m.Repo && p.BaseRef == m.Branch && m.After != "" {
		p.BaseSHA = m.After
	}
	if p.HeadRepo != m.Repo || p.HeadRef != m.Branch {
		return
	}
	if m.After == "" {
		h.SetState(is, "closed", m.By)
		return
	}
	sha, err := h.importHead(is.Repo, m.Repo, m.Branch, is.Number)
	if err != nil {
		h.Log.Error("follow pull request", "err", err)
		return
	}
	p.HeadSHA = sha
	is.Updated = h.Now()
	ev := AboutIssue("synchronize", is, m.By)
	ev.Move = &m
	h.Tell(ev)
}
