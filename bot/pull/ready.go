package pull

import (
	"context"

	"github.com/handrail-bot/handrail/bot/ghapp"
)

// Ready takes the pull request out of draft, unless its head is no longer the given one, and
// has its requester asked for a review if the configuration names no reviewers; those were
// asked when it was opened, and GitHub asks the owners of the code. key identifies the
// effect. The error is a [ghapp.Refusal] if GitHub does not let the bot do it.
func (s *Session) Ready(ctx context.Context, key, head string) error {
	at := s.Thread
	at.Number = s.Number
	if _, err := s.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteReady, Thread: at, Commit: head}); err != nil {
		return err
	}
	set := s.Config.PullRequest
	if len(set.Reviewers)+len(set.TeamReviewers) == 0 && s.Person { //control:review-is-requested
		_, err := s.Ensure(ctx, ghapp.Write{
			Key:       key + "-review",
			Kind:      ghapp.WriteReviewers,
			Thread:    at,
			Reviewers: []string{s.Requester},
		})
		err = ghapp.UnlessRefused(err) // an account that left the repository
		if err != nil && !s.Later(ctx, string(ghapp.WriteReviewers), err) {
			return err
		}
	}
	return s.EndDraft(ctx)
}

// EndDraft records that the draft has ended, so that no rule ends another one that a user
// makes of it.
func (s *Session) EndDraft(ctx context.Context) error {
	s.Kept.Draft = Draft{Ended: s.Number}
	return s.Save(ctx, s.Number, s.Kept)
}
