package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// pull opens a pull request from a branch.
func (s *stage) pull(_ *testscript.TestScript, args []string) error {
	args = append(args, []string{"", "main"}[len(args)-3:]...)
	_, err := s.gh.OpenPull(scriptRepository, args[0], ghcheck.NewPull{Title: args[2], Head: args[1], Base: args[4], Body: args[3]})
	return err
}

// inline comments on a line of a diff, below the comment there if there is one.
func (s *stage) inline(ts *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	if args[3] == "-file" {
		args[3] = ts.ReadFile(args[4])
	}
	file, line, _ := strings.Cut(args[2], ":")
	n, err := strconv.Atoi(line)
	if err != nil {
		return fmt.Errorf("%q is not FILE:LINE", args[2])
	}
	for _, c := range s.gh.Thread(at).Pull.Comments {
		if c.Path == file && c.Line == n {
			return s.gh.On(at, args[0], func(is *hub.Issue, u *hub.User) error {
				first := s.gh.FindReviewComment(is.Repo, c.ID)
				cm := s.gh.NewComment(is, u, s.names.real(args[3]))
				cm.Path, cm.Line, cm.Side, cm.Hunk, cm.Commit = first.Path, first.Line, first.Side, first.Hunk, first.Commit
				cm.Review, cm.InReplyTo = first.Review, first.ID
				is.Pull.Comments = append(is.Pull.Comments, cm)
				s.gh.Tell(hub.AboutComment("created", cm, u))
				return nil
			})
		}
	}
	_, err = s.gh.Review(at, args[0], ghcheck.NewReview{Event: "COMMENT", Comments: []ghcheck.Inline{{Path: file, Line: n, Body: s.names.real(args[3])}}})
	return err
}

// draft makes a pull request a draft again.
func (s *stage) draft(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.On(at, args[0], func(is *hub.Issue, u *hub.User) error {
		is.Pull.Draft = true
		s.gh.Tell(hub.AboutIssue("converted_to_draft", is, u))
		return nil
	})
}

// react adds a reaction to a comment.
func (s *stage) react(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	return s.gh.On(at, args[0], func(is *hub.Issue, u *hub.User) error {
		if n < 1 || n > len(is.Comments) {
			return fmt.Errorf("there is no comment %d", n)
		}
		cm := is.Comments[n-1]
		cm.Reactions = append(cm.Reactions, &hub.Reaction{ID: s.gh.NextID(), Author: u, Content: args[3]})
		return nil
	})
}

// uninline deletes the comments on a line of a diff.
func (s *stage) uninline(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.On(at, args[0], func(is *hub.Issue, _ *hub.User) error {
		is.Pull.Comments = slices.DeleteFunc(is.Pull.Comments, func(c *hub.Comment) bool { return fmt.Sprintf("%s:%d", c.Path, c.Line) == args[2] })
		return nil
	})
}

// resolve resolves the review thread on a line.
func (s *stage) resolve(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	for _, c := range s.gh.Thread(at).Pull.Comments {
		if fmt.Sprintf("%s:%d", c.Path, c.Line) == args[2] && c.InReplyTo == 0 {
			return s.gh.Resolve(at, c.ID, args[0])
		}
	}
	return fmt.Errorf("no thread begins on %s", args[2])
}

// check has the repository's CI say how a check of a pull request ended.
func (s *stage) check(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[0])
	if err != nil {
		return err
	}
	_, err = s.gh.RunCheck(scriptRepository, s.gh.Thread(at).Pull.HeadSHA, ghcheck.Result{Name: args[1], Conclusion: args[2]})
	return err
}

// reword changes the title or the text of a thread.
func (s *stage) reword(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.On(at, args[0], func(is *hub.Issue, u *hub.User) error {
		title, text := &args[3], (*string)(nil)
		switch args[2] {
		case "text":
			title, text = nil, &args[3]
		case "title":
		default:
			return fmt.Errorf("%q is neither title nor text", args[2])
		}
		ev := hub.AboutIssue("edited", is, u)
		if text != nil {
			ev.Text = is.Body
		}
		err := is.Reword(title, text)
		s.gh.Tell(ev)
		return err
	})
}

// label puts a label on a thread, and with that in the repository.
func (s *stage) label(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.Label(at, args[0], args[2])
}
