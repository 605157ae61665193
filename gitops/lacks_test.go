package gitops

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// answers is a network that gives a pack of its own in place of the contents that are
// asked for.
type answers struct {
	pack  []byte
	posts atomic.Int64
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || a.pack == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	a.posts.Add(1)
	body := "000dpackfile\n" + fmt.Sprintf("%04x\x01%s", len(a.pack)+5, a.pack) + "0000"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// An answer that lacks what was asked for is an error, and the remote is not asked for it
// without end.
func TestAnswerLacksWhatWasAsked(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, _ := r.repo("one", many(20))
	git(t, bare, "config", "uploadpack.allowFilter", "true")
	net := &answers{}
	m := must(newStore(t, func(c *Config) { c.Partial, c.HTTP = true, net }).Mirror(t.Context(), url))(t)
	store := must(OpenBases(BasesConfig{Dir: t.TempDir()}))(t)
	for name, objects := range map[string]string{
		"nothing": "", "another content": gitIn(t, bare, "another\n", "hash-object", "-w", "--stdin") + "\n",
		"fewer": git(t, bare, "rev-parse", "main:"+firstOf(t, bare)) + "\n",
	} {
		cmd := exec.CommandContext(t.Context(), "git", "pack-objects", "--stdout", "-q")
		cmd.Dir, cmd.Stdin, cmd.Env = bare, strings.NewReader(objects), gitEnv()
		net.pack = must(cmd.Output())(t)
		before := net.posts.Load()
		if b, err := store.Take(t.Context(), m, BaseWant{Commit: "main"}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "lacks") {
			t.Errorf("%s: %v %v", name, b, err)
		}
		if n := net.posts.Load() - before; n != 3 {
			t.Errorf("%s: the remote was asked %d times", name, n)
		}
		whole(t, m)
	}
	net.pack = nil
	b := must(store.Take(t.Context(), m, BaseWant{Commit: "main"}))(t)
	defer b.Drop()
	if got := tree(t, b.Source); len(got) != 20 {
		t.Errorf("%d files", len(got))
	}
}

func firstOf(t *testing.T, bare string) string {
	t.Helper()
	name, _, _ := strings.Cut(git(t, bare, "ls-tree", "-r", "--name-only", "main"), "\n")
	return name
}

// TestFetchLacksWhatWasAsked: a whole pack without the commit of a ref is an outage, and the
// ref does not move to it.
func TestFetchLacksWhatWasAsked(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
	net := &fetched{}
	m := must(newStore(t, func(c *Config) { c.HTTP = net }).Mirror(t.Context(), url))(t)
	before := must(m.Resolve(t.Context(), "main"))(t)
	commitFiles(t, work, "second", map[string]string{"b": "2\n"})
	git(t, work, "push", "-q", "origin", "main")
	cmd := exec.CommandContext(t.Context(), "git", "pack-objects", "--stdout", "-q")
	cmd.Dir, cmd.Stdin, cmd.Env = bare, strings.NewReader(before+"\n"), gitEnv()
	net.pack = must(cmd.Output())(t)
	if err := m.Fetch(t.Context(), "main"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("a pack without the commit: %v", err)
	}
	if now := must(m.Resolve(t.Context(), "main"))(t); now != before {
		t.Errorf("main moved to %s", now)
	}
	net.pack = nil
	if err := m.Fetch(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	whole(t, m)
}

// fetched is a network that gives a pack of its own in place of the one that is fetched.
type fetched struct{ pack []byte }

func (f *fetched) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || f.pack == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	body := "0008NAK\n" + fmt.Sprintf("%04x\x01%s", len(f.pack)+5, f.pack) + "0000"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestLagging: only the denial of what was just listed is worth another attempt.
func TestLagging(t *testing.T) {
	denied := &pktline.ErrorLine{Text: "upload-pack: not our ref 0123456789012345678901234567890123456789"}
	if err := lagging(fmt.Errorf("download: %w", denied)); !errors.Is(err, ErrUnavailable) || !errors.As(err, &denied) {
		t.Errorf("denied: %v", err)
	}
	for _, err := range []error{nil, io.ErrUnexpectedEOF, &pktline.ErrorLine{Text: "access denied"}} {
		if got := lagging(err); got != err { //nolint:errorlint // the same value is asked for
			t.Errorf("%v became %v", err, got)
		}
	}
}
