package untrusted_test

import (
	"os"
	"testing"

	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// effects lists what a text does on GitHub beside being read.
func effects(text string, s githubcheck.Shown) (out []string) {
	for _, list := range [][]string{s.Images, s.Mentions, s.Raw, s.Closing, githubcheck.Commands(text)} {
		out = append(out, list...)
	}
	for _, l := range s.Links {
		if l.Hidden() {
			out = append(out, l.Text+" leads to "+l.Href)
		}
	}
	return out
}

func TestPostedDoesNothingOnGitHub(t *testing.T) {
	t.Parallel()
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	texts := []string{
		"Hi @kim and @org/team, <b>bold</b>\n/agent help\n::set-output name=x::y\n",
		"<img src=https://evil.example/p.png>\n\n<!-- hidden -->",
	}
	var out []string
	for _, s := range texts {
		if effects(s, j.Show(t, s)[0]) == nil {
			t.Errorf("%q does nothing before it is cleaned", s)
		}
		out = append(out, untrusted.CleanOutput(s, untrusted.OutputOptions{NeutralKeys: true}))
	}
	for i, s := range j.Show(t, out...) {
		for _, e := range effects(out[i], s) {
			t.Errorf("%q does this on GitHub: %s", out[i], e)
		}
	}
}

func TestPlainTextIsJudged(t *testing.T) {
	t.Parallel()
	if githubcheck.Closing("Fixes #1") == nil || githubcheck.Mentions("by @kim") == nil {
		t.Error("a closing keyword or a mention of a commit message is not seen")
	}
}
