package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/telemetry/telemetrytest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// kept is a log in memory.
type kept struct{ events []session.Event }

func (k *kept) Append(_ context.Context, events ...*session.Event) error {
	for _, e := range events {
		e.Seq, e.Time = int64(len(k.events)+1), noon.Add(time.Duration(len(k.events))*time.Second)
		k.events = append(k.events, *e)
	}
	return nil
}

func (k *kept) Events(_ context.Context, after int64) ([]session.Event, error) {
	return append([]session.Event(nil), k.events[after:]...), nil
}

func tracesTo(t *testing.T, at string, change func(*TracesConfig)) (*Traces, *lines) {
	t.Helper()
	log := &lines{}
	cfg := TracesConfig{
		Endpoint: at,
		Version:  "1.2",
		Provider: "ollama",
		Log:      slog.New(slog.NewTextHandler(log, nil)),
		Transport: &http.Transport{
			DisableKeepAlives: true,
		},
		slower: 200,
	}
	if change != nil {
		change(&cfg)
	}
	tr, err := NewTraces(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr, log
}

// runs plays a session of two runs with an approval between them.
func runs(t *testing.T, tr *Traces) *kept {
	t.Helper()
	k, all := &kept{}, work()
	task := session.Task{Session: "s1", Model: "m"}
	play := func(out session.Outcome, fail error, events ...*session.Event) {
		ctx, log, end := tr.Run(t.Context(), task, k)
		ask := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "the question with token-x"}}, MaxTokens: 100}
		for range Model(spoken{}, nil, tr, nil).Stream(ctx, ask) {
			continue
		}
		for _, e := range events {
			if err := log.Append(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		end(out, fail)
	}
	play(session.Outcome{Status: session.StatusAwaitingApproval}, nil, slices.Concat(all[:7], []*session.Event{event(session.TypeEnded, session.Ended{})})...)
	if err := k.Append(t.Context(), all[7]); err != nil { // by the bot
		t.Fatal(err)
	}
	saved := event(session.TypeCheckpoint, session.Checkpoint{Commit: "c", Files: []session.FileChange{{Path: "secret-path", Added: 2, Removed: 1}}})
	play(session.Outcome{Status: session.StatusDone}, nil, append([]*session.Event{saved}, all[8:]...)...)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

// slowKept counts the events that are read of a log.
type slowKept struct {
	kept
	reads int
}

func (k *slowKept) Events(ctx context.Context, after int64) ([]session.Event, error) {
	events, err := k.kept.Events(ctx, after)
	k.reads += len(events)
	return events, err
}

// TestTracesReadOnce: a run with a trace reads its log once, and has the events that came
// meanwhile. A second reading is complete, too.
func TestTracesReadOnce(t *testing.T) {
	tr, _ := tracesTo(t, telemetrytest.New(t).URL, nil)
	k := &slowKept{}
	if err := k.Append(t.Context(), work()...); err != nil {
		t.Fatal(err)
	}
	n := len(k.events)
	ctx, log, end := tr.Run(t.Context(), session.Task{Session: "s1", Model: "m"}, k)
	if err := k.Append(ctx, event(session.TypeMessage, session.Message{Text: "meanwhile"})); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{n + 1, 2*n + 2} {
		events, err := log.Events(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(k.events, events); d != "" {
			t.Errorf("reading %d: %s", i+1, d)
		}
		if k.reads != want {
			t.Errorf("reading %d: %d events were read, want %d", i+1, k.reads, want)
		}
	}
	end(session.Outcome{}, nil)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// named returns the spans with a name.
func named(spans []*trace.Span, name string) (out []*trace.Span) {
	for _, s := range spans {
		if s.GetName() == name {
			out = append(out, s)
		}
	}
	return out
}

// TestTraces: each run is a trace, linked to the one before it, with spans for answers,
// tool calls, checkpoints and the wait for an approval, and without any content.
func TestTraces(t *testing.T) {
	c := telemetrytest.New(t)
	tr, _ := tracesTo(t, c.URL, nil)
	k := runs(t, tr)
	spans := c.Spans()
	roots := named(spans, "invoke_agent handrail")
	if len(roots) != 2 {
		t.Fatalf("%d traces, want 2: %v", len(roots), spans)
	}
	first, second := roots[0], roots[1]
	if string(first.GetTraceId()) == string(second.GetTraceId()) || len(first.GetLinks()) != 0 {
		t.Errorf("the runs share a trace, or the first has a link: %v", first)
	}
	if l := second.GetLinks(); len(l) != 1 || string(l[0].GetTraceId()) != string(first.GetTraceId()) || string(l[0].GetSpanId()) != string(first.GetSpanId()) {
		t.Errorf("the second run links to %v", second.GetLinks())
	}
	var told []string
	for _, root := range roots {
		told = append(told, fmt.Sprintf("%x", root.GetTraceId()))
	}
	if got := TraceIDs("s1", k.events[:len(k.events)-1]); fmt.Sprint(got) != fmt.Sprint(told) {
		t.Errorf("the log tells the traces %v, the collector has %v", got, told)
	}
	for _, want := range []struct {
		name string
		n    int
		in   *trace.Span
		attr string
	}{
		{"chat m", 2, nil, "gen_ai.operation.name=chat gen_ai.provider.name=ollama gen_ai.request.model=m gen_ai.conversation.id=s1 gen_ai.request.max_tokens=100 gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=2 gen_ai.usage.cache_read.input_tokens=5"},
		{"execute_tool read_file", 1, first, "gen_ai.operation.name=execute_tool gen_ai.tool.name=read_file gen_ai.tool.type=function gen_ai.tool.call.id=c1 gen_ai.conversation.id=s1"},
		{"execute_tool rm-rf-made-up", 1, first, "error.type=_OTHER"},
		{"execute_tool tickets__create_for_kim", 1, second, "gen_ai.tool.type=extension"},
		{"execute_tool run_terminal_command", 1, second, "error.type=command_failed"},
		{"wait_for_approval", 1, second, "handrail.approval.verdict=approved"},
		{"checkpoint", 1, second, "handrail.checkpoint.files=1 handrail.checkpoint.lines_added=2 handrail.checkpoint.lines_removed=1"},
		{"invoke_agent handrail", 2, nil, "gen_ai.operation.name=invoke_agent gen_ai.agent.name=handrail gen_ai.provider.name=ollama gen_ai.conversation.id=s1"},
	} {
		got := named(spans, want.name)
		if len(got) != want.n {
			t.Errorf("%d spans %q, want %d", len(got), want.name, want.n)
			continue
		}
		attrs := telemetrytest.Attributes(got[0].GetAttributes())
		for _, a := range strings.Fields(want.attr) {
			if key, value, _ := strings.Cut(a, "="); attrs[key] != value {
				t.Errorf("%s: %s = %q, want %q", want.name, key, attrs[key], value)
			}
		}
		if want.in != nil && (string(got[0].GetTraceId()) != string(want.in.GetTraceId()) || string(got[0].GetParentSpanId()) != string(want.in.GetSpanId())) {
			t.Errorf("%s is not in its run", want.name)
		}
	}
	if took := named(spans, "execute_tool read_file")[0]; took.GetEndTimeUnixNano()-took.GetStartTimeUnixNano() != uint64(time.Second) {
		t.Errorf("reading took %d ns", took.GetEndTimeUnixNano()-took.GetStartTimeUnixNano())
	}
	for _, text := range []string{"token-x", "secret-path", "words", "well"} {
		if strings.Contains(c.Raw(), text) {
			t.Errorf("the traces have the content %q", text)
		}
	}
	if r := c.Resource(); r["service.name"] != "handrail" || r["service.version"] != "1.2" {
		t.Errorf("they come from %v", r)
	}
}

// TestTracesContent: contents are sent if the operator wants it, without secrets and cut
// to a limit; and the newer names if the environment asks for them.
func TestTracesContent(t *testing.T) {
	c := telemetrytest.New(t)
	tr, _ := tracesTo(t, c.URL, func(cfg *TracesConfig) {
		cfg.Redact = func(text string) string { return strings.ReplaceAll(text, "token-x", "[removed]") }
		cfg.OptIn = "http,gen_ai_latest_experimental"
	})
	runs(t, tr)
	spans := c.Spans()
	call := telemetrytest.Attributes(named(spans, "execute_tool read_file")[0].GetAttributes())
	if call["gen_ai.tool.call.arguments"] != `{"path":"secret-path"}` {
		t.Errorf("the call has %v", call)
	}
	said := telemetrytest.Attributes(named(spans, "chat m")[0].GetAttributes())
	if in := said["gen_ai.input.messages"]; in != `[{"role":"user","parts":[{"type":"text","content":"the question with [removed]"}]}]` {
		t.Errorf("input %s", in)
	}
	if out := said["gen_ai.output.messages"]; out != `[{"role":"assistant","parts":[{"type":"text","content":"well"}]}]` {
		t.Errorf("output %s", out)
	}
	if said["gen_ai.request.stream"] != "true" || said["gen_ai.response.time_to_first_chunk"] == "" {
		t.Errorf("the newer names are missing: %v", said)
	}
	if root := telemetrytest.Attributes(named(spans, "invoke_agent handrail")[0].GetAttributes()); root["gen_ai.provider.name"] != "" {
		t.Error("a run has the provider, which newer conventions took out")
	}
	if strings.Contains(c.Raw(), "token-x") {
		t.Error("a secret was sent")
	}
	long := tr.messages([]llm.Message{{Content: "old"}, {Content: strings.Repeat("ä", maxContent)}, {Content: strings.Repeat("b", maxContent/8)}})
	if len(long) > maxContent || !strings.Contains(long, "bbb") {
		t.Errorf("%d bytes of messages, want the last of at most %d", len(long), maxContent)
	}
}

// TestCollectorHeaders: the collector gets the headers of the environment, also after it
// was busy, and no other server does.
func TestCollectorHeaders(t *testing.T) {
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server is asked") }))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got = append(got, r.Header.Get("X-Key")); len(got) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	tr, _ := tracesTo(t, s.URL+"/otlp", func(cfg *TracesConfig) { cfg.Headers = "X-Key=a%20b, Y=c" })
	_, _, end := tr.Run(t.Context(), session.Task{Session: "s1"}, &kept{})
	end(session.Outcome{}, nil)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[a b a b]" {
		t.Errorf("the collector got %q", got)
	}
	if _, err := headersOf("secret-without-a-name"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a wrong form gives %v", err)
	}
}

// TestFailedAnswer: the answer of a model that failed tells the kind of error.
func TestFailedAnswer(t *testing.T) {
	c := telemetrytest.New(t)
	tr, _ := tracesTo(t, c.URL, nil)
	ctx, _, end := tr.Run(t.Context(), session.Task{Session: "s1"}, &kept{})
	for range Model(busy{}, nil, tr, nil).Stream(ctx, llm.Request{}) {
		continue
	}
	for range Model(busy{}, nil, tr, nil).Stream(t.Context(), llm.Request{}) { // outside of a run
		continue
	}
	end(session.Outcome{}, errors.New("words of an error"))
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := named(c.Spans(), "chat m")
	if len(got) != 1 || telemetrytest.Attributes(got[0].GetAttributes())["error.type"] != "busy" ||
		got[0].GetStatus().GetCode() != trace.Status_STATUS_CODE_ERROR {
		t.Errorf("spans %v", got)
	}
	if strings.Contains(c.Raw(), "words of an error") {
		t.Error("the words of an error were sent")
	}
}

type busy struct{ spoken }

func (busy) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) { yield(llm.Part{}, &llm.Error{Kind: llm.Busy, Public: "busy"}) }
}

// TestBadCollectors: a collector that is away, hangs or answers badly fails no run and
// keeps none waiting; the log says so once.
func TestBadCollectors(t *testing.T) {
	longtest.Leave(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	release := make(chan struct{})
	servers := map[string]http.HandlerFunc{
		"refuses":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"has an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"talks HTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>log in</h1>")
		},
		"hangs": func(http.ResponseWriter, *http.Request) { <-release },
	}
	at := map[string]string{"is away": "http://127.0.0.1:1"}
	for name, h := range servers {
		s := httptest.NewServer(h)
		defer s.Close()
		at[name] = s.URL
	}
	defer close(release)
	for name, url := range at {
		t.Run(name, func(t *testing.T) {
			tr, log := tracesTo(t, url, func(cfg *TracesConfig) { cfg.slower = 1 })
			task := session.Task{Session: "s1", Model: "m"}
			ctx, _, end := tr.Run(t.Context(), task, &kept{})
			_, events, _ := tr.Run(ctx, task, &kept{})
			for range 5000 { // more than the queue has room for
				for range Model(spoken{}, nil, tr, nil).Stream(ctx, llm.Request{}) {
					continue
				}
			}
			if err := events.Append(ctx, work()[:4]...); err != nil {
				t.Error(err)
			}
			end(session.Outcome{Status: session.StatusDone}, nil)
			if err := tr.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if n := strings.Count(log.String(), "traces are not sent"); n > 1 || n == 0 && name != "talks HTML" {
				t.Errorf("the log says it %d times: %s", n, log)
			}
		})
	}
}

// TestLogsWithTraces: a line within a run has its trace and session.
func TestLogsWithTraces(t *testing.T) {
	c := telemetrytest.New(t)
	tr, _ := tracesTo(t, c.URL, nil)
	var out bytes.Buffer
	log := tr.Logger(slog.New(slog.NewTextHandler(&out, nil)))
	ctx, _, end := tr.Run(t.Context(), session.Task{Session: "s1"}, &kept{})
	log.InfoContext(ctx, "within")
	log.With("session", "s2").InfoContext(ctx, "named")
	log.InfoContext(t.Context(), "outside")
	end(session.Outcome{}, nil)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := strings.Split(out.String(), "\n")
	id := fmt.Sprintf("%x", c.Spans()[0].GetTraceId())
	if !strings.Contains(said[0], "session=s1 trace="+id) || strings.Contains(said[1], "s1") || !strings.Contains(said[1], id) ||
		strings.Contains(said[2], "trace") {
		t.Errorf("lines %s", out.String())
	}
}

// TestInterruptedRun: a run that goes on after an interruption is another trace, linked
// to the interrupted one.
func TestInterruptedRun(t *testing.T) {
	var events []session.Event
	for _, e := range work()[:3] {
		events = append(events, *e)
	}
	now, before := wakesOf("s1", events)
	if now != (wake{"s1", 3}) || before != (wake{"s1", 0}) {
		t.Errorf("now %v, before %v", now, before)
	}
}
