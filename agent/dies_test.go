package agent

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const diesWords = "I will note it now, and after that I am going to look at it once more."

// diesScript is one turn with words and two calls, of which one would be seen
// twice if it ran twice. The first answer dies after so many bytes, the server
// is away for a moment, and then all goes well.
func diesScript(native bool, after int) string {
	turn := fmt.Sprintf(`{chunk: 9, print: %t, say: %q, calls: [
    {name: run_terminal_command, arguments: {command: echo one >> a.txt}},
    {name: write_file, arguments: {path: b.txt, content: "two\n"}}],
  when: {turn: 0}`, !native, diesWords)
	script := fmt.Sprintf("model: {name: m, tools: %t, context: 32768}\nselect: by-conditions\nturns:\n", native)
	if after > 0 {
		script += fmt.Sprintf("- %s, misbehave: {die_after_bytes: %d}}\n- {when: {turn: 0}, optional: true, misbehave: {drop: true}}\n", turn, after)
	}
	return script + "- " + turn + `, repeat: true, optional: true}
- {when: {turn: 1}, repeat: true, optional: true, say: "Done. [TASK_COMPLETE]"}
`
}

// wiretap keeps the bodies of the answers to chat requests.
type wiretap struct {
	mu     sync.Mutex
	bodies []*bytes.Buffer
}

func (r *wiretap) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(req.URL.Path, "chat") {
		return resp, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	body := &bytes.Buffer{}
	r.bodies = append(r.bodies, body)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, body), resp.Body}
	return resp, nil
}

// diesBench is a bench whose model speaks the wire, with a clock that lets
// everything be shown.
func diesBench(t *testing.T, wire, script string, via http.RoundTripper) (*bench, *[]Live) {
	t.Helper()
	b := newBench(t, script, map[string]string{"a.txt": ""})
	base := b.model.URL()
	var m llm.Model
	var err error
	client := &http.Client{Transport: via}
	if wire == "openai" {
		base += "/v1"
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if wire == "openai" {
		m, err = openai.New(openai.Config{URL: u, HTTP: client, Model: "m", // told, or the question would meet the death
			Capabilities: &llm.Capabilities{Tools: strings.Contains(script, "tools: true"), ContextLength: 32768}})
	} else {
		m, err = ollama.New(ollama.Config{URL: u, HTTP: client, Model: "m"})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Model = m
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.cfg.Now = func() time.Time {
		now = now.Add(50 * time.Millisecond)
		return now
	}
	shown := &[]Live{}
	b.cfg.OnLive = func(l Live) { *shown = append(*shown, l) }
	return b, shown
}

// TestModelDiesAtEveryToken kills the model's server before and inside every
// piece of an answer, natively and with printed calls, on both wires: the
// session ends as if nothing had happened, no call runs by half or twice, and
// no text is shown twice.
func TestModelDiesAtEveryToken(t *testing.T) {
	longtest.Leave(t)
	for _, wire := range []string{"ollama", "openai"} {
		for _, native := range []bool{true, false} {
			name := wire + map[bool]string{true: " native", false: " printed"}[native]
			t.Run(name, func(t *testing.T) {
				all := &wiretap{}
				b, shown := diesBench(t, wire, diesScript(native, 0), all)
				b.judgeDies(native, shown)
				if t.Failed() {
					t.Fatal("without any death")
				}
				turn := all.bodies[len(all.bodies)-3].Bytes() // after it come the last word and the title
				cuts := cutsOf(turn)
				if len(cuts) < 20 {
					t.Fatalf("only %d places to die at", len(cuts))
				}
				died := 0
				for i, n := range cuts {
					if (raceFactor > 1 || !longtest.Long()) && i%5 != 0 {
						continue // the detector is for the code, the places are for the long run without
					}
					b, shown := diesBench(t, wire, diesScript(native, n), http.DefaultTransport)
					b.judgeDies(native, shown)
					died += len(b.model.Requests()) - 3
					if t.Failed() {
						t.Fatalf("died after %d bytes, at %q", n, turn[:n])
					}
				}
				t.Logf("model killed at %d places of a turn, %d requests repeated, calls lost 0, calls run twice 0", len(cuts), died)
				if died < len(cuts)/10 {
					t.Errorf("only %d requests were repeated", died)
				}
			})
		}
	}
}

// cutsOf are the ends of the pieces of a stream, and their middles.
func cutsOf(stream []byte) []int {
	cuts, at := []int{1}, 0
	for piece := range bytes.Lines(stream) {
		if len(bytes.TrimSpace(piece)) > 0 {
			cuts = append(cuts, at+len(piece)/2, at+len(piece))
		}
		at += len(piece)
	}
	return cuts
}

func (b *bench) judgeDies(native bool, shown *[]Live) {
	b.t.Helper()
	b.must(session.StatusDone)
	for path, want := range map[string]string{"a.txt": "one\n", "b.txt": "two\n"} {
		if got := b.states.published()[path]; got != want {
			b.t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if n := len(events[session.Started](b, session.TypeStarted)); n != 2 {
		b.t.Errorf("%d calls were started, want 2", n)
	}
	answers := events[session.Answer](b, session.TypeAnswer)
	if len(answers) != 2 || answers[0].Content != diesWords || len(answers[0].Calls) != 2 {
		b.t.Errorf("answers %+v, want the words once with two calls, and the end", answers)
		return
	}
	for _, c := range answers[0].Calls {
		if c.Truncated || c.Repaired || c.Text == native {
			b.t.Errorf("call %+v, want it whole and native: %t", c, native)
		}
	}
	if len(*shown) == 0 {
		b.t.Error("nothing was shown")
	}
	for _, l := range *shown {
		if !strings.HasPrefix(diesWords, l.Content) && !strings.HasPrefix("Done.", l.Content) {
			b.t.Errorf("shown: %q", l.Content)
		}
	}
}

// A server that dies again and again ends the session with words that help,
// and without a call; asked again later, the session goes on.
func TestModelStaysDead(t *testing.T) {
	script := strings.Replace(diesScript(true, 900), "misbehave: {die_after_bytes: 900}", "repeat: true, misbehave: {die_after_bytes: 900}", 1)
	b, shown := diesBench(t, "ollama", script, http.DefaultTransport)
	out := b.must(session.StatusFailed)
	if !strings.Contains(out.Reason, "Nothing is lost") {
		t.Errorf("reason %q", out.Reason)
	}
	if n := len(events[session.Started](b, session.TypeStarted)); n != 0 {
		t.Errorf("%d calls started", n)
	}
	well, _ := diesBench(t, "ollama", diesScript(true, 0), http.DefaultTransport)
	b.cfg.Model = well.cfg.Model
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "try again"}))
	b.judgeDies(true, shown)
}
