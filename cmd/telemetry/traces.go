package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
)

// TracesConfig configures traces.
type TracesConfig struct {
	Endpoint  string // address of the collector, such as http://127.0.0.1:4318
	Headers   string // for the collector: key=value,key=value
	Transport http.RoundTripper
	Version   string
	Provider  string                   // kind of the models' server
	Redact    func(text string) string // of contents; nil leaves contents out
	OptIn     string                   // value of OTEL_SEMCONV_STABILITY_OPT_IN
	Log       *slog.Logger

	slower int // multiplies the time limits; 0 means 1
}

// limit returns a time limit. Tests have longer ones, which only end hangs.
func (c TracesConfig) limit(d time.Duration) time.Duration {
	return d * time.Duration(max(1, c.slower))
}

// Traces sends a trace per run of a session to a collector. It is safe for concurrent
// use. Spans are sent in the background, and dropped if the collector does not keep up.
type Traces struct {
	cfg      TracesConfig
	exporter *reported
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	newer    bool // names
}

// Limits of exports, in size and time.
const (
	maxContent  = 32 << 10 // bytes of a content
	sendTime    = 10 * time.Second
	closeTime   = 3 * time.Second
	failedEvery = 10 * time.Minute // between log lines about a failing collector
)

// NewTraces returns traces that are sent to a collector. It does not contact it.
func NewTraces(ctx context.Context, cfg TracesConfig) (*Traces, error) {
	to, err := newCollector(cfg)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("connect to the collector: %w", err)
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxContent
	sends, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &Traces{cfg: cfg, exporter: &reported{SpanExporter: exporter, log: cfg.Log, sends: sends, stop: stop}, newer: slices.Contains(strings.Split(cfg.OptIn, ","), latest)}
	t.provider = sdk.NewTracerProvider(
		sdk.WithBatcher(t.exporter, sdk.WithExportTimeout(cfg.limit(sendTime))),
		sdk.WithIDGenerator(ids{}),
		sdk.WithRawSpanLimits(limits),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "handrail"), attribute.String("service.version", cfg.Version),
		)),
	)
	t.tracer = t.provider.Tracer("github.com/handrail-bot/handrail")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // reported logs failures
	return t, nil
}

// Close sends the last spans, for a short time.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.limit(closeTime))
	defer cancel()
	defer t.exporter.stop()
	err := t.provider.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.exporter.warn(ctx, "err", "the collector did not take them in time")
		return nil
	}
	if err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// reported logs failures of an exporter, the first of each period.
type reported struct {
	sdk.SpanExporter
	log   *slog.Logger
	sends context.Context //nolint:containedctx // ends with the traces, unlike the context of a caller
	stop  context.CancelFunc

	mu   sync.Mutex
	next time.Time
}

// ExportSpans implements [sdk.SpanExporter].
func (r *reported) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.sends, cancel)() //nolint:contextcheck // the end of the traces ends a send
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if err == nil || r.sends.Err() != nil {
		return nil
	}
	r.warn(ctx, "spans", len(spans), "err", err)
	return nil
}

// warn logs that traces are lost, once in each period.
func (r *reported) warn(ctx context.Context, why ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.After(r.next) {
		r.next = now.Add(failedEvery)
		r.log.WarnContext(ctx, "traces are not sent", why...)
	}
}

// wake identifies one run of a session. Its ids follow from the log, so that a later run
// can link to it, and they can be told without a collector.
type wake struct {
	Session string
	After   int64 // events before the run
}

func (w wake) ids() (id trace.TraceID, root trace.SpanID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s after %d", w.Session, w.After))
	copy(id[:], sum[:])
	copy(root[:], sum[len(id):])
	return id, root
}

// wakesOf returns the present run of a session with a log, and the run before it; its
// session is empty for the first run.
func wakesOf(id string, events []session.Event) (now, before wake) {
	worked := false
	now.Session = id
	for _, e := range events {
		switch e.Type {
		case session.TypeEnded:
			before, now, worked = now, wake{id, e.Seq}, false
		case session.TypeAnswer, session.TypeStarted:
			worked = true
		}
	}
	if worked { // the run was interrupted, and goes on now
		before, now = now, wake{id, events[len(events)-1].Seq}
	}
	return now, before
}

// TraceIDs returns the ids of the traces of a session with a log, the oldest first.
func TraceIDs(id string, events []session.Event) (traces []string) {
	now := wake{Session: id}
	for _, e := range events {
		if e.Type == session.TypeEnded {
			t, _ := now.ids()
			traces, now.After = append(traces, hex.EncodeToString(t[:])), e.Seq
		}
	}
	return traces
}

type wakeKey struct{}

// ids makes the ids of spans. Those of a run's first span follow from its wake.
type ids struct{}

// NewIDs implements [sdk.IDGenerator].
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if w, ok := ctx.Value(wakeKey{}).(wake); ok {
		return w.ids()
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements [sdk.IDGenerator].
func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

type conversation struct{}

// Run begins the trace of a run. The context and the log are for the run; end ends the
// trace.
func (t *Traces) Run(
	ctx context.Context,
	task session.Task,
	log session.Log,
) (context.Context, session.Log, func(session.Outcome, error)) {
	nothing := func(session.Outcome, error) {}
	if t == nil {
		return ctx, log, nothing
	}
	events, err := log.Events(ctx, 0)
	if err != nil {
		return ctx, log, nothing // the run finds the same
	}
	now, before := wakesOf(task.Session, events)
	with := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithAttributes(
		operationKey.String(invokeAgent), agentKey.String("handrail"), conversationKey.String(task.Session),
		requestModelKey.String(task.Model),
	)}
	if !t.newer {
		with = append(with, trace.WithAttributes(providerKey.String(t.cfg.Provider), agentVersionKey.String(t.cfg.Version)))
	}
	if before.Session != "" {
		id, root := before.ids()
		of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: root, TraceFlags: trace.FlagsSampled})
		with = append(with, trace.WithLinks(trace.Link{SpanContext: of}))
	}
	_, root := t.tracer.Start(context.WithValue(ctx, wakeKey{}, now), invokeAgent+" handrail", with...)
	ctx = trace.ContextWithSpan(context.WithValue(ctx, conversation{}, task.Session), root)
	spans := newSpans(t, task.Session, root, now.After)
	spans.read(events)
	return ctx, &tracedLog{Log: log, spans: spans, begun: events}, func(out session.Outcome, err error) {
		root.SetAttributes(statusKey.String(string(out.Status)))
		switch {
		case err != nil:
			root.SetAttributes(errorKey.String("run"))
			root.SetStatus(codes.Error, "")
		case out.Status.Failed():
			root.SetAttributes(errorKey.String(string(out.Status)))
			root.SetStatus(codes.Error, "")
		}
		root.End()
	}
}

// chatSpan is the span of one answer of a model. A nil value is none.
type chatSpan struct {
	trace.Span
	traces *Traces
	said   strings.Builder
	calls  []llm.ToolCall
}

// chat begins the span of an answer, within a run.
func (t *Traces) chat(ctx context.Context, model string, req llm.Request) (context.Context, *chatSpan) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	id, _ := ctx.Value(conversation{}).(string)
	ctx, span := t.tracer.Start(ctx, chat+" "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		operationKey.String(chat), providerKey.String(t.cfg.Provider), requestModelKey.String(model),
		conversationKey.String(id),
	))
	if req.MaxTokens > 0 {
		span.SetAttributes(maxTokensKey.Int(req.MaxTokens))
	}
	if req.Temperature != nil {
		span.SetAttributes(temperatureKey.Float64(*req.Temperature))
	}
	if t.newer {
		span.SetAttributes(streamKey.Bool(true))
	}
	if t.cfg.Redact != nil {
		span.SetAttributes(inputKey.String(t.messages(req.Messages)))
	}
	return ctx, &chatSpan{Span: span, traces: t}
}

func (c *chatSpan) take(p llm.Part) {
	if c != nil && c.traces.cfg.Redact != nil && c.said.Len() < maxContent {
		c.said.WriteString(p.Content)
		c.calls = append(c.calls, p.Calls...)
	}
}

// end ends the span. first is the time until the first part of the answer, or 0.
func (c *chatSpan) end(last llm.Part, first time.Duration, err error) {
	if c == nil {
		return
	}
	defer c.End()
	if last.Done {
		c.SetAttributes(finishReasonsKey.StringSlice([]string{last.DoneReason}))
		for key, n := range map[attribute.Key]int{
			inputTokensKey: last.PromptTokens, outputTokensKey: last.AnswerTokens, cachedTokensKey: last.CachedTokens,
		} {
			if n > 0 {
				c.SetAttributes(key.Int(n))
			}
		}
	}
	if c.traces.newer && first > 0 {
		c.SetAttributes(firstChunkKey.Float64(first.Seconds()))
	}
	if c.traces.cfg.Redact != nil && first > 0 {
		said := llm.Message{Role: llm.RoleAssistant, Content: c.said.String(), Calls: c.calls}
		c.SetAttributes(outputKey.String(c.traces.messages([]llm.Message{said})))
	}
	if err != nil {
		c.SetAttributes(errorKey.String(kindOf(err)))
		c.SetStatus(codes.Error, "")
	}
}

// kindOf names the kind of a model's error.
func kindOf(err error) string {
	names := map[llm.Kind]string{
		llm.Unreachable: "unreachable", llm.Busy: "busy", llm.Cut: "cut", llm.NotFound: "not_found", llm.Unsupported: "unsupported",
		llm.TooLong: "too_long", llm.Refused: "refused", llm.Invalid: "invalid", llm.Garbled: "garbled",
	}
	if name := names[llm.KindOf(err)]; name != "" {
		return name
	}
	return "_OTHER"
}

// message is a message in the form of the conventions.
type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// messages returns the last messages that have room, without secrets.
func (t *Traces) messages(list []llm.Message) string {
	var out []message
	room := maxContent * 3 / 4 // JSON needs more
	for _, m := range slices.Backward(list) {
		one := message{Role: string(m.Role)}
		switch {
		case m.Role == llm.RoleTool:
			one.Parts = append(one.Parts, part{Type: "tool_call_response", ID: m.ToolCallID, Response: t.content(m.Content)})
		case m.Content != "":
			one.Parts = append(one.Parts, part{Type: "text", Content: t.content(m.Content)})
		}
		for _, c := range m.Calls {
			args := json.RawMessage(t.content(string(c.Arguments)))
			if !json.Valid(args) {
				args, _ = json.Marshal(string(args)) // a string can be marshalled
			}
			one.Parts = append(one.Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: args})
		}
		data, err := json.Marshal(one)
		if room -= len(data); err != nil || room < 0 {
			break
		}
		out = append(out, one)
	}
	slices.Reverse(out)
	data, err := json.Marshal(out)
	if err != nil {
		return ""
	}
	return string(data)
}

// content returns a text without secrets, cut to the limit.
func (t *Traces) content(text string) string {
	text = t.cfg.Redact(text) //control:traces-redacted
	if len(text) > maxContent/2 {
		text = strings.ToValidUTF8(text[:maxContent/2], "") + " …"
	}
	return text
}
