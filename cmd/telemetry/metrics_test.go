package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// rows are sessions in a store.
type rows struct {
	store.Sessions
	list []*store.Session
}

func (r rows) Tally(context.Context) (t store.Tally, err error) {
	for _, row := range r.list {
		t.Count(row)
	}
	return t, nil
}

type wakes struct{ store.Wakes }

func (wakes) Oldest(context.Context) (time.Time, error) { return noon.Add(-90 * time.Second), nil }

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func event(kind session.Type, payload any) *session.Event { return session.NewEvent(kind, 1, payload) }

// log numbers events and gives them a time.
func numbered(events ...*session.Event) []*session.Event {
	for i, e := range events {
		e.Seq, e.Time = int64(i+1), noon.Add(time.Duration(i-len(events))*time.Second)
	}
	return events
}

// work is the log of a session with names in it that must be in no label.
func work() []*session.Event {
	call := func(id, name string) session.Call {
		return session.Call{ID: id, Name: name, Arguments: json.RawMessage(`{"path":"secret-path"}`)}
	}
	mended := call("c1", "read_file")
	mended.Repaired, mended.Dialect = true, "native"
	return numbered(
		event(session.TypeOpened, session.Opened{Task: session.Task{Session: "s1", Thread: "owner/repo#1", Model: "m", Requester: "kim", Text: "words"}}),
		event(session.TypeAnswer, session.Answer{Calls: []session.Call{
			mended, call("c2", "rm-rf-made-up"), call("c3", "tickets__create_for_kim"), call("c4", "run_terminal_command"), call("c5", "wait_for_checks"),
		}}),
		event(session.TypeStarted, session.Started{Call: "c1"}),
		event(session.TypeResult, session.Result{Call: "c1", OK: true, Millis: 20}),
		event(session.TypeResult, session.Result{Call: "c2", Mistake: true}),
		event(session.TypeDecision, session.Decision{Call: "c3", Kind: policy.MCP, Verdict: policy.Ask}),
		event(session.TypeAsked, session.Asked{ID: "a1", Kind: session.AskApproval, Call: "c3", Display: "the words"}),
		event(session.TypeResolved, session.Resolved{ID: "a1", Verdict: policy.Approved, By: "kim"}),
		event(session.TypeStarted, session.Started{Call: "c3"}),
		event(session.TypeResult, session.Result{Call: "c3", OK: true, Millis: 1500}),
		event(session.TypeStarted, session.Started{Call: "c4"}),
		event(session.TypeResult, session.Result{Call: "c4", OK: true, Class: session.ClassCommand, Millis: 100}),
		event(session.TypeResult, session.Result{Call: "c5", Class: session.ClassPermission}),
		event(session.TypeEnded, session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingAnswer}}),
		event(session.TypeEnded, session.Ended{Outcome: session.Outcome{Status: session.StatusDone, Summary: "words"}}),
	)
}

// page scrapes the metrics.
func page(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func sources(t *testing.T) Sources {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	return Sources{
		Sessions: rows{list: []*store.Session{
			{ID: "s3", Seq: 3, Repo: "owner/repo", Requester: "kim", State: session.PhaseAwaitingApproval, Asked: 2, AskedAt: noon.Add(-4 * time.Second)},
			{ID: "s2", Seq: 2, State: session.PhaseDone},
			{ID: "s1", Seq: 1, State: session.PhaseRunning},
		}},
		Wakes:      wakes{},
		Deliveries: func() map[string]int { return map[string]int{"done": 3, "ignored": 1} },
		Writes:     func() int { return 2 },
		Workspaces: func() int { return 1 },
		Caches:     map[string]string{"bases": dir},
		Now:        func() time.Time { return noon },
		Log:        slog.New(slog.DiscardHandler),
	}
}

// full returns metrics with a value in each series.
func full(t *testing.T) *Metrics {
	t.Helper()
	m := NewMetrics("read_file", "run_terminal_command", "wait_for_checks")
	s := m.Store(store.Store{Logs: logs{}, Leases: leases{}})
	if err := s.Logs.Log(store.Fence{Key: "s1"}).Append(t.Context(), work()...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Leases.Heartbeat(t.Context(), store.Lease{}, 0); err == nil {
		t.Fatal("the lease is not lost")
	}
	m.Waited(3 * time.Second)
	if _, err := m.Transport(answering{}).RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/repos/owner/repo", nil)); err != nil {
		t.Fatal(err)
	}
	for range Model(spoken{}, m, nil, nil).Stream(t.Context(), llm.Request{Messages: []llm.Message{{Content: "words"}}}) {
		continue
	}
	measured, stop := context.WithCancel(t.Context())
	measure, ended := m.Read(sources(t)), make(chan struct{})
	go func() {
		defer close(ended)
		measure(measured)
	}()
	for !strings.Contains(page(t, m), "handrail_cache_bytes") {
		if t.Context().Err() != nil {
			t.Fatal("the caches are not measured")
		}
	}
	stop()
	<-ended
	return m
}

type logs struct{ store.Logs }

func (logs) Log(store.Fence) session.Log { return discarded{} }

type discarded struct{ session.Log }

func (discarded) Append(context.Context, ...*session.Event) error { return nil }

type leases struct{ store.Leases }

func (leases) Heartbeat(context.Context, store.Lease, time.Duration) (store.Lease, error) {
	return store.Lease{}, fmt.Errorf("extend: %w", session.ErrFenced)
}

// answering is a GitHub that counts down.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotModified, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{
		"X-Ratelimit-Remaining": {"4999"}, "X-Ratelimit-Reset": {fmt.Sprint(noon.Add(time.Hour).Unix())}, "X-Ratelimit-Resource": {"core"},
	}}, nil
}

// spoken is a model that says a word.
type spoken struct{ llm.Model }

func (spoken) Name() string { return "m" }

func (spoken) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		_ = yield(llm.Part{Content: "well"}, nil) &&
			yield(llm.Part{Done: true, PromptTokens: 7, AnswerTokens: 2, CachedTokens: 5}, nil)
	}
}

// TestCounts: the events of a session, and what else happens, are in the series.
func TestCounts(t *testing.T) {
	text := page(t, full(t))
	for _, line := range []string{
		`handrail_turns_total{model="m"} 1`,
		`handrail_tool_calls_total{outcome="ok",tool="read_file"} 1`,
		`handrail_tool_calls_total{outcome="mistake",tool="other"} 1`,
		`handrail_tool_calls_total{outcome="ok",tool="mcp"} 1`,
		`handrail_tool_calls_total{outcome="refused",tool="wait_for_checks"} 1`,
		`handrail_tool_call_duration_seconds_count{tool="mcp"} 1`,
		`handrail_tool_call_duration_seconds_sum{tool="read_file"} 0.02`,
		`handrail_errors_total{class="command_failed"} 1`,
		`handrail_errors_total{class="permission_denied"} 1`,
		`handrail_errors_total{class="other"} 1`,
		`handrail_errors_total{class="timeout"} 0`,
		`handrail_call_repairs_total{dialect="native"} 1`,
		`handrail_sessions_ended_total{status="done"} 1`,
		`handrail_sessions_ended_total{status="failed"} 0`,
		`handrail_tokens_total{kind="prompt",model="m"} 7`,
		`handrail_tokens_total{kind="answer",model="m"} 2`,
		`handrail_tokens_total{kind="cached",model="m"} 5`,
		`handrail_time_to_first_token_seconds_count{model="m"} 1`,
		`handrail_prompt_bytes_total{kind="new",model="m"} 5`,
		`handrail_github_requests_total{code="3xx",method="GET"} 1`,
		`handrail_github_rate_limit_remaining{resource="core"} 4999`,
		`handrail_github_writes_waiting 2`,
		`handrail_deliveries_total{outcome="done"} 3`,
		`handrail_queue_wait_seconds_sum 3`,
		`handrail_queue_oldest_wait_seconds 90`,
		`handrail_leases_lost_total 1`,
		`handrail_workspaces_open 1`,
		`handrail_cache_bytes{cache="bases"} 1000`,
		`handrail_sessions{state="running"} 1`,
		`handrail_sessions{state="awaiting approval"} 1`,
		`handrail_sessions{state="queued"} 0`,
		`handrail_approvals_open 2`,
		`handrail_approvals_oldest_age_seconds 4`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(text, `status="awaiting_answer"`) {
		t.Error("a parked session counts as ended")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestLabels: no name that others choose is in a series, and the tools of MCP servers and
// made-up ones share theirs.
func TestLabels(t *testing.T) {
	m := full(t)
	for i := range 2 * maxModels {
		m.answered(fmt.Sprintf("model-%d", i), llm.Part{}, 1)
	}
	text := page(t, m)
	for _, name := range []string{"owner", "repo", "kim", "s1", "s3", "words", "secret-path", "rm-rf", "tickets"} {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(text, "repository", ""), "report", ""), name) {
			t.Errorf("the page has %q", name)
		}
	}
	if n := strings.Count(text, "handrail_time_to_first_token_seconds_count{"); n != maxModels+1 {
		t.Errorf("%d models have series, want %d", n, maxModels+1)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestLint: the names and help texts follow the conventions of Prometheus.
func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(full(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestResumedCalls: the call of an earlier run is known after its log was read.
func TestResumedCalls(t *testing.T) {
	all := work()
	m := NewMetrics("read_file")
	s := m.Store(store.Store{Logs: filled{events: all[:3]}})
	log := s.Logs.Log(store.Fence{Key: "s1"})
	if err := log.Append(t.Context(), event(session.TypeResult, session.Result{Call: "c1", OK: true})); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Events(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), all[3]); err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]float64{other: 1, "read_file": 1} {
		if got := testutil.ToFloat64(m.toolCalls.WithLabelValues(tool, "ok")); got != want {
			t.Errorf("%s: %v calls, want %v", tool, got, want)
		}
	}
}

type filled struct {
	store.Logs
	events []*session.Event
}

func (f filled) Log(store.Fence) session.Log { return filledLog{discarded{}, f.events} }

type filledLog struct {
	discarded
	events []*session.Event
}

func (f filledLog) Events(_ context.Context, after int64) (out []session.Event, err error) {
	for _, e := range f.events[min(int(after), len(f.events)):] {
		out = append(out, *e)
	}
	return out, nil
}

// TestRateLimits: the lowest rest of all installations counts, until its window is over.
func TestRateLimits(t *testing.T) {
	var l rateLimits
	take := func(rest int, until time.Duration) {
		l.take(http.Header{"X-Ratelimit-Remaining": {fmt.Sprint(rest)}, "X-Ratelimit-Reset": {fmt.Sprint(noon.Add(until).Unix())}})
	}
	take(12, time.Minute)
	take(10, time.Minute)
	take(11, time.Minute) // came late
	take(4000, time.Hour)
	l.take(http.Header{"X-Ratelimit-Remaining": {"many"}})
	if d := cmp.Diff(map[string]int{"core": 10}, l.lowest(noon)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"core": 4000}, l.lowest(noon.Add(10*time.Minute))); d != "" {
		t.Error(d)
	}
}

// TestCommonBeginning: what a request shares with the one before it is its reused part.
func TestCommonBeginning(t *testing.T) {
	said := func(texts ...string) (req llm.Request) {
		req.Tools = []llm.ToolSpec{{Name: "tool"}}
		for _, text := range texts {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Content: text})
		}
		return req
	}
	for _, tt := range []struct {
		name        string
		before, now llm.Request
		all, same   int
	}{
		{"the first", llm.Request{}, said("one"), 7, 0},
		{"it grew", said("one"), said("one", "two"), 10, 7},
		{"the last changed", said("one", "two"), said("one", "tx"), 9, 8},
		{"one in the middle changed", said("a", "b", "c"), said("a", "x", "c"), 7, 5},
		{"other tools", func() llm.Request { r := said("one"); r.Tools[0].Name = "t001"; return r }(), said("one"), 7, 0},
	} {
		if all, same := common(tt.before, tt.now); all != tt.all || same != tt.same {
			t.Errorf("%s: %d of %d, want %d of %d", tt.name, same, all, tt.same, tt.all)
		}
	}
}

// TestOffMeasuresNothing: without metrics and traces the parts are those given.
func TestOffMeasuresNothing(t *testing.T) {
	var m *Metrics
	var tr *Traces
	m.Waited(time.Second)
	if s := m.Store(store.Store{Logs: logs{}}); s.Logs != (logs{}) {
		t.Error("the store is another one")
	}
	if next := (answering{}); m.Transport(next) != next {
		t.Error("the transport is another one")
	}
	if Model(spoken{}, m, tr, nil) != (spoken{}) {
		t.Error("the model is another one")
	}
	if _, log, end := tr.Run(t.Context(), session.Task{}, discarded{}); log != (discarded{}) {
		t.Error("the log is another one")
	} else {
		end(session.Outcome{}, nil)
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
