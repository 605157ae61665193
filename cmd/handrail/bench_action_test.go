package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/cmd/action"
)

// BenchmarkReaction is a run of the Action until its comment has a reaction: what a
// person waits for once the runner has the program.
func BenchmarkReaction(b *testing.B) {
	ok := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	p := build(b)
	script, err := llmtest.ParseScript([]byte("model: {name: m, tools: true, context: 32768}\nturns:\n- {say: \"It is said. [TASK_COMPLETE]\", repeat: true}\n"))
	ok(err)
	model, err := llmtest.Start(script, llmcheck.Dialect)
	ok(err)
	b.Cleanup(model.Close)
	gh, err := ghcheck.New(ghtest.Config{Dir: b.TempDir()})
	ok(err)
	ok(gh.Start())
	b.Cleanup(func() { ok(gh.Close()) })
	gh.AddUser("you", "write")
	_, err = gh.AddRepo("team", "app", ghtest.Source{Files: map[string]string{"README.md": "# App\n"}})
	ok(err)
	gh.AddUser(action.Login, "write")
	token, err := gh.Token(action.Login)
	ok(err)
	events := make(chan []byte, 10)
	hooks := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && r.Header.Get("X-GitHub-Event") == "issue_comment" {
			select {
			case events <- body:
			default: // the bot's own
			}
		}
	}))
	b.Cleanup(hooks.Close)
	for b.Loop() {
		b.StopTimer()
		gh.SetWebhook(hooks.URL)
		issue, err := gh.OpenIssue("team/app", "you", "A question", "It is short.")
		ok(err)
		_, err = gh.Comment(issue, "you", "/agent ask what is it?")
		ok(err)
		ok(gh.Flush(b.Context()))
		payload := <-events
		gh.SetWebhook("")
		dir := b.TempDir()
		ok(os.WriteFile(filepath.Join(dir, "event.json"), payload, 0o600))
		cmd := exec.CommandContext(b.Context(), p.bin, "action")
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
		cmd.Env = append(os.Environ(), "GITHUB_API_URL="+gh.URL(), "GITHUB_SERVER_URL="+gh.URL(), "GITHUB_REPOSITORY=team/app", "GITHUB_ACTIONS=true",
			"GITHUB_EVENT_NAME=issue_comment", "GITHUB_EVENT_PATH="+filepath.Join(dir, "event.json"), "RUNNER_TEMP="+dir, "GITHUB_RUN_ID=1", "GITHUB_RUN_ATTEMPT=1",
			"INPUT_TOKEN="+token, "INPUT_MODEL=m", "INPUT_OLLAMA=", "INPUT_BASE-URL="+model.URL()+"/v1", "INPUT_WORKSPACE=bwrap")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		b.StartTimer()
		ok(cmd.Start())
		for began := time.Now(); len(gh.Thread(issue).Comments[0].Reactions) == 0; {
			if time.Since(began) > 20*time.Second {
				b.Fatalf("there is no reaction; %v\n%s", cmd.Process.Kill(), said.String())
			}
			<-time.After(2 * time.Millisecond)
		}
		b.StopTimer()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group of that process, or it has ended
		_ = cmd.Wait()
		b.StartTimer()
	}
}
