package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/thread"
)

// counting are commands that count the bot's comments, mentions and edits in a thread.
var counting = []scriptVerb{
	{"counts", "NUMBER REQUEST", 2, 2, (*stage).counts},
}

// received has the numbers that the readers of a thread get from the bot. A review with its comments on lines
// is one comment.
type received struct{ comments, mentions, edits int }

// String returns the figures as a row of the handbook.
func (y received) String() string {
	return fmt.Sprintf("| %d | %d | %d |", y.comments, y.mentions, y.edits)
}

// words are the parts of an event that tell of words in a thread.
type words struct {
	Comment, Review struct {
		Body   string
		Review int64 `json:"pull_request_review_id"`
		ID     int64
	}
	Issue       struct{ Number int }
	PullRequest struct{ Number int } `json:"pull_request"`
	Sender      struct{ Login string }
	Repository  struct {
		Name string `json:"full_name"`
	}
}

var (
	quietParts = regexp.MustCompile("(?s)<!--.*?-->|```.*?```|`[^`\n]*`") // GitHub takes no mention there
	mentioned  = regexp.MustCompile(`(?:^|[^\w@/.])@[A-Za-z0-9][\w-]*`)
)

// count counts the acts of the bot in a thread, by the events of GitHub since the first ones.
func (s *stage) count(at thread.Ref, first int) (y received, all int, err error) {
	list := s.gh.Deliveries()
	reviews := map[int64]bool{}
	for _, d := range list[min(first, len(list)):] {
		var w words
		if err := json.Unmarshal(d.Payload, &w); err != nil {
			return y, 0, err
		}
		here := w.Repository.Name == at.Repository() && max(w.Issue.Number, w.PullRequest.Number) == at.Number
		if !here || d.Redelivery || w.Sender.Login != s.gh.App().Login {
			continue
		}
		made := false
		switch d.Event + " " + d.Action {
		case "issue_comment created":
			made = true
			y.comments++
		case "pull_request_review submitted":
			made, reviews[w.Review.ID] = true, true
			y.comments++
		case "pull_request_review_comment created":
			made = true
			if !reviews[w.Comment.Review] {
				y.comments++
			}
		case "issue_comment edited", "pull_request_review_comment edited":
			y.edits++
		}
		if made {
			text := quietParts.ReplaceAllString(w.Comment.Body+"\n"+w.Review.Body, "")
			y.mentions += len(mentioned.FindAllString(text, -1))
		}
	}
	return y, len(list), nil
}

// handbookCounts reads the table of the costs of requests in docs/comments.md.
func handbookCounts() (map[string]received, error) {
	text, err := os.ReadFile("../../docs/comments.md")
	if err != nil {
		return nil, err
	}
	out := map[string]received{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			continue
		}
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(strings.TrimSpace(cells[i+2])); err != nil {
				break
			}
		}
		if err == nil {
			out[strings.TrimSpace(cells[1])] = received{n[0], n[1], n[2]}
		}
	}
	return out, nil
}

// counts compares the acts of the bot in a thread since the last look with a row of the handbook:
// as many comments and mentions, and no more edits.
func (s *stage) counts(ts *testscript.TestScript, args []string) error {
	at, err := s.ref(args[0])
	if err != nil {
		return err
	}
	rows, err := handbookCounts()
	if err != nil {
		return err
	}
	want, ok := rows[args[1]]
	if !ok {
		return fmt.Errorf("docs/comments.md has no row %q", args[1])
	}
	ctx, stop := s.waiting()
	defer stop()
	if err := s.gh.Flush(ctx); err != nil {
		return err
	}
	got, all, err := s.count(at, s.counted[at.Key()])
	if err != nil {
		return err
	}
	if s.counted == nil {
		s.counted = map[string]int{}
	}
	s.counted[at.Key()] = all
	ts.Logf("| %s %s", args[1], got)
	if s.breaks != nil && got.comments == want.comments+1 {
		got.comments-- // the notice of an outage, on a slow machine
	}
	if got.comments != want.comments || got.mentions != want.mentions || got.edits > want.edits {
		return fmt.Errorf("%s: the bot's comments, mentions and edits are %s, and docs/comments.md has %s", args[1], got, want)
	}
	return nil
}
