package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const seeing = "{name: m, tools: true, vision: true, context: 32768}"

func screenshot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// report opens another issue, which the story is then about.
func (s *story) report(body string) {
	s.t.Helper()
	var err error
	if s.issue, err = s.gh.OpenIssue(storyRepo, "you", "It looks wrong", body); err != nil {
		s.t.Fatal(err)
	}
}

// A picture in the issue, one in the comment and one in a follow-up reach a
// model that sees; what is elsewhere is not asked for, and the model is told.
func TestPictureInTheIssue(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStoryOf(t, seeing, greeting, `
- when:
    images: 2
    user_contains: ["[Picture 1 in the comment is attached as image 1.]", "[Picture 1 in the first post is attached as image 2.]",
      "[Picture 2 in the first post is not shown: it is not on GitHub, and nothing else is asked.]"]
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "As in the picture. [TASK_COMPLETE]"
- when: {images: 3, user_contains: "[Picture 1 in the comment is attached as image 1.]"}
  calls: [{name: write_file, arguments: {path: more.txt, content: "more\n"}}]
- say: "Also that. [TASK_COMPLETE]"
`)
	shot := screenshot(t)
	s.report("It shows this: ![wrong](" + s.gh.Attach(shot, false) + ")\n\n![spy](https://tracker.example/?who=you)")
	s.say("you", "It should be:\n<img alt=\"right\" src=\""+s.gh.Attach(shot, true)+"\">\n\n/agent fix it")
	s.until("**done**", "+1 −1")
	s.say("you", "/agent also like this ![more]("+s.gh.Attach(shot, false)+")")
	s.until("**done**", "more.txt")
}

// A model that cannot see is told that there was a picture. GitHub is not
// asked for it.
func TestPictureForABlindModel(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- when:
    images: 0
    user_contains: "[Picture 1 in the first post is not shown: the model m cannot see pictures.]"
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "I cannot see, but I fixed it. [TASK_COMPLETE]"
`)
	s.report("It shows this: ![wrong](" + s.gh.Attach(screenshot(t), false) + ")")
	s.say("you", "/agent fix it")
	s.until("**done**", "+1 −1")
}

// Lines behind a permanent link, and a file that is named, are in front of the
// model before its first turn: it reads nothing, and changes them at once.
func TestPermalinkIsNotReadAgain(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, map[string]string{"greet.sh": "echo one\necho Helo\necho two\n", "docs/style.txt": "Greet with Hello.\n"}, `
- when:
    user_contains: ["selected code from greet.sh:L2 (already provided — do not re-read)", "echo Helo",
      "Contents of docs/style.txt (already provided — do not re-read)", "Greet with Hello."]
    system_contains: already provided
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Done. [TASK_COMPLETE]"
`)
	link := fmt.Sprintf("%s/%s/blob/%s/greet.sh#L2", s.gh.URL(), storyRepo, s.gh.Branch(storyRepo, "main"))
	s.say("you", "/agent follow docs/style.txt in "+link)
	s.done()
	if got := s.file(s.pull().Pull.HeadRef, "greet.sh"); !strings.Contains(got, "echo Hello\n") {
		t.Errorf("greet.sh = %q", got)
	}
}

// A comment on the diff brings the code that it is about, as it stands in the
// pull request.
func TestCommentOnTheDiff(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- when:
    user_contains: ["selected code from greet.sh:L1-L2 (already provided — do not re-read)", "+echo Heloo", "say Hello here",
      "Code that the person gave (already provided — do not re-read):\n`+"```"+`sh\n# as in\necho Hello"]
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Heloo, new_string: Hello}}]
- say: "Done. [TASK_COMPLETE]"
`)
	if _, err := s.gh.Push(storyRepo, "typo", "you", map[string]string{"greet.sh": "echo Helo\necho Heloo\n"}); err != nil {
		t.Fatal(err)
	}
	pull, err := s.gh.OpenPull(storyRepo, "you", ghcheck.NewPull{Title: "More greetings", Head: "typo", Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	s.issue = pull
	if _, err := s.gh.Review(pull, "you", ghcheck.NewReview{Event: "COMMENT", Comments: []ghcheck.Inline{
		{Path: "greet.sh", Line: 2, Body: "/agent say Hello here\n```sh\n# as in\necho Hello\n```\n"},
	}}); err != nil {
		t.Fatal(err)
	}
	s.until("**done**", "+1 −1")
	if got := s.file("typo", "greet.sh"); got != "echo Helo\necho Hello\n" {
		t.Errorf("greet.sh = %q", got)
	}
}

// comments has people write so many comments.
func (s *story) comments(n int, text string) {
	s.t.Helper()
	for i := range n {
		s.say("you", fmt.Sprintf("Note %d. %s", i, text))
	}
}

// sentBytes is how long the first request to the model was, without its system prompt.
func (s *story) sentBytes() (n int) {
	s.t.Helper()
	for _, r := range s.model.Requests()[:1] {
		for _, m := range r.Messages {
			if m.Role == "user" {
				n += len(m.Content)
			}
		}
	}
	return n
}

// Of 500 comments the newest are whole, older ones short, and the others counted;
// together they are a third of the model's context at most.
func TestManyCommentsInAThread(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, tt := range []struct{ comments, context, least, most int }{{60, 8192, 4_000, 8192 / 3 * 4}, {500, 32768, 25_000, 32768 / 3 * 4}} {
		t.Run(fmt.Sprint(tt.context), func(t *testing.T) {
			s := newStoryOf(t, fmt.Sprintf("{name: m, tools: true, context: %d}", tt.context), greeting, `
- when: {user_contains: ["`+fmt.Sprintf("Note %d. It says Helo.", tt.comments-1)+`", "older comments are left out here", "[shortened:"], lacks: "Note 10. "}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Done. [TASK_COMPLETE]"
`)
			s.comments(tt.comments, "It says Helo. "+strings.Repeat("So much is to be said of this. ", 60))
			s.say("you", "/agent fix it")
			s.done()
			if n := s.sentBytes(); n < tt.least || n > tt.most {
				t.Errorf("the model was sent %d bytes, want %d to %d", n, tt.least, tt.most)
			}
		})
	}
}
