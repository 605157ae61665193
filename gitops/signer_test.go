package gitops

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// marked is a signer whose signatures nobody checks.
func marked(_ context.Context, _ string, commit []byte) ([]byte, error) {
	return bytes.Replace(commit, []byte("\n\n"), []byte("\ngpgsig mark\n\n"), 1), nil
}

// TestWhatIsMadeAnewIsSigned: the commits that a push makes anew are signed as the
// first ones were: on top of what others pushed, without workflow files, and where
// somebody rewrote the branch.
func TestWhatIsMadeAnewIsSigned(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const ref = "refs/heads/agent/1"
	for _, name := range []string{"as it was", "rebased", "without workflows", "rewritten"} {
		t.Run(name, func(t *testing.T) {
			m, head, bare, work := seeded(t, map[string]string{"a": "1\n"})
			git(t, work, "push", "-q", "origin", "main:"+ref)
			meta := Meta{Message: "ours", Trailers: []Trailer{{TrailerSession, "s"}}, Sign: marked}
			one := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("n", "n\n")}, Meta: meta}))(t).ID
			p := SafePush{Commit: one, Base: head, Ref: ref, Session: "s", Sign: marked}
			if name == "without workflows" {
				p.Commit = must(m.Checkpoint(t.Context(), Checkpoint{Parent: one, Changes: []Change{put(".github/workflows/ci.yml", "on: push\n")}, Meta: meta}))(t).ID
				hookText(t, bare, "pre-receive", "while read o n r; do git ls-tree -r $n | grep -q workflows/ && { echo 'without `workflows` permission' >&2; exit 1; }; done; exit 0")
			}
			if name == "rewritten" {
				if _, err := m.PushSafe(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				p.Origin, p.Base = head, one
				p.Commit = must(m.Checkpoint(t.Context(), Checkpoint{Parent: one, Changes: []Change{put("n2", "n\n")}, Meta: meta}))(t).ID
			}
			if name == "rebased" || name == "rewritten" {
				commitFiles(t, work, "theirs", map[string]string{"t": "t\n"})
				git(t, work, "push", "-q", "-f", "origin", "HEAD:"+ref)
			}
			done, err := m.PushSafe(t.Context(), p)
			if err != nil || done.Ref != ref {
				t.Fatalf("pushed %+v, %v", done, err)
			}
			ours := 0
			for _, c := range must(history(m, head, done.Commit))(t) {
				if strings.HasPrefix(c.Message, "ours") {
					ours++
					if strings.TrimSpace(c.PGPSignature) != "mark" {
						t.Errorf("%s has no signature", c.Hash)
					}
				}
			}
			if want := map[bool]int{false: 1, true: 2}[name == "rewritten"]; ours != want {
				t.Errorf("%d commits of ours are on the branch, want %d", ours, want)
			}
		})
	}
}

// TestSignerOfAnotherCommit: what a signer returns is taken only when it says the
// same.
func TestSignerOfAnotherCommit(t *testing.T) {
	t.Parallel()
	m, head, _, _ := seeded(t, map[string]string{"a": "1\n"})
	for name, change := range map[string]func([]byte) []byte{
		"message": func(b []byte) []byte { return append(b, "\nCo-authored-by: m <m@x>\n"...) },
		"parent":  func(b []byte) []byte { return bytes.Replace(b, []byte("parent "+head+"\n"), nil, 1) },
		"tree": func(b []byte) []byte {
			return append([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"), b[len("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"):]...)
		},
	} {
		sign := func(_ context.Context, _ string, b []byte) ([]byte, error) { return change(b), nil }
		_, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("n", "n\n")}, Meta: Meta{Message: "ours", Sign: sign}})
		if err == nil || !strings.Contains(err.Error(), "another commit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	down := errors.New("down")
	_, err := m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("n", "n\n")}, Meta: Meta{Message: "ours", Sign: func(context.Context, string, []byte) ([]byte, error) { return nil, down }}})
	if !errors.Is(err, down) {
		t.Errorf("a signer that fails: %v", err)
	}
}
