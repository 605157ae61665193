package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Other is another repository that a session reads, at one commit. With Write it may be
// changed as well: the change is saved, and the caller publishes it.
type Other struct {
	Name, Ref string // "owner/name", and a branch, a tag or, for a detached HEAD, a commit id
	Commit    string
	Repo      *gitops.Mirror
	ID        string // of the repository, whatever its name; "" if it has none
	Write     bool
	Why       string // reason why it is only read although the configuration wants to change it

	head  string // of the default branch, whose hiding rules count as well
	saved string // commit of the change made in it; "" if there is none
}

// OtherAt returns a repository at its configured ref: a branch, or else a tag, and the
// default branch if none is configured. The error is [gitops.ErrEmpty] for an empty
// repository, and [gitops.ErrNotFound] if it has no such ref.
func OtherAt(ctx context.Context, r policy.Repository, repo *gitops.Mirror) (Other, error) {
	branch, head, err := repo.Default(ctx)
	o := Other{Name: r.Name(), Ref: cmp.Or(r.Ref(), branch, head), Commit: head, Repo: repo, head: head}
	if err != nil || r.Ref() == "" {
		return o, err
	}
	// The mirror's own refs hold states of sessions, so only full names are resolved.
	o.Commit, err = repo.Resolve(ctx, "refs/heads/"+r.Ref()) //control:other-repository-ref
	if errors.Is(err, gitops.ErrNotFound) {
		o.Commit, err = repo.Resolve(ctx, "refs/tags/"+r.Ref())
	}
	return o, err
}

// takenOthers are the files of other repositories for one workspace.
type takenOthers struct {
	list  []workspace.Other
	bases []*gitops.Base
	rules []place // with the hiding rules of each
}

// takeOthers takes the visible files of the other repositories. The caller must call drop.
func (e *Engine) takeOthers(ctx context.Context, j Job) (t takenOthers, err error) {
	for _, o := range j.Others {
		rules := []string{o.Commit}
		if o.head != o.Commit {
			rules = append(rules, o.head)
		}
		hidden, err := e.cfg.Bases.hidden(ctx, o.Repo, rules)
		if err != nil {
			t.drop()
			return t, fmt.Errorf("read %s: %w", o.Name, err)
		}
		//control:other-repository-hides
		want := gitops.BaseWant{Commit: cmp.Or(o.saved, o.Commit), Rules: e.cfg.Guests.hide(rulesOf("", hidden))}
		got, err := e.cfg.Bases.store.Take(ctx, o.Repo, want)
		if err != nil {
			t.drop()
			return t, fmt.Errorf("read %s: %w", o.Name, err)
		}
		t.list = append(t.list, workspace.Other{Name: o.Name, Source: got.Source, Write: o.Write})
		t.rules = append(t.rules, place{rules: hidden, masks: e.cfg.Guests, gone: got.Gone})
		t.bases = append(t.bases, got)
	}
	return t, nil
}

func (t takenOthers) drop() {
	for _, b := range t.bases {
		b.Drop()
	}
}

// othersFact describes the other repositories of a job, as bound to an approval.
func othersFact(list []Other) string {
	var out []string
	for _, o := range list {
		out = append(out, o.Name+" "+o.Commit)
	}
	return strings.Join(out, ", ")
}

// othersWords is the line about the other repositories in a prompt; "" if there are none.
func othersWords(list []Other) string {
	var out, open []string
	for _, o := range list {
		at := workspace.Other{Name: o.Name}.Path()
		out = append(out, fmt.Sprintf("`%s/` is %s at %s", at, o.Name, o.Ref))
		if o.Write {
			open = append(open, "`"+at+"/`")
		}
	}
	if len(out) == 0 {
		return ""
	}
	also := ""
	if len(open) > 0 {
		also = "; your changes below " + strings.Join(open, ", ") + " become a pull request there"
	}
	return "\n- Other repositories, for reading only" + also + "; searches look there if they name the directory: " +
		strings.Join(out, ", ")
}

// tellOthers notes, for users and the model, the commits of the other repositories: once,
// and again after a change.
func (e *Engine) tellOthers(ctx context.Context, j Job, at *session.State) error {
	told := slices.ContainsFunc(at.Timeline, func(m session.Moment) bool {
		n, ok := m.(*session.Note)
		return ok && n.Kind == session.NoteOthers
	})
	text := "No other repository is in the workspace."
	if len(j.Others) > 0 {
		var names []string
		for _, o := range j.Others {
			name := fmt.Sprintf("%s at %s (%.10s)", o.Name, o.Ref, o.Commit)
			switch {
			case o.Write:
				name += ", which may be changed as well"
			case o.Why != "":
				name += ", only for reading because " + o.Why
			}
			names = append(names, name)
		}
		text = "For reading beside this repository: " + strings.Join(names, "; ") + "."
	} else if !told {
		return nil
	}
	r := e.asking(j, at)
	return r.tell(ctx, session.Note{Kind: session.NoteOthers, Text: text})
}
