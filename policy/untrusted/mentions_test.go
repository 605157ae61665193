package untrusted_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

// GitHub tells those whom the post names, each once, whatever its text and its folds say;
// and the text is shown as it is without them.
func TestPostMentions(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	r := rand.New(rand.NewPCG(githubcheck.Seed(), 11))
	texts := slices.Concat(payloads, []string{"", "    code", "# A\n- b", "| a |\n|---|", "> q", "</details>", "```\n@victim"})
	for range many(500, 4_000) {
		texts = append(texts, hostile(r))
	}
	var with, without []string
	for i, s := range texts {
		p := untrusted.Post{Text: s}
		if i%2 == 0 {
			p.Folds = []untrusted.Fold{{Title: "@victim", Text: s}}
		}
		without = append(without, here.Post(p))
		p.Mentions = []string{"kim", "acme/ops", "KIM", "a-b-c"}
		with = append(with, here.Post(p))
	}
	plain := j.Show(t, without...)
	for i, s := range j.Show(t, with...) {
		slices.Sort(s.Mentions)
		if !slices.Equal(s.Mentions, []string{"a-b-c", "acme/ops", "kim"}) {
			t.Errorf("%q\nas\n%q\ntells %q", texts[i], with[i], s.Mentions)
		}
		if _, rest, _ := strings.Cut(with[i], "\n\n"); rest != without[i] {
			t.Errorf("%q with mentions is\n%q, and without\n%q", texts[i], with[i], without[i])
		}
		if len(plain[i].Mentions) > 0 {
			t.Errorf("%q tells %q", without[i], plain[i].Mentions)
		}
	}
}

// Only what can be the name of an account or a team is mentioned, of that at most twenty;
// and no post outgrows what GitHub takes.
func TestMentionNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "@kim", "kim lee", "kim\nlee", "kim\n\n/agent stop", "-kim", "_kim", "k`", "kim[bot]", "a/b/c", "a/", "/b", "a/@b", "kim<!--", "кim", "kim\u200b", "[x](y)", "kim.", strings.Repeat("k", 65),
	} {
		if got := here.Post(untrusted.Post{Text: "x", Mentions: []string{bad, "sam"}}); got != "@sam\n\nx" {
			t.Errorf("%q is told as %q", bad, got)
		}
		if got := here.Post(untrusted.Post{Text: "x", Mentions: []string{bad}}); got != "x" {
			t.Errorf("%q alone is told as %q", bad, got)
		}
	}
	var many []string
	for i := range 100 {
		many = append(many, strings.Repeat("k", 30)+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	got := here.Post(untrusted.Post{Text: strings.Repeat("long ", 20000), Mentions: many, Closes: 1, Folds: []untrusted.Fold{{Title: "x", Text: strings.Repeat("y\n", 40000)}}})
	if n := strings.Count(got, "@"); n != 20 {
		t.Errorf("%d are told, want 20", n)
	}
	if n := len([]rune(got)); n > 65536-256 {
		t.Errorf("the post has %d characters", n)
	}
}
