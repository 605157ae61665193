package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/renderers"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
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

// BenchmarkPrefixOnOllama sends the requests of a session to the server at OLLAMA_HOST,
// for the model HANDRAIL_BENCH_MODEL, one token of answer each, and reports the time
// that it takes to compute the prompts.
func BenchmarkPrefixOnOllama(b *testing.B) {
	host, model := os.Getenv("OLLAMA_HOST"), os.Getenv("HANDRAIL_BENCH_MODEL")
	if host == "" || model == "" {
		b.Skip("OLLAMA_HOST and HANDRAIL_BENCH_MODEL name no server and model")
	}
	requests := steps33(b, "{name: m, tools: true, context: 131072}", 2)
	for b.Loop() {
		var prefill time.Duration
		tokens := 0
		for _, r := range requests {
			in := map[string]any{}
			if err := json.Unmarshal(r.Body, &in); err != nil {
				b.Fatal(err)
			}
			in["model"], in["stream"], in["options"] = model, false, map[string]any{"num_ctx": 65536, "num_predict": 1}
			body, err := json.Marshal(in)
			if err != nil {
				b.Fatal(err)
			}
			res, err := http.Post("http://"+strings.TrimPrefix(host, "http://")+"/api/chat", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			data, err := io.ReadAll(res.Body)
			res.Body.Close()
			var out struct {
				Error    string
				Tokens   int           `json:"prompt_eval_count"`
				Duration time.Duration `json:"prompt_eval_duration"`
			}
			if err != nil || json.Unmarshal(data, &out) != nil || out.Error != "" {
				b.Fatal(err, out.Error)
			}
			prefill, tokens = prefill+out.Duration, out.Tokens
		}
		b.ReportMetric(prefill.Seconds(), "prefill-s")
		b.ReportMetric(float64(tokens), "last-tokens")
	}
}
