package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/renderers"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/seat"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// steps33 is a session of 33 answers: thirty reads of so many lines with a list that is
// brought up to date, two edits and the end.
func steps33(t testing.TB, model string, lines int) []*llmtest.Request {
	t.Helper()
	script, files := "model: "+model+"\nturns:\n", map[string]string{"a.txt": "one\n"}
	for n := range 30 {
		name := fmt.Sprintf("part%d.go", n)
		files[name] = strings.Repeat(fmt.Sprintf("\tx%d = append(x%d, f(%d)) // a line of code\n", n, n, n), lines)
		script += fmt.Sprintf("- think: What does %s say?\n  calls: [{name: read_file, arguments: {path: %s}}, {name: update_todo_list, arguments: {todos: \"[-] read %d\\n[ ] write\"}}]\n", name, name, n)
	}
	b := newBench(t, script+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- calls: [{name: update_todo_list, arguments: {todos: "[x] all"}}]
- say: "Done. [TASK_COMPLETE]"
`, files)
	b.cfg.Limits.Turns, b.cfg.Context = 100, 131072
	b.must(session.StatusDone)
	return b.model.Requests()
}

// reuse returns how much of all prompts but the first a server has computed already
// when the one before is in its slot, and how much of the one before is of use.
func reuse(prompts []string) (ofPrompt, ofBefore float64) {
	same, all, had := 0, 0, 0
	for i := 1; i < len(prompts); i++ {
		n := 0
		for n < min(len(prompts[i]), len(prompts[i-1])) && prompts[i][n] == prompts[i-1][n] {
			n++
		}
		same, all, had = same+n, all+len(prompts[i]), had+len(prompts[i-1])
	}
	return float64(same) / float64(all), float64(same) / float64(had)
}

// rendered are the prompts of requests as Ollama writes them for a family of models.
func rendered(t testing.TB, renderer string, requests []*llmtest.Request) []string {
	t.Helper()
	var out []string
	for _, r := range requests {
		var in api.ChatRequest
		if err := json.Unmarshal(r.Body, &in); err != nil {
			t.Fatal(err)
		}
		text, err := renderers.RenderWithRenderer(renderer, in.Messages, in.Tools, in.Think)
		if err != nil {
			t.Fatalf("%s: %v", renderer, err)
		}
		out = append(out, text)
	}
	return out
}

var families = []string{
	"qwen3-coder", "qwen3-vl-instruct", "qwen3-vl-thinking", "qwen3.5", "deepseek3.1", "olmo3", "olmo3-think", "nemotron-3-nano", "gemma4", "glm-4.7", "lfm2", "laguna", "cogito",
}

// Ollama's own renderers are the judge of what a server can reuse.
func TestRenderedPromptsAreReused(t *testing.T) {
	longtest.Leave(t)
	requests := steps33(t, "{name: m, tools: true, thinking: true, context: 131072}", 120)
	if len(requests) != 33 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, name := range families {
		prompt, before := reuse(rendered(t, name, requests))
		t.Logf("%-18s %.1f %% of a prompt, %.1f %% of the one before", name, 100*prompt, 100*before)
		if before < 0.97 {
			t.Errorf("%s: %.1f %% of what was computed can be reused, want 97 %%", name, 100*before)
		}
	}
}

// stretches cuts a session where it parks for a person, once in the middle.
func stretches(requests []*llmtest.Request) [][]*llmtest.Request {
	return [][]*llmtest.Request{requests[:len(requests)/2], requests[len(requests)/2:]}
}

// atOnce has sessions work at the same time, each with its requests, and calls send for
// each of them in the order in which the server gets them.
func atOnce(t testing.TB, slots int, sessions [][]*llmtest.Request, send func(*llmtest.Request)) {
	t.Helper()
	models, wire := seat.New(slots), sync.Mutex{}
	var wg sync.WaitGroup
	for _, requests := range sessions {
		wg.Go(func() {
			for _, part := range stretches(requests) {
				run := models.Run(func(int) {})
				if err := run.Take(t.Context(), "m"); err != nil {
					t.Error(err)
				}
				for _, r := range part {
					wire.Lock()
					send(r)
					wire.Unlock()
					<-time.After(time.Millisecond) // a tool runs, and others may ask
				}
				run.Leave()
			}
		})
	}
	wg.Wait()
}

func sessions33(t testing.TB, lines int) (out [][]*llmtest.Request) {
	t.Helper()
	for n := range 4 {
		out = append(out, steps33(t, fmt.Sprintf("{name: m%d, tools: true, thinking: true, context: 131072}", n), lines+n))
	}
	return out
}

// Four sessions at once, on a server with one slot, do not throw each other's prompts
// out of it. Without seats they do.
func TestReuseOfFourSessions(t *testing.T) {
	longtest.Leave(t)
	sessions := sessions33(t, 30)
	for slots, want := range map[int][2]float64{1: {0.90, 1}, 0: {0, 0.8}} {
		var order []*llmtest.Request
		atOnce(t, slots, sessions, func(r *llmtest.Request) { order = append(order, r) })
		for _, name := range []string{"qwen3-coder", "glm-4.7"} {
			prompt, before := reuse(rendered(t, name, order))
			t.Logf("%d seats, %s: %.1f %% of a prompt, %.1f %% of the one before", slots, name, 100*prompt, 100*before)
			if before < want[0] || before > want[1] {
				t.Errorf("%d seats, %s: %.1f %% of what was computed can be reused", slots, name, 100*before)
			}
		}
	}
}

// BenchmarkPrefixOnOllama sends the requests of sessions to the server at OLLAMA_HOST,
// for the model HANDRAIL_BENCH_MODEL, one token of answer each. It reports how much of
// the prompts, as that server writes them, it had computed for the request before, and
// the time that it took to compute the rest.
func BenchmarkPrefixOnOllama(b *testing.B) {
	host, model := os.Getenv("OLLAMA_HOST"), os.Getenv("HANDRAIL_BENCH_MODEL")
	if host == "" || model == "" {
		b.Skip("OLLAMA_HOST and HANDRAIL_BENCH_MODEL name no server and model")
	}
	all := sessions33(b, 2)
	for _, c := range []struct {
		name     string
		slots    int
		sessions [][]*llmtest.Request
		least    float64 // of what was computed for the request before that must be of use
	}{
		{"one session", 1, all[:1], 0.97}, {"four sessions", 1, all, 0.90}, {"without seats", 0, all, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var prompts []string
				var prefill time.Duration
				tokens := 0
				atOnce(b, c.slots, c.sessions, func(r *llmtest.Request) {
					prompt, took, n := onOllama(b, "http://"+strings.TrimPrefix(host, "http://"), model, r)
					prompts, prefill, tokens = append(prompts, prompt), prefill+took, max(tokens, n)
				})
				_, before := reuse(prompts)
				if before < c.least {
					b.Errorf("%.1f %% of what was computed can be reused, want %.0f %%", 100*before, 100*c.least)
				}
				b.ReportMetric(100*before, "%reused")
				b.ReportMetric(prefill.Seconds(), "prefill-s")
				b.ReportMetric(float64(len(prompts)), "requests")
				b.ReportMetric(float64(tokens), "tokens-of-the-longest")
			}
		})
	}
}

// onOllama sends a request. It returns the prompt that the server writes for it, and the
// time and the tokens of that.
func onOllama(b *testing.B, host, model string, r *llmtest.Request) (prompt string, took time.Duration, tokens int) {
	b.Helper()
	in := map[string]any{}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		b.Fatal(err)
	}
	delete(in, "think")
	in["model"], in["stream"], in["options"] = model, false, map[string]any{"num_ctx": 65536, "num_predict": 1}
	for _, look := range []bool{true, false} {
		in["_debug_render_only"] = look
		body, err := json.Marshal(in)
		if err != nil {
			b.Fatal(err)
		}
		res, err := http.Post(host+"/api/chat", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		var out struct {
			Error    string
			Tokens   int           `json:"prompt_eval_count"`
			Duration time.Duration `json:"prompt_eval_duration"`
			Debug    struct {
				Text string `json:"rendered_template"`
			} `json:"_debug_info"`
		}
		if err != nil || json.Unmarshal(data, &out) != nil || out.Error != "" {
			b.Fatal(err, out.Error)
		}
		prompt, took, tokens = prompt+out.Debug.Text, out.Duration, out.Tokens
	}
	return prompt, took, tokens
}
