package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
)

// ask adds the configured labels to a new pull request and requests the configured
// reviews. note lists missing labels and refused requests, which are not errors.
func (s *Session) ask(ctx context.Context) (note string, err error) {
	set := s.Config.PullRequest
	if s.Kept.For == s.Number {
		return "", nil
	}
	at := s.Thread
	at.Number = s.Number
	late := false
	labels, missing, err := s.labels(ctx)
	if s.Later(ctx, string(ghapp.WriteLabels), err) {
		missing, err = set.Labels, nil
		late = true
	}
	if err != nil {
		return "", err
	}
	var unasked []string
	want := func(wr ghapp.Write, name string, failed *[]string) error {
		wr.Thread = at
		_, err := s.Ensure(ctx, wr)
		var no *ghapp.Refusal
		away := s.Later(ctx, string(wr.Kind), err)
		if errors.As(err, &no) || away {
			*failed = append(*failed, name)
			late = late || away
			return nil
		}
		return err
	}
	key := fmt.Sprintf("pull-%s-%d", s.ID, s.Number)
	if len(labels) > 0 {
		if err := want(ghapp.Write{Key: key + "-labels", Kind: ghapp.WriteLabels, Labels: labels}, strings.Join(labels, ", "), &missing); err != nil {
			return "", err
		}
	}
	for _, who := range set.Reviewers {
		if err := want(ghapp.Write{Key: key + "-r-" + ghapp.Digest(who), Kind: ghapp.WriteReviewers, Reviewers: []string{who}}, who, &unasked); err != nil {
			return "", err
		}
	}
	for _, team := range set.TeamReviewers {
		if err := want(ghapp.Write{Key: key + "-t-" + ghapp.Digest(team), Kind: ghapp.WriteReviewers, Teams: []string{team}}, team, &unasked); err != nil {
			return "", err
		}
	}
	if s.Kept.Late++; late && s.Kept.Late < maxAttempts {
		return "", nil
	}
	s.Kept.For, s.Kept.Late = s.Number, 0
	return render.NotAsked(missing, unasked), nil
}

// maxAttempts is the maximum number of attempts at labels and reviewers during an outage.
const maxAttempts = 7

// askAgain repeats ask after an outage. Final failures become part of the end's note.
func (s *Session) askAgain(ctx context.Context) (note string, err error) {
	note, err = s.ask(ctx)
	if err != nil {
		return "", err
	}
	s.Kept.Note = strings.TrimSpace(s.Kept.Note + "\n\n" + note)
	return s.Kept.Note, s.Save(ctx, s.Number, s.Kept)
}

// maxLabelPages is the maximum number of pages of labels to read, at 100 labels each.
const maxLabelPages = 10

// labels splits the configured labels into those that exist in the repository and the
// missing ones, which GitHub would create.
func (s *Session) labels(ctx context.Context) (there, missing []string, err error) {
	missing = slices.Clone(s.Config.PullRequest.Labels)
	for page := 1; page != 0 && page <= maxLabelPages && len(missing) > 0; {
		got, err := s.Client.Ask(
			ctx,
			ghapp.Ask{Op: "list labels", Path: fmt.Sprintf("labels?per_page=100&page=%d", page), MaxBytes: 1 << 20},
		)
		if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
			return there, missing, nil
		}
		if err != nil {
			return nil, nil, err
		}
		var list []struct{ Name string }
		if err := json.Unmarshal(got.Body, &list); err != nil {
			return nil, nil, fmt.Errorf("list labels: %w", err)
		}
		missing = slices.DeleteFunc(missing, func(want string) bool {
			has := slices.ContainsFunc(list, func(l struct{ Name string }) bool { return strings.EqualFold(l.Name, want) })
			if has {
				there = append(there, want)
			}
			return has
		})
		page = got.Next
	}
	return there, missing, nil
}
