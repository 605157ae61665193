package granted_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
)

// key is an App's: making one takes a while.
var key = sync.OnceValues(func() ([]byte, error) {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}), nil
})

type object = map[string]any

// github answers for installations of an App: each is an account with how many repositories
// it has.
type github struct {
	installations []object
	repositories  map[string]int              // by the id of the installation
	answer        map[string]http.HandlerFunc // in place of what is usual, by path
}

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := g.answer[r.URL.Path]; f != nil {
		f(w, r)
		return
	}
	page := 1
	_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
	var out any
	switch id, isToken := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v3/app/installations/"), "/access_tokens"); {
	case r.URL.Path == "/api/v3/app/installations":
		out = g.installations[min(len(g.installations), page*100-100):min(len(g.installations), page*100)]
	case isToken:
		w.WriteHeader(http.StatusCreated)
		out = object{"token": "for-" + id, "expires_at": "2099-01-01T00:00:00Z"}
	case r.URL.Path == "/api/v3/installation/repositories":
		_, id, ok := strings.Cut(r.Header.Get("Authorization"), "for-")
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		list := []object{}
		for n := page*100 - 100; n < min(page*100, g.repositories[id]); n++ {
			list = append(list, object{"full_name": fmt.Sprintf("Owner%s/r%d", id, n), "has_issues": n > 0})
		}
		out = object{"total_count": g.repositories[id], "repositories": list}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

func installation(id int, suspended any) object {
	return object{"id": id, "account": object{"login": fmt.Sprintf("Owner%d", id)}, "suspended_at": suspended, "permissions": object{}}
}

func open(t *testing.T) (*github, granted.Config) {
	t.Helper()
	g := &github{installations: []object{installation(1, nil), installation(2, nil)}, repositories: map[string]int{"1": 2, "2": 250}, answer: map[string]http.HandlerFunc{}}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	pem, err := key()
	if err != nil {
		t.Fatal(err)
	}
	return g, granted.Config{API: srv.URL + "/api/v3/", AppID: 7, Key: pem, Transport: http.DefaultTransport}
}

// TestRepositories: those of all accounts that did not suspend the App, up to 300 of each.
func TestRepositories(t *testing.T) {
	t.Parallel()
	g, cfg := open(t)
	g.installations = append(g.installations, installation(3, "2026-01-01T00:00:00Z"), installation(4, nil))
	g.repositories["3"], g.repositories["4"] = 1, 450
	list, err := granted.Repositories(t.Context(), cfg)
	if err != nil || len(list) != 2+250+300 {
		t.Fatalf("%d repositories, %v", len(list), err)
	}
	if diff := cmp.Diff([]granted.Repository{{Name: "Owner1/r0"}, {Name: "Owner1/r1", Issues: true}}, list[:2]); diff != "" {
		t.Errorf("the first two (-want +got):\n%s", diff)
	}
	g.answer["/api/v3/app/installations/2/access_tokens"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	if list, err := granted.Repositories(t.Context(), cfg); err == nil {
		t.Errorf("without a token for an installation there are %d", len(list))
	}
	cfg.Key = []byte("no key")
	if _, err := granted.Repositories(t.Context(), cfg); !errors.Is(err, granted.ErrKey) {
		t.Errorf("without a key: %v", err)
	}
}

// TestKeyGoesNowhere: an answer that leads elsewhere is refused, and not followed.
func TestKeyGoesNowhere(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked elsewhere: %s", r.URL) }))
	defer other.Close()
	for _, path := range []string{"/api/v3/app/installations", "/api/v3/installation/repositories"} {
		g, cfg := open(t)
		g.answer[path] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+path, http.StatusFound) }
		if list, err := granted.Repositories(t.Context(), cfg); err == nil {
			t.Errorf("%s: %v", path, list)
		}
	}
}

// TestAll: the answer is whole, or says of whom nothing is known.
func TestAll(t *testing.T) {
	t.Parallel()
	g, cfg := open(t)
	for id := 3; id <= 130; id++ {
		g.installations = append(g.installations, installation(id, nil))
	}
	g.installations[2]["suspended_at"] = "2026-01-01T00:00:00Z"
	g.repositories["130"] = 1
	all, err := granted.All(t.Context(), cfg)
	if err != nil || len(all.Repositories) != 253 || !all.Repositories["owner2/r249"] || !all.Repositories["owner130/r0"] {
		t.Fatalf("%d repositories, %v", len(all.Repositories), err)
	}
	if diff := cmp.Diff(map[string]bool{"owner3": true}, all.Unknown); diff != "" {
		t.Errorf("owners of whom nothing is known (-want +got):\n%s", diff)
	}
}

// TestInDoubt: what is not sure is no answer, or its owner is unknown.
func TestInDoubt(t *testing.T) {
	t.Parallel()
	say := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, text)
		}
	}
	for _, path := range []string{"/api/v3/app/installations", "/api/v3/installation/repositories", "/api/v3/app/installations/2/access_tokens"} {
		for n, answer := range []http.HandlerFunc{
			say(401, `{"message": "Bad credentials"}`), say(403, "{}"), say(404, `{"message": "Not Found"}`), say(500, ""), say(302, ""),
			say(200, "<html>sign in</html>"), say(200, ""), say(200, "null"), say(200, `{"repositories": []}`), say(200, `{"total_count": 2, "repositories": []}`),
		} {
			g, cfg := open(t)
			g.answer[path] = answer
			if strings.HasSuffix(path, "access_tokens") && n == 7 { // ghinstallation would panic; who asks is guarded
				continue
			}
			all, err := granted.All(t.Context(), cfg)
			if err == nil && (!all.Unknown["owner2"] || path == "/api/v3/app/installations") {
				t.Errorf("%s: %v", path, all)
			}
		}
	}
	g, cfg := open(t)
	g.installations[0] = object{"id": 1, "permissions": object{}, "suspended_at": "2026-01-01T00:00:00Z", "account": object{"slug": "an-enterprise"}}
	if all, err := granted.All(t.Context(), cfg); err == nil {
		t.Errorf("of an account without a name nobody can tell what is its: %v", all)
	}
}

// TestNoAnswerIsAskedAgain: one answer that is none, or breaks off, is no verdict about the App.
func TestNoAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/api/v3/app/installations", "/api/v3/installation/repositories"} {
		for size, body := range map[string]string{"0": "", "4": "null", "100": "null"} { // the last breaks off
			g, cfg := open(t)
			var asked atomic.Bool
			later := &github{installations: g.installations, repositories: g.repositories}
			g.answer[path] = func(w http.ResponseWriter, r *http.Request) {
				if asked.Swap(true) {
					later.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Length", size)
				_, _ = fmt.Fprint(w, body)
			}
			if list, err := granted.Repositories(t.Context(), cfg); err != nil || len(list) != 252 {
				t.Errorf("%s, %s bytes: %d repositories, %v", path, size, len(list), err)
			}
		}
	}
}
