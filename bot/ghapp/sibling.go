package ghapp

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/thread"
)

// Sibling is a repository beside another one of its installation, both as GitHub has them now.
type Sibling struct {
	Repo         Repository
	Own          Repository // the one that it is beside
	Client       *Client
	Installation int64 // as events name it: 0 with a token
}

// Sibling returns another repository of the installation that reaches own. It asks GitHub about
// both. The error is [ErrNotFound] if there is none, if another installation has it, and if it
// has another name by now. Its visibility is the caller's to judge.
func (a *App) Sibling(ctx context.Context, own, other thread.Ref) (s Sibling, err error) {
	mine, err := a.Installed(ctx, own)
	if err != nil {
		return s, err
	}
	theirs, err := a.Installed(ctx, other)
	if err != nil {
		return s, err
	}
	none := fmt.Errorf("find %s beside %s: %w", other.Repository(), own.Repository(), ErrNotFound)
	if theirs == 0 || theirs != mine {
		return s, none
	}
	if a.IsApp() {
		s.Installation = theirs
	}
	client, err := a.For(ctx, own, s.Installation)
	if err == nil {
		s.Own, err = client.Repo(ctx)
	}
	if err == nil {
		s.Client, err = a.For(ctx, other, s.Installation)
	}
	if err == nil {
		s.Repo, err = s.Client.Repo(ctx)
	}
	switch {
	case err != nil && KindOf(err) == Permanent: // there is no token for a former name
		return Sibling{}, fmt.Errorf("%w: %w", none, err)
	case err != nil:
		return Sibling{}, err
	case !strings.EqualFold(s.Repo.Name, other.Repository()):
		return Sibling{}, none
	}
	return s, nil
}
