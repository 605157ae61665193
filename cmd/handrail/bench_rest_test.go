package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
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
)

// BenchmarkRest is the memory of `handrail serve` without work, as it is built for a release,
// some seconds after its start: all of it, and the part that no file backs.
func BenchmarkRest(b *testing.B) {
	p := build(b)
	script, err := llmtest.ParseScript([]byte("model: {name: m, tools: true, context: 32768}\nturns: [{say: nothing, repeat: true, optional: true}]\n"))
	fatal(b, err)
	model, err := llmtest.Start(script, llmcheck.Dialect)
	fatal(b, err)
	b.Cleanup(model.Close)
	gh, err := ghcheck.New(ghtest.Config{Dir: b.TempDir()})
	fatal(b, err)
	fatal(b, gh.Start())
	b.Cleanup(func() { fatal(b, gh.Close()) })
	_, err = gh.AddRepo("team", "app", ghtest.Source{Files: map[string]string{"README.md": "# App\n"}})
	fatal(b, err)
	app, at := gh.App(), steadyAddress(b)
	key, file := filepath.Join(p.dir, "key.pem"), filepath.Join(p.dir, "handrail.yml")
	fatal(b, os.WriteFile(key, app.Key, 0o600))
	for i := 0; b.Loop(); i++ {
		fatal(b, os.WriteFile(file, fmt.Appendf(nil, "listen: %s\ndata: %s\nworkspace: local\ngithub: {api: %q, app_id: %d, private_key_file: %s}\n"+
			"model: {name: m, ollama: %q}\npolicy: {workspace: {unlimited: true}}\n",
			at, filepath.Join(p.dir, fmt.Sprint("data", i)), gh.URL(), app.ID, key, model.URL()), 0o600))
		ctx, stop := context.WithTimeout(b.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, p.bin, "serve", "--config", file)
		cmd.Env = append(os.Environ(), "HANDRAIL_WEBHOOK_SECRET="+app.WebhookSecret)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		fatal(b, cmd.Start())
		for ready := false; !ready && ctx.Err() == nil; pause(50 * time.Millisecond) {
			ready = isReady(ctx, at)
		}
		pause(5 * time.Second) // it looks for work, and asks GitHub and the model who they are
		resident, shared := memoryMiB(b, cmd.Process.Pid)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || resident == 0 {
			b.Fatalf("%v\n%s", err, said.String())
		}
		stop()
		b.ReportMetric(float64(resident), "rest-MiB")
		b.ReportMetric(float64(resident-shared), "own-MiB")
	}
}

func isReady(ctx context.Context, at string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
