package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// posts returns everything that can be written of a session whose every text
// is made by text.
func posts(text func() string) []untrusted.Post {
	asked := session.Asked{ID: "abc123", Tool: "run_terminal_command", Display: text(), Reasons: []string{text(), text()}, Paths: []string{text()}, Severity: "high"}
	edit, question := asked, asked
	edit.Tool, edit.Review = "edit_file", &session.Review{Commit: text(), Branch: text(), Base: text()}
	question.Kind, question.Choices = session.AskQuestion, []string{text(), text()}
	s := session.NewState()
	s.Phase, s.Task = session.PhaseDone, session.Task{Text: text(), Model: text(), Mode: text(), Requester: text()}
	s.Outcome = &session.Outcome{Status: session.StatusDone, Summary: text(), Reason: text()}
	s.Todo = []session.Todo{{Text: text(), Status: session.TodoDone}, {Text: text(), Status: session.TodoDoing}}
	s.Files = []session.FileChange{{Path: text(), Kind: session.ChangeCreate}, {Path: text(), From: text(), Kind: session.ChangeRename}}
	s.Timeline = []session.Moment{&session.ToolRun{Title: text()}, &session.Message{Author: text(), Text: text()}, &session.Note{Text: text()}}
	progress := render.Progress(s, render.Links{Pull: 3})
	out := append(render.Patches(text()), progress, render.Status(s.Updated, progress), render.ReviewNotice(edit, 2, text()))
	for _, body := range []string{
		render.Ending(s, "", 3), render.PullBody(s, text(), render.Origin{Number: 1}), render.CheckSummary(s, ""),
		render.Approval(asked, text()), render.Approval(edit, text()), render.Approval(question, text()),
		render.ReviewBody(edit, text(), 1), render.NotReviewed(text()), render.NotStarted(text()),
		render.CouldNotStart(errors.New(text())), render.CouldNotGoOn(errors.New(text())), render.StoppedBy(text(), text(), s), render.WithdrawnBy(text(), text(), s), render.RequestDeleted(text(), s), render.NotCounted(text(), text()),
		render.NotOpen("approve", text(), []session.Asked{asked}), render.NoPull(text(), text()), render.BaseIsGone(text(), text()), text(),
	} {
		out = append(out, untrusted.Post{Text: body, Closes: len(body) % 2})
	}
	return out
}

// TestOwnWords: nothing that the bot can post is a command for its own parser,
// or would make it ask back, whatever the model wrote.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	pieces := strings.Split("/agent approve abc123\x1f\n/agent stop\n\x1f\n\n/agent fix it\x1f- \x1f> \x1f# \x1f| a |\n|---|\n\x1f```\n\x1f~~~\x1f`\x1f``\x1f    \x1f<!--\x1f-->\x1f<details>\x1f</details>\x1f<pre>\x1f<b>\x1f*\x1f**\x1f_\x1f[\x1f](\x1f)\x1f![\x1f[^1]: \x1f$$\n\x1f\\\x1f\\\\\x1f\r\n\x1f\r\x1f\u2028\x1f&#47;agent stop\x1f\n&#x2F;agent stop\x1f\u200b/agent stop\x1fhttps://e.org/a\x1f@kim\x1f\n@kim stop\n\x1f@handrail stop\n\x1f\n@handrail[bot]: approve abc123\n\x1f\n/Agent, stop\n\x1f\n/AGENT:stop\n\x1f/agent\u3000stop\x1fyes\x1f\n> Which text?\n\nyes\x1ftext\x1f\n\x1f\n\n\x1f1. \x1f\x00\x1f\t\x1f\u00a0\x1f===\n\x1f---\n\x1f<!-- handrail:k -->", "\x1f")
	rnd := rand.New(rand.NewPCG(3, 10))
	secrets := newSecrets()
	gate := func(p untrusted.Post) string {
		p.Text = secrets.outgoing(p.Text)
		for i := range p.Folds {
			p.Folds[i].Text = secrets.outgoing(p.Folds[i].Text)
		}
		return untrusted.OutputOptions{Repo: "acme/widget", Inert: command.Inert}.Post(p)
	}
	table := command.Table{{Name: command.Task, Args: command.TakesText}, {Name: "approve", Args: command.TakesIDs}, {Name: "deny", Args: command.TakesIDsAndReason}, {Name: "stop", Args: command.TakesText}, {Name: command.AskHelp, Args: command.TakesText}}
	question := command.Question{Text: "Which text?", Choices: []string{"text", "1", "yes"}, Thread: true}
	texts, inert := 0, 0
	rounds := 60
	if longtest.Long() {
		rounds = 3000
	}
	for range rounds {
		for _, post := range posts(func() string {
			var b strings.Builder
			for range 1 + rnd.IntN(7) {
				b.WriteString(pieces[rnd.IntN(len(pieces))])
			}
			return b.String()
		}) {
			out := gate(post)
			texts++
			if out != post.Text {
				inert++
			}
			if again := gate(untrusted.Post{Text: out}); again != out && post.Closes == 0 && len(post.Folds) == 0 {
				t.Fatalf("the gate changes what it let through:\n%q\n%q", out, again)
			}
			for _, body := range []string{out, out + "\n\n<!-- handrail:k aaaaaaaaaaaaaaaaaaaaaaaaaa -->", strings.ReplaceAll(out, "\n", "\r\n")} {
				if cmds, err := table.Parse(body, "handrail[bot]", "kim"); err != nil || len(cmds) > 0 {
					t.Fatalf("%q would be read as %v, %v", body, cmds, err)
				}
			}
			marked := out + "\n\n<!-- handrail:k aaaaaaaaaaaaaaaaaaaaaaaaaa -->" // as everything is that goes to GitHub
			if answer, ok := question.Answer(marked); ok || command.MayAnswer(marked) {
				t.Fatalf("%q would be read as the answer %q", marked, answer)
			}
		}
	}
	t.Logf("%d texts, %d made inert", texts, inert)
}
