package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// world is a small store of sessions, and the rights of accounts.
type world struct {
	mu       sync.Mutex
	rows     []*store.Session // newest first
	logs     map[string]*session.Memory
	rights   map[int64]map[string]string // account, repository, permission
	asked    int                         // lookups of rights
	orders   []Order
	pageSize int // largest page that was read
	now      time.Time
}

func newWorld() *world {
	return &world{logs: map[string]*session.Memory{}, rights: map[int64]map[string]string{}, now: time.Date(2026, 11, 28, 14, 5, 0, 0, time.UTC)}
}

func (w *world) Session(_ context.Context, id string) (*store.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rows {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, store.ErrNotFound
}

func (w *world) List(_ context.Context, q store.Query) (out []*store.Session, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rows {
		if (q.Repo == "" || q.Repo == r.Repo) && (q.Requester == "" || q.Requester == r.Requester) &&
			(len(q.States) == 0 || slices.Contains(q.States, r.State)) && (q.Before.IsZero() || r.Created.Before(q.Before)) && len(out) < q.Limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (w *world) page(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
	w.mu.Lock()
	log := w.logs[id]
	w.pageSize = max(w.pageSize, limit)
	w.mu.Unlock()
	if log == nil {
		return nil, nil
	}
	events, err := log.Events(ctx, after)
	n, size := 0, 0
	for n < min(len(events), limit) && (n == 0 || size+len(events[n].Data) <= store.PageBytes) {
		size += len(events[n].Data)
		n++
	}
	return events[:n], err
}

func (w *world) right(_ context.Context, account int64, repository string) (policy.Actor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if account == 99 {
		return policy.Actor{}, fmt.Errorf("GitHub does not answer")
	}
	p := w.rights[account][repository]
	if p == "" {
		return policy.Actor{Lookup: policy.NotFound}, nil
	}
	return policy.Actor{Login: fmt.Sprint("user", account), ID: account, Permission: p, Lookup: policy.Found}, nil
}

func (w *world) order(_ context.Context, o Order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = append(w.orders, o)
	return nil
}

// add stores a session with a log.
func (w *world) add(r store.Session, events ...*session.Event) {
	log := &session.Memory{}
	if err := log.Append(context.Background(), events...); err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = append(w.rows, &r)
	w.logs[r.ID] = log
}

func (w *world) config() Config {
	return Config{
		Sessions: w,
		Pages:    w.page,
		Web:      "https://github.com",
		Lease:    15 * time.Second,
		Now:      func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Poll:     20 * time.Millisecond,
	}
}

// start serves a dashboard on loopback.
func start(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() { s.Close(); web.Close() })
	return s, web
}

// row returns a session's row, age before the world's now.
func (w *world) row(id, thread string, state session.Phase, age time.Duration) store.Session {
	repo, _, _ := strings.Cut(thread, "#")
	data, err := json.Marshal(map[string]any{"used": policy.Usage{Total: policy.Limits{Tokens: 48_210, Time: policy.Duration(12 * time.Minute)}}})
	if err != nil {
		panic(err)
	}
	return store.Session{
		ID: id, Thread: thread, Repo: repo, Requester: "kim", Mode: "code", Model: "qwen3-coder:30b", Branch: "agent/12-add",
		State: state, Created: w.now.Add(-age - time.Hour), Updated: w.now.Add(-age), Data: data,
	}
}

// sample is a session as it looks in the middle of its work: it asks for an approval.
func (w *world) sample() {
	args := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return data
	}
	at := w.now.Add(-40 * time.Minute)
	ev := func(typ session.Type, turn int, payload any) *session.Event {
		e := session.NewEvent(typ, turn, payload)
		at = at.Add(23 * time.Second)
		e.Time = at
		return e
	}
	commit := func(c string) string {
		sum := sha256.Sum256([]byte(c))
		return fmt.Sprintf("%x", sum[:20])
	}
	add := []session.FileChange{{Path: "calc/add.go", Kind: session.ChangeModify, Added: 4, Removed: 1, Blob: "100644 b1", Was: "100644 a1"}}
	test := []session.FileChange{{Path: "calc/add_test.go", Kind: session.ChangeCreate, Added: 18, Blob: "100644 b2"}}
	r := w.row("sample", "team/app#12", session.PhaseAwaitingApproval, 3*time.Hour)
	w.add(r,
		ev(session.TypeOpened, 0, session.Opened{Task: session.Task{
			Session: "sample", Thread: "team/app#12", Mode: "code", Model: "qwen3-coder:30b", Requester: "kim", Branch: "agent/12-add", Base: commit("0"),
			Text: "Add overflows for large numbers. Make it return an error, and add a test.",
		}}),
		ev(session.TypeAnswer, 1, session.Answer{
			PromptTokens: 11_900, AnswerTokens: 152,
			Thinking: "The function adds two int32 values. I should look at it first.", ThinkingMillis: 2400,
			Content: "I look at the function and its callers first.",
			Calls:   []session.Call{{ID: "c1", Name: "read_file", Arguments: args(map[string]any{"path": "calc/add.go"})}},
		}),
		ev(session.TypeStarted, 1, session.Started{Call: "c1", Title: "Reading calc/add.go"}),
		ev(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Title: "Read calc/add.go", Content: "package calc\n\nfunc Add(a, b int32) int32 {\n\treturn a + b\n}\n", Millis: 12}),
		ev(session.TypeState, 1, session.Update{Todo: []session.Todo{{Text: "Return an error from Add", Status: session.TodoDone}, {Text: "Test the limits", Status: session.TodoDoing}, {Text: "Run all tests", Status: session.TodoPending}}}),
		ev(session.TypeAnswer, 2, session.Answer{PromptTokens: 11_900, AnswerTokens: 152, Content: "Now the change itself.", Calls: []session.Call{{ID: "c2", Name: "apply_diff", Arguments: args(map[string]any{
			"path": "calc/add.go",
			"diff": "@@ -3,3 +3,6 @@\n-func Add(a, b int32) int32 {\n-\treturn a + b\n+func Add(a, b int32) (int32, error) {\n+\tsum := int64(a) + int64(b)\n+\tif sum != int64(int32(sum)) {\n+\t\treturn 0, ErrOverflow\n+\t}\n+\treturn int32(sum), nil\n }\n",
		})}}}),
		ev(session.TypeStarted, 2, session.Started{Call: "c2", Title: "Editing calc/add.go"}),
		ev(session.TypeResult, 2, session.Result{Call: "c2", OK: true, Title: "Edited calc/add.go", Content: "Applied.", Millis: 31, Changes: add}),
		ev(session.TypeCheckpoint, 2, session.Checkpoint{Commit: commit("a"), Parent: commit("0"), Files: add}),
		ev(session.TypeAnswer, 3, session.Answer{PromptTokens: 11_900, AnswerTokens: 152, Content: "The tests next.", Calls: []session.Call{{ID: "c3", Name: "run_terminal_command", Arguments: args(map[string]any{"command": "go test ./..."})}}}),
		ev(session.TypeStarted, 3, session.Started{Call: "c3", Title: "Running go test ./..."}),
		ev(session.TypeResult, 3, session.Result{Call: "c3", OK: false, Title: "go test ./... failed with exit code 1", Content: "--- FAIL: TestAdd (0.00s)\n    add_test.go:11: Add(2147483647, 1) = 0, want an error\nFAIL\n", Millis: 4210}),
		ev(session.TypeAnswer, 4, session.Answer{PromptTokens: 11_900, AnswerTokens: 152, Content: "The test wants the sentinel. I correct it, and remove the stale build directory.", Calls: []session.Call{
			{ID: "c4", Name: "write_file", Arguments: args(map[string]any{"path": "calc/add_test.go", "content": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif _, err := Add(1<<31-1, 1); err == nil {\n\t\tt.Error(\"no error\")\n\t}\n}\n"})},
			{ID: "c5", Name: "run_terminal_command", Arguments: args(map[string]any{"command": "rm -rf build && go test ./..."})},
		}}),
		ev(session.TypeStarted, 4, session.Started{Call: "c4", Title: "Writing calc/add_test.go"}),
		ev(session.TypeResult, 4, session.Result{Call: "c4", OK: true, Title: "Wrote calc/add_test.go", Content: "Written.", Millis: 9, Changes: test}),
		ev(session.TypeCheckpoint, 4, session.Checkpoint{Commit: commit("b"), Parent: commit("a"), Files: test}),
		ev(session.TypeDecision, 4, session.Decision{Call: "c5", Verdict: policy.Ask}),
		ev(session.TypeAsked, 4, session.Asked{
			ID: "k7m2p4xa", Kind: session.AskApproval, Call: "c5", Tool: "run_terminal_command", Severity: "high",
			Display: "rm -rf build && go test ./...", Digest: "3b9f60c2d41e7a58806b1fe29c357d04ab62e8f0914dc7735e208bf6a19c4d7e", Reasons: []string{"rm removes a directory that is not in the repository"},
		}),
		ev(session.TypeEnded, 4, session.Ended{Outcome: session.Outcome{Status: session.StatusAwaitingApproval, Turns: 4}}),
	)
}

// others are sessions in further states.
func (w *world) others() {
	running := w.row("running", "team/app#15", session.PhaseRunning, 4*time.Second)
	running.Owner, running.Until = "server-b", w.now.Add(12*time.Second)
	dead := w.row("dead", "team/site#3", session.PhaseRunning, 2*time.Minute)
	dead.Owner, dead.Until = "server-a", w.now.Add(-40*time.Second)
	away := w.row("away", "team/app#9", session.PhaseWaitingModel, 20*time.Second)
	away.Stall = store.Stall{Since: w.now.Add(-9 * time.Minute), Why: "the model is still being loaded"}
	limited := w.row("limited", "team/site#6", session.PhaseWaitingGitHub, 50*time.Second)
	limited.Stall = store.Stall{Since: w.now.Add(-3 * time.Minute), Until: w.now.Add(42 * time.Minute)}
	for _, r := range []store.Session{
		running, dead, away, limited, w.row("queued", "team/app#16", session.PhaseQueued, 30*time.Second),
		w.row("question", "team/site#8", session.PhaseAwaitingAnswer, 26*time.Hour), w.row("done", "team/app#7", session.PhaseDone, 5*time.Hour),
		w.row("failed", "team/app#5", session.PhaseFailed, 30*time.Hour), w.row("stopped", "team/site#2", session.PhaseStopped, 80*time.Hour), w.row("private", "secret/vault#1", session.PhaseDone, 6*time.Hour),
	} {
		w.add(r, session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: r.ID, Thread: r.Thread, Text: "Fix " + r.Thread, Requester: "kim", Mode: "code"}}))
	}
}
