package work

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// TestOtherAt: a configured ref is a branch or a tag. It reaches no saved state of a
// session, which the same mirror may hold.
func TestOtherAt(t *testing.T) {
	repo, commit := linkedRepo(t, map[string]string{"a.txt": "a"}, nil)
	const saved = gitops.SessionRefs + "s1"
	for _, ref := range []string{saved, "refs/heads/next", "refs/tags/v1"} {
		if err := repo.SetRef(t.Context(), ref, commit, ""); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]error{
		"": nil, "next": nil, "v1": nil, "v2": gitops.ErrNotFound, saved: gitops.ErrNotFound, strings.TrimPrefix(saved, "refs/"): gitops.ErrNotFound,
		commit: gitops.ErrNotFound, commit[:12]: gitops.ErrNotFound, "HEAD": gitops.ErrNotFound,
	} {
		name := "team/lib"
		if ref != "" {
			name += "@" + ref
		}
		o, err := OtherAt(t.Context(), policy.Repository(name), repo)
		if !errors.Is(err, want) || want == nil && (o.Commit != commit || o.Name != "team/lib" || o.Ref == "" || ref != "" && o.Ref != ref) {
			t.Errorf("%q is %+v, %v, want %v", ref, o, err, want)
		}
	}
}

// TestOthersAreBound: an approval depends on the commits of other repositories.
func TestOthersAreBound(t *testing.T) {
	e := New(Config{})
	seen := map[string]bool{}
	for _, list := range [][]Other{nil, {{Name: "team/lib", Commit: "a"}}, {{Name: "team/lib", Commit: "b"}}, {{Name: "team/spec", Commit: "b"}}} {
		facts := e.surroundings("docker", "", Job{Others: list})
		i := slices.IndexFunc(facts, func(f session.Fact) bool { return f.Name == "other repositories" })
		value := ""
		if i >= 0 {
			value = facts[i].Value
		}
		if seen[value] || (list == nil) != (i < 0) {
			t.Errorf("%+v is bound as %q", list, value)
		}
		seen[value] = true
	}
}
