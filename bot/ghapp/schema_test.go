package ghapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// asked is a query, with what the fake answered.
type asked struct {
	Query     string          `json:"query"`
	Variables json.RawMessage `json:"variables,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// graphWatch keeps what is said by GraphQL.
type graphWatch struct {
	next http.RoundTripper

	mu    sync.Mutex
	asked []asked
}

func (w *graphWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/graphql") {
		return w.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	var one asked
	if err := json.Unmarshal(body, &one); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer, &one); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, one)
	return resp, nil
}

// graphQLPackages are GitHub's schema and GraphQL's reference implementation.
var graphQLPackages = []string{"@octokit/graphql-schema@15.26.1", "graphql@16.15.0"}

// graphQLSchema returns a directory with both packages in it. They are fetched
// once, where the test is required, and kept beside Go's build cache.
func graphQLSchema(t *testing.T) string {
	t.Helper()
	required := strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "graphql")
	missing := t.Skipf
	if required {
		missing = t.Fatalf
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	must(t, err)
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(cache))), "handrail", "graphql-15.26.1-16.15.0")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "graphql", "package.json")); err == nil {
		return dir
	}
	if !required {
		missing("GitHub's GraphQL schema is not here, so nothing checks the queries; HANDRAIL_REQUIRE_ENGINES=graphql fetches it with npm")
	}
	must(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	made, err := os.MkdirTemp(filepath.Dir(dir), "graphql-") //nolint:usetesting // it is renamed to its place, on the same disk
	must(t, err)
	defer func() { must(t, os.RemoveAll(made)) }()
	must(t, os.Chmod(made, 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", made, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"}, graphQLPackages...)...)
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		missing("install GitHub's GraphQL schema: %v\n%s", err, out)
	}
	if err := os.Rename(made, dir); err != nil && !os.IsExist(err) {
		if _, gone := os.Stat(dir); gone != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestQueriesFitTheSchema asks GitHub's own schema about every query that is sent,
// and about what the fake answers.
func TestQueriesFitTheSchema(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	dir := graphQLSchema(t)
	watch := &graphWatch{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) { watch.next, ac.Transport = ac.Transport, watch })
	reviewed(t, w)
	_, err := reads.ReviewThreads(t.Context(), w.client, w.pull, 10)
	must(t, err)
	pull, err := w.client.Issue(t.Context(), w.pull)
	must(t, err)
	_, _, err = reads.Linked(t.Context(), w.client, pull, 10)
	must(t, err)
	if len(watch.asked) != 2 {
		t.Fatalf("%d queries were sent, want 2", len(watch.asked))
	}
	good := len(watch.asked)
	// What is wrong, the judge notices.
	threads := watch.asked[0]
	bad := []asked{
		{Query: strings.Replace(threads.Query, "isResolved", "isSolved", 1)},
		{Query: strings.Replace(threads.Query, "$number: Int!", "$number: String!", 1)},
		{Query: threads.Query, Variables: threads.Variables, Data: bytes.Replace(threads.Data, []byte(`"isResolved":false`), []byte(`"isResolved":null`), 1)},
		{Query: threads.Query, Variables: threads.Variables, Data: bytes.Replace(threads.Data, []byte(`"RIGHT"`), []byte(`"MIDDLE"`), 1)},
		{Query: threads.Query, Variables: threads.Variables, Data: bytes.Replace(threads.Data, []byte(`"isResolved"`), []byte(`"more":1,"isResolved"`), 1)},
	}
	in, err := json.Marshal(append(watch.asked, bad...))
	must(t, err)
	script, err := filepath.Abs("testdata/schema.js")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	var wrong [][]string
	must(t, json.Unmarshal(out, &wrong))
	for i, list := range wrong {
		if i < good && len(list) > 0 {
			t.Errorf("%s\nanswered with %s: %s", watch.asked[i].Query, watch.asked[i].Data, strings.Join(list, "; "))
		}
		if i >= good && len(list) == 0 {
			t.Errorf("wrong query or answer %d passed", i-good)
		}
	}
	if len(wrong) != good+len(bad) {
		t.Errorf("%d were checked, want %d", len(wrong), good+len(bad))
	}
}
