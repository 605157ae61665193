package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

// restoreGitHub makes a GitHub with the repository, the threads and the
// comments of another one, under the same numbers and of the same time.
func restoreGitHub(t *testing.T, dir, kind string) *ghcheck.Server {
	t.Helper()
	var at time.Time
	gh, err := ghcheck.New(ghtest.Config{Dir: t.TempDir(), Clock: func() time.Time {
		if at.IsZero() {
			return time.Now()
		}
		return at
	}})
	must(t, err)
	must(t, gh.Start())
	t.Cleanup(func() {
		if v := gh.Violations(); len(v) > 0 {
			t.Errorf("GitHub was spoken to wrongly: %v", v)
		}
		must(t, gh.Close())
	})
	var threads []ghtest.Thread
	data, err := os.ReadFile(filepath.Join(dir, "threads-"+kind+".json"))
	must(t, err)
	must(t, json.NewDecoder(bytes.NewReader(data)).Decode(&threads))
	oldRepo(t, gh, ghtest.Source{Path: filepath.Join(dir, "repo-"+kind+".bundle")})
	type said struct {
		ref thread.Ref
		ghtest.Comment
	}
	var all []said
	for _, th := range threads {
		at = time.Now()
		if len(th.Comments) > 0 {
			at = th.Comments[0].Created
		}
		var ref thread.Ref
		if p := th.Pull; p == nil {
			ref, err = gh.OpenIssue(storyRepo, th.Author, th.Title, th.Body)
		} else {
			ref, err = gh.OpenPull(storyRepo, th.Author, ghcheck.NewPull{Title: th.Title, Body: th.Body, Head: p.HeadRef, Base: p.BaseRef, Draft: p.Draft})
		}
		must(t, err)
		if ref != th.Ref {
			t.Fatalf("thread %s is %s now", th.Ref, ref)
		}
		for _, c := range th.Comments {
			all = append(all, said{ref, c})
		}
	}
	slices.SortFunc(all, func(a, b said) int { return int(a.ID - b.ID) })
	for _, c := range all {
		at = c.Created
		takeIDs(gh, c.ID-1)
		now, err := gh.Comment(c.ref, c.Author, c.Body)
		if err == nil && c.Updated != c.Created {
			at = c.Updated
			err = gh.EditComment(c.ref, now.ID, c.Author, c.Body)
		}
		must(t, err)
		if now.ID != c.ID {
			t.Fatalf("comment %d is %d now", c.ID, now.ID)
		}
	}
	at = time.Time{}
	return gh
}

// oldRepo makes the people and the repository, which get the same ids each
// time.
func oldRepo(t *testing.T, gh *ghcheck.Server, from ghtest.Source) {
	t.Helper()
	gh.AddUser("you", "maintain") // who may grant turns, too
	_, err := gh.AddRepo("team", "app", from)
	must(t, err)
}

// takeIDs uses up ids until the one after last is next.
func takeIDs(gh *ghcheck.Server, last int64) {
	for n := 0; ; n++ {
		login := fmt.Sprintf("id-%d-%d", last, n)
		gh.AddUser(login, "")
		if gh.UserID(login) >= last {
			return
		}
	}
}
