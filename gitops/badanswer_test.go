package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// badLine is a network that breaks the answers to some requests, after the remote carried
// them out.
type badLine struct {
	on  string // "METHOD path?query" contains it; empty breaks nothing
	how func([]byte) []byte
	met int
	max int // of broken answers; 0 means no limit
}

func (b *badLine) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || b.on == "" || resp.StatusCode != http.StatusOK || !strings.Contains(r.Method+" "+r.URL.RequestURI(), b.on) {
		return resp, err
	}
	if b.max > 0 && b.met >= b.max {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	b.met++
	body = b.how(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// TestReplayIsSentWithoutAnswer: the answer to a push is lost, and what was pushed is a replay on commits of others.
// The caller learns its commit.
func TestReplayIsSentWithoutAnswer(t *testing.T) {
	t.Parallel()
	url, bare, work := newRemote(t).repo("one", map[string]string{"a": "1\n"})
	line := &badLine{on: "POST /one.git/git-receive-pack", how: badWays["empty"]}
	m := must(newStore(t, func(c *Config) { c.HTTP = line }).Mirror(t.Context(), url))(t)
	head := must(m.Resolve(t.Context(), "main"))(t)
	ours := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("ours", "1\n")}, Meta: Meta{Message: "x"}}))(t)
	commitFiles(t, work, "theirs", map[string]string{"theirs": "2\n"})
	git(t, work, "push", "-q", "origin", "main")
	out, err := m.PushSafe(t.Context(), SafePush{Commit: ours.ID, Base: head, Ref: "refs/heads/main"})
	if tip := git(t, bare, "rev-parse", "main"); !errors.Is(err, ErrUnavailable) || out.Commit != tip || tip == ours.ID {
		t.Errorf("sent %s, the branch is at %s: %v", out.Commit, tip, err)
	}
}

// badWays are ways in which an answer of git's is none, although its status is 200.
var badWays = map[string]func([]byte) []byte{
	"empty":    func([]byte) []byte { return nil },
	"null":     func([]byte) []byte { return []byte("null") },
	"a page":   func([]byte) []byte { return []byte("<!DOCTYPE html><title>Unicorn!</title>") },
	"half":     func(b []byte) []byte { return b[:len(b)/2] },
	"no end":   func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("0000")) },
	"one line": func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')+1] },
	"ends":     func([]byte) []byte { return []byte("0000") },
	"no refs":  func([]byte) []byte { return []byte("001e# service=git-upload-pack\n00000000") },
}

// TestPushThatIsNotConfirmed: a report without the ref is an outage, and a repetition finds the
// push done.
func TestPushThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	url, bare, _ := newRemote(t).repo("one", map[string]string{"a": "1\n"})
	const report = "000eunpack ok\n0000"
	line := &badLine{on: "POST /one.git/git-receive-pack", how: func([]byte) []byte {
		return fmt.Appendf(nil, "%04x\x01%s0000", len(report)+5, report)
	}}
	m := must(newStore(t, func(c *Config) { c.HTTP = line }).Mirror(t.Context(), url))(t)
	head := must(m.Resolve(t.Context(), "main"))(t)
	push := Push{Commit: head, Ref: "refs/heads/new", Create: true}
	if err := m.Push(t.Context(), push); !errors.Is(err, ErrUnavailable) || line.met != 1 {
		t.Errorf("%v after %d reports without a ref", err, line.met)
	}
	line.on = ""
	if err := m.Push(t.Context(), push); err != nil || git(t, bare, "rev-parse", "refs/heads/new") != head {
		t.Errorf("again: %v", err)
	}
}

// TestOneBadAnswerOfARemote: a broken answer to a read is made good by asking again at once.
func TestOneBadAnswerOfARemote(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, how := range badWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
			git(t, bare, "config", "uploadpack.allowFilter", "true")
			line := &badLine{how: how, max: 1}
			store := newStore(t, func(c *Config) { c.HTTP, c.Partial = line, true })
			once := func(on string, call func() error) {
				t.Helper()
				line.on, line.met = on, 0
				if err := call(); err != nil || line.met != 1 {
					t.Errorf("%s: %v after %d broken answers", on, err, line.met)
				}
			}
			var m *Mirror
			if name != "no refs" { // a new repository has none
				once("GET /one.git/info/refs", func() (err error) {
					m, err = store.Mirror(t.Context(), url)
					return err
				})
			} else {
				m = must(store.Mirror(t.Context(), url))(t)
			}
			commitFiles(t, work, "second", map[string]string{"b": "2\n"})
			git(t, work, "push", "-q", "origin", "main")
			once("GET /one.git/info/refs", func() error { return m.Fetch(t.Context(), "main") })
			once("POST /one.git/git-upload-pack", func() error {
				_, err := m.ReadFile(t.Context(), "main", "b", 10)
				return err
			})
			commitFiles(t, work, "third", map[string]string{"c": "3\n"})
			git(t, work, "push", "-q", "origin", "main")
			once("POST /one.git/git-upload-pack", func() error { return m.Fetch(t.Context(), "main") })
		})
	}
}

// TestBadAnswersOfARemote: in whatever way an answer is broken, it is an outage, nothing of
// it is believed, and the same call succeeds when the remote answers again.
func TestBadAnswersOfARemote(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const (
		list    = "GET /one.git/info/refs?service=git-upload-pack"
		pack    = "POST /one.git/git-upload-pack"
		mayPush = "GET /one.git/info/refs?service=git-receive-pack"
		push    = "POST /one.git/git-receive-pack"
	)
	for name, how := range badWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
			line := &badLine{how: how}
			store := newStore(t, func(c *Config) { c.HTTP = line })
			m := must(store.Mirror(t.Context(), url))(t)
			ref := SessionRefs + "s1"
			calls := 0
			again := func(on string, call func() error) {
				t.Helper()
				calls++
				line.on, line.met = on, 0
				err := call()
				line.on = ""
				if line.met == 0 || !errors.Is(err, ErrUnavailable) {
					t.Errorf("call %d, %s: %v after %d broken answers, want an outage", calls, on, err, line.met)
				}
				if err := call(); err != nil {
					t.Errorf("call %d, %s, when it answers: %v", calls, on, err)
				}
			}
			fetch := func() error { return m.Fetch(t.Context(), "main") }
			again(list, fetch)
			commitFiles(t, work, "second", map[string]string{"b": "2\n"})
			git(t, work, "push", "-q", "origin", "main")
			again(pack, fetch)
			head := must(m.Resolve(t.Context(), "main"))(t)
			if want := git(t, bare, "rev-parse", "main"); head != want {
				t.Errorf("main is at %s, not at %s", head, want)
			}
			for _, on := range []string{mayPush, push} {
				to := "refs/heads/on-" + strings.ToLower(on[:3])
				if on == mayPush && name == "no refs" || on == push && name == "no end" {
					continue // of an empty repository this list is whole, and so is a report without what follows it
				}
				again(on, func() error { return m.Push(t.Context(), Push{Commit: head, Ref: to, Create: true}) })
				if got := git(t, bare, "rev-parse", to); got != head {
					t.Errorf("%s is at %s, not at %s", to, got, head)
				}
			}
			files := map[string][]byte{"x": []byte("y")}
			must(m.WriteRef(t.Context(), ref, files, ""))(t)
			other := must(newStore(t, func(c *Config) { c.HTTP = line }).Mirror(t.Context(), url))(t)
			if name != "no refs" { // a repository that lists other refs is not asked for
				again(list, func() error {
					got, _, err := other.ReadRef(t.Context(), ref)
					if diff := cmp.Diff(files, got); err == nil && diff != "" {
						t.Errorf("the files of the ref (-want +got):\n%s", diff)
					}
					return err
				})
			}
		})
	}
}
