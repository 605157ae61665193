package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// findOthers determines the clones of other repositories: those of the wish, and those
// that a continued session had.
func (s *Session) findOthers(w Wish, before *StoredRun) error {
	s.clones = map[string]string{}
	if before != nil {
		maps.Copy(s.clones, before.State.Task.Clone.Others)
	}
	for name, dir := range w.Clone.Others {
		if err := policy.Repository(name).Check(); err != nil || strings.ContainsAny(name, "@*") {
			return door.Usage("--other takes owner/name=DIR, and %q is no owner/name", name)
		}
		at, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("find %s: %w", dir, err)
		}
		s.clones[name] = at
	}
	s.Task.Clone.Others = nil
	if len(s.clones) > 0 {
		s.Task.Clone.Others = s.clones
	}
	return nil
}

// openOthers opens the other repositories, once: those that the configuration names or the
// user does. One without a clone is left out, and the user is told.
func (s *Session) openOthers(ctx context.Context) error {
	if s.others != nil {
		return nil
	}
	wanted := slices.Clone(s.Rules.Repositories)
	for _, name := range slices.Sorted(maps.Keys(s.clones)) {
		if !slices.ContainsFunc(wanted, func(r policy.Repository) bool { return r.Name() == name }) {
			wanted = append(wanted, policy.Repository(name))
		}
	}
	for _, r := range wanted {
		dir, ok := s.clones[r.Name()]
		if !ok {
			s.term.Say("! %s is not read: name a clone of it with --other %s=DIR.", r.Name(), r.Name())
			continue
		}
		m, err := gitops.OpenLocal(dir)
		if err != nil {
			return door.Usage("--other %s: %w", r.Name(), err)
		}
		o, err := work.OtherAt(ctx, r, m)
		switch {
		case errors.Is(err, gitops.ErrNotFound) && r.Ref() != "":
			err = door.Usage(
				"%s has no branch and no tag %s, which `repositories` in .github/agent.yml asks for",
				dir,
				untrusted.EscapeLine(r.Ref()),
			)
		case err != nil:
			err = door.Usage("--other %s: %s: %w", r.Name(), dir, err)
		}
		if err != nil {
			return errors.Join(err, m.Close())
		}
		s.others = append(s.others, o)
	}
	return nil
}
