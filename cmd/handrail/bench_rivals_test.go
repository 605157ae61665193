package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// rival is a program that does the same 33 steps without a sandbox, with a model on loopback.
type rival struct {
	name  string
	args  []string // %u is the model server's address, %r the repository
	env   []string // with the same marks
	turns func(repo string) []llmtest.Turn
	tool  string // offered with each request of the task itself
}

// BenchmarkRivals runs 33 steps (30 reads of 200 lines, an edit, a command, the end) by turns
// through Handrail's local engine and through the agents of others that are installed (see make
// agents). It reports the time by the clock and the time of the processors, each from start to exit.
func BenchmarkRivals(b *testing.B) {
	p := build(b)
	for _, r := range []rival{
		{
			name:  "handrail",
			args:  []string{p.bin, "run", "--repo", "%r", "--workspace", "local", "--turns", "40", "--task", "spell out line seven"},
			turns: func(string) []llmtest.Turn { return readsOf(30, 200) },
			tool:  "read_file",
			env: []string{
				"OLLAMA_HOST=%u", "HANDRAIL_MODEL=instant", "HANDRAIL_BASE_URL=", "HANDRAIL_LOG_LEVEL=error",
			},
		},
		{
			name:  "opencode",
			args:  []string{"opencode", "run", "spell out line seven"},
			turns: func(repo string) []llmtest.Turn { return stepsOf(repo, opencodeTools) },
			tool:  opencodeTools.read,
			env: []string{
				`OPENCODE_CONFIG_CONTENT={"model":"bench/instant","small_model":"bench/instant","autoupdate":false,` +
					`"share":"disabled","permission":"allow","enabled_providers":["bench"],"provider":{"bench":{` +
					`"npm":"@ai-sdk/openai-compatible","name":"bench","options":{"baseURL":"%u/v1","apiKey":"none"},` +
					`"models":{"instant":{"name":"instant"}}}}}`,
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
				"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			},
		},
		{
			name:  "qwen-code",
			args:  []string{"qwen", "--yolo", "--prompt", "spell out line seven"},
			turns: func(repo string) []llmtest.Turn { return stepsOf(repo, qwenTools) },
			tool:  qwenTools.read,
			env: []string{
				"OPENAI_BASE_URL=%u/v1", "OPENAI_API_KEY=none", "OPENAI_MODEL=instant", "QWEN_CODE_NO_RELAUNCH=true",
			},
		},
	} {
		b.Run(r.name, func(b *testing.B) {
			bin, err := exec.LookPath(r.args[0])
			if err != nil {
				b.Skipf("NEEDS %s: run make agents, and put its programs on the PATH", r.name)
			}
			r.args[0] = bin
			var cpu float64
			for b.Loop() {
				b.StopTimer()
				repo, home := benchRepo(b), b.TempDir()
				b.StartTimer()
				cpu += r.steps(b, repo, home)
			}
			b.ReportMetric(cpu/float64(b.N), "cpu-ms")
		})
	}
}

// steps does the steps once and returns the time of the processors in milliseconds.
func (r rival) steps(b *testing.B, repo, home string) float64 {
	b.Helper()
	b.StopTimer()
	s, err := llmtest.Start(llmtest.Script{
		Model:  llmtest.ModelSpec{Name: "instant", Tools: true, Context: 131072},
		Forget: true,
		Conversations: []llmtest.Conversation{
			{Name: "task", When: llmtest.Conditions{HasTool: llmtest.Texts{r.tool}}, Turns: r.turns(repo)},
			{Name: "title", Turns: []llmtest.Turn{{Say: "Line seven", Repeat: true, Optional: true}}},
		},
	}, llmcheck.Dialect)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	mark := strings.NewReplacer("%u", s.URL(), "%r", repo)
	settings := filepath.Join(home, ".qwen", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"security":{"auth":{"selectedType":"openai"}},`+
		`"general":{"disableAutoUpdate":true},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false}}`), 0o644); err != nil {
		b.Fatal(err)
	}
	args := make([]string, len(r.args))
	for i, a := range r.args {
		args[i] = mark.Replace(a)
	}
	cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home)
	for _, e := range r.env {
		cmd.Env = append(cmd.Env, mark.Replace(e))
	}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	b.StartTimer()
	err = cmd.Run()
	b.StopTimer()
	if err != nil {
		b.Fatalf("%s: %v\n%s", r.name, err, text.String())
	}
	if err := s.Err(); err != nil {
		b.Fatalf("%s: %v\n%s", r.name, err, text.String())
	}
	b.StartTimer()
	return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / 1000
}

// rivalTools are another agent's names of tools and arguments.
type rivalTools struct {
	read, readPath, from, lines          string
	edit, editPath, oldText, newText     string
	command, commandText, commandSummary string
}

var (
	opencodeTools = rivalTools{
		read: "read", readPath: "filePath", from: "offset", lines: "limit",
		edit: "edit", editPath: "filePath", oldText: "oldString", newText: "newString",
		command: "bash", commandText: "command", commandSummary: "description",
	}
	qwenTools = rivalTools{
		read: "read_file", readPath: "file_path", from: "offset", lines: "limit",
		edit: "edit", editPath: "file_path", oldText: "old_string", newText: "new_string",
		command: "run_shell_command", commandText: "command", commandSummary: "description",
	}
)

// stepsOf returns the steps of readsOf(30, 200) in the words of another agent.
func stepsOf(repo string, tools rivalTools) []llmtest.Turn {
	var turns []llmtest.Turn
	for i := range 30 {
		turns = append(turns, turn(tools.read, map[string]any{
			tools.readPath: filepath.Join(repo, "src", fmt.Sprintf("f%d.txt", i)), tools.from: 0, tools.lines: 200,
		}))
	}
	return append(turns,
		turn(tools.edit, map[string]any{
			tools.editPath: filepath.Join(repo, "src", "f0.txt"),
			tools.oldText:  "line 7 of file 0 ",
			tools.newText:  "line seven of file 0 ",
		}),
		turn(tools.command, map[string]any{
			tools.commandText: "grep -c seven src/f0.txt", tools.commandSummary: "Count", "is_background": false,
		}),
		llmtest.Turn{Say: "Line seven is spelled out.", Tokens: llmtest.Tokens{Prompt: 1000, Answer: 20}})
}
