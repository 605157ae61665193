package untrusted_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

var here = untrusted.OutputOptions{Repo: "me/mine", Home: "https://github.com/me/mine"}

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
	for _, ref := range s.References {
		if strings.Contains(ref, "/") && strings.Contains(ref, "#") && !strings.HasPrefix(ref, "me/mine#") {
			out = append(out, ref)
		}
	}
	return out
}

// many is n, or all where the long form is asked for.
func many(n, all int) int { return githubcheck.Texts(os.Getenv("HANDRAIL_LONG"), n, all) }

// Each thing that must not happen, alone and behind an address that swallows a
// backtick, does nothing on GitHub.
func TestPostedKinds(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, p := range payloads {
		texts = append(texts, p, "see https://docs.example.org/a` "+p+" @victim `.", "a `b "+p+"\n\n`")
	}
	posted(t, githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES")), texts)
}

// Whatever a text says, GitHub shows it and does nothing else; also behind any cut, and
// with what the bot adds behind it.
func TestPostedDoesNothingOnGitHub(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	r := rand.New(rand.NewPCG(githubcheck.Seed(), 1))
	var texts []string
	for range many(1000, 25_000) {
		texts = append(texts, hostile(r))
	}
	live := 0
	for i, s := range j.Show(t, texts[:1000]...) {
		if effects(texts[i], s) != nil {
			live++
		}
	}
	if live < 500 {
		t.Errorf("only %d of 1000 texts do something before they are cleaned", live)
	}
	most := 20 // payloads of a text that is cut wherever it can be
	if githubcheck.Giant() {
		most = len(payloads)
	}
	for some := range slices.Chunk(payloads, most) {
		worst := strings.Join(some, "` ")
		for i := range worst {
			texts = append(texts, worst[:i])
		}
		if many(0, 1) == 0 {
			break
		}
	}
	for texts := range slices.Chunk(texts, 12_000) {
		posted(t, j, texts)
	}
}

// Code in lists does nothing either, however it is indented.
func TestPostedLists(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := rand.New(rand.NewPCG(githubcheck.Seed(), 4))
	texts := []string{"- [ ]   \n\n  ~~~\n    <b>\n    ~~~\nx @victim",
		"- [ ]    Run it:\n\n        code\n\t1. \t  123456789.    Run it:\n        ~~~\n        @victim\n\n        ~~~"}
	for range many(1000, 5_000) {
		texts = append(texts, listed(r))
	}
	posted(t, githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES")), texts)
}

// posted cleans texts and asks the judge. Texts that look otherwise when they are cleaned
// twice, corners of lists and tabs, are at most one in a thousand; none has an effect.
func posted(t *testing.T, j *githubcheck.Judge, texts []string) {
	t.Helper()
	out := make([]string, 2*len(texts))
	githubcheck.Each(len(texts), func(i int) {
		clean := untrusted.CleanOutput(texts[i], here)
		out[2*i], out[2*i+1] = clean+"\n\n<!-- end -->", untrusted.CleanOutput(clean, here)+"\n\n<!-- end -->"
	})
	shown := j.Show(t, out...)
	unsteady := 0
	for i, s := range shown {
		if again := shown[i|1]; blanks.ReplaceAllString(again.Visible, "") != blanks.ReplaceAllString(s.Visible, "") {
			unsteady++
			t.Logf("cleaning twice changes\n%q to\n%q to\n%q", texts[i/2], out[i], out[i|1])
		}
		if len(s.Raw) > 0 && s.Raw[len(s.Raw)-1] == "<!-- end -->\n" {
			s.Raw = s.Raw[:len(s.Raw)-1]
		} else {
			t.Errorf("what follows\n%q\nas\n%q\nis not read as it is meant", texts[i/2], out[i])
		}
		for _, e := range effects(out[i], s) {
			t.Errorf("%q\nas\n%q\ndoes this on GitHub: %s", texts[i/2], out[i], e)
		}
	}
	if most := 1 + len(texts)/1000; unsteady > most {
		t.Errorf("cleaning twice changes %d of %d texts, at most %d may", unsteady, len(texts), most)
	}
}

var blanks = regexp.MustCompile(`[\s\p{Z}]+`)

// Titles and commit messages have no code in which something could be shown.
func TestTitlesAndMessages(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(githubcheck.Seed(), 3))
	texts := []string{"Fixes #1", "by @kim", "closes: other/repo#2\n\nResolves GH-3 and fixes https://github.com/me/mine/issues/4", "see other/repo#12"}
	for range many(2000, 25_000) {
		texts = append(texts, hostile(r))
	}
	live := 0
	for _, s := range texts {
		if githubcheck.Closing(s) != nil || githubcheck.Mentions(s) != nil {
			live++
		}
		for name, clean := range map[string]func(string) string{"title": untrusted.Title, "message": untrusted.Message} {
			got := clean(s)
			if again := clean(got); again != got {
				t.Errorf("%s %q becomes %q and then %q", name, s, got, again)
			}
			if strings.Contains(got, "\n") && name == "title" {
				t.Errorf("title %q has lines", got)
			}
			for _, list := range [][]string{githubcheck.Closing(got), githubcheck.Mentions(got), githubcheck.Commands(got)} {
				if list != nil {
					t.Errorf("%s %q of %q does %q", name, got, s, list)
				}
			}
		}
	}
	if live < 500 {
		t.Errorf("only %d texts do something before they are cleaned", live)
	}
}
