package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/webhook"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// The whole program, measured from outside. docs/performance.md says what the
// numbers are for; none of them is asserted.

// program is the built binary with a place of its own to keep things.
type program struct {
	bin string
	dir string
}

// build makes the binary as it is released.
func build(b *testing.B) program {
	b.Helper()
	p := program{dir: b.TempDir()}
	p.bin = filepath.Join(p.dir, "handrail")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-o", p.bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build handrail: %v\n%s", err, out)
	}
	return p
}

// run runs the program once and returns its output and its peak of memory.
// The peak is asked of the kernel while the program runs: what wait reports
// for a child begins with the size of this process.
func (p program) run(b *testing.B, ollamaHost string, args ...string) (out string, peak int64) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), p.bin, args...)
	cmd.Env = append(os.Environ(), "OLLAMA_HOST="+ollamaHost, "HANDRAIL_MODEL=instant",
		"XDG_STATE_HOME="+filepath.Join(p.dir, "state"), "HANDRAIL_BASE_URL=", "HANDRAIL_LOG_LEVEL=error")
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("handrail %v: %v\n%s", args, err, text.String())
			}
			return text.String(), peak
		case <-tick.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

// highWater is the most memory that a process held so far, in bytes.
func highWater(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	field, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, _ := strconv.ParseInt(field, 10, 64) // 0 while it is ending
	return kb << 10
}

// again starts a model that answers at once, anew for each session.
func again(b *testing.B, turns []llmtest.Turn, f func(host string)) {
	b.Helper()
	s, err := llmtest.Start(llmtest.Script{Model: llmtest.ModelSpec{Name: "instant", Tools: true, Context: 131072}, Forget: true, Turns: turns})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f(s.URL())
	if err := s.Err(); err != nil {
		b.Fatal(err)
	}
}

func turn(name string, args map[string]any) llmtest.Turn {
	return llmtest.Turn{Calls: []llmtest.Call{{Name: name, Arguments: args}}, Tokens: llmtest.Tokens{Prompt: 1000, Answer: 20}}
}

// readsOf is a session of n reads up to line last, one edit, one command and the
// end.
func readsOf(n, last int) []llmtest.Turn {
	var turns []llmtest.Turn
	for i := range n {
		turns = append(turns, turn("read_file", map[string]any{"path": fmt.Sprintf("src/f%d.txt", i%30), "lines": fmt.Sprintf("%d-%d", 1+i/30, last+i/30)}))
	}
	return append(turns,
		turn("edit_file", map[string]any{"path": "src/f0.txt", "old_string": "line 7 of file 0 ", "new_string": "line seven of file 0 "}),
		turn("run_terminal_command", map[string]any{"command": "grep -c seven src/f0.txt"}),
		turn("attempt_completion", map[string]any{"result": "Line seven is spelled out."}))
}

// benchRepo is a clone with 30 files of 200 lines.
func benchRepo(b *testing.B) string {
	b.Helper()
	files := map[string]string{}
	for i := range 30 {
		var text strings.Builder
		for n := range 200 {
			fmt.Fprintf(&text, "line %d of file %d says something that is read\n", n+1, i)
		}
		files[fmt.Sprintf("src/f%d.txt", i)] = text.String()
	}
	return benchClone(b, files)
}

// benchClone makes a git repository of files.
func benchClone(b testing.TB, files map[string]string) string {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	benchGit(b, dir, "init", "-q", "-b", "main")
	benchGit(b, dir, "add", "-A")
	benchCommit(b, dir)
	return dir
}

func benchGit(b testing.TB, dir string, args ...string) {
	b.Helper()
	if out, err := exec.CommandContext(b.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func benchCommit(b testing.TB, dir string) {
	b.Helper()
	benchGit(b, dir, "-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "commit", "-q", "-m", "bench")
}

// inEach runs f for every kind of workspace that works here.
func inEach(b *testing.B, f func(b *testing.B, workspace string)) {
	b.Helper()
	engines, err := workspaceEngines(b.Context(), &console{}, os.Args[0], policy.Workspace{})
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range engines {
		b.Run(e.Name(), func(b *testing.B) {
			if err := e.Check(b.Context()); err != nil {
				b.Skipf("NEEDS %s: %v", strings.ToUpper(e.Name()), err)
			}
			f(b, e.Name())
		})
	}
}

// BenchmarkRun33 is a session of 33 turns from start to exit: 30 reads of 200
// lines, an edit, a command, the end; with its checkpoints.
func BenchmarkRun33(b *testing.B) {
	p, repo := build(b), benchRepo(b)
	inEach(b, func(b *testing.B, workspace string) {
		var most int64
		for b.Loop() {
			again(b, readsOf(30, 200), func(host string) {
				out, peak := p.run(b, host, "run", "--repo", repo, "--workspace", workspace, "--turns", "40", "--task", "spell out line seven")
				if !strings.Contains(out, "done after 33 turns") {
					b.Fatalf("not done:\n%s", out)
				}
				most = max(most, peak)
			})
		}
		b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
	})
}

// BenchmarkTurn is what one more turn costs: sessions of 103 and of 13 turns,
// the difference divided by 90. A turn is a request to a model on loopback, an
// answer with one read, and the look for changes to keep.
func BenchmarkTurn(b *testing.B) {
	p, repo := build(b), benchRepo(b)
	inEach(b, func(b *testing.B, workspace string) {
		took := func(n int) (d time.Duration) {
			again(b, readsOf(n, 1), func(host string) {
				began := time.Now()
				p.run(b, host, "run", "--repo", repo, "--workspace", workspace, "--turns", "200", "--task", "spell out line seven")
				d = time.Since(began)
			})
			return d
		}
		var each []time.Duration
		for b.Loop() {
			each = append(each, (took(100)-took(10))/90)
		}
		slices.Sort(each)
		b.ReportMetric(float64(each[len(each)/2].Microseconds())/1000, "ms/turn")
	})
}

// BenchmarkDemo is the whole story of `handrail demo`.
func BenchmarkDemo(b *testing.B) {
	p := build(b)
	inEach(b, func(b *testing.B, workspace string) {
		var most int64
		for b.Loop() {
			_, peak := p.run(b, "", "demo", "--workspace", workspace)
			most = max(most, peak)
		}
		b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
	})
}

// BenchmarkStart is the program doing nothing.
func BenchmarkStart(b *testing.B) {
	p := build(b)
	for b.Loop() {
		p.run(b, "", "version")
	}
}

// manyFiles is a clone of n small files.
func manyFiles(b testing.TB, n int) string { return manyFilesAnd(b, n, "", "") }

// manyFilesAnd has one file more, at path.
func manyFilesAnd(b testing.TB, n int, path, text string) string {
	b.Helper()
	files := make(map[string]string, n)
	if path != "" {
		files[path] = text
	}
	for i := range n {
		files[fmt.Sprintf("d%02d/e%02d/f%d.go", i%50, i/50%20, i)] = fmt.Sprintf("package p\n\nconst n%d = %d\n", i, i)
	}
	return benchClone(b, files)
}

// BenchmarkCommit keeps ten changed files of 50,000, against git doing it.
func BenchmarkCommit(b *testing.B) {
	repo := manyFiles(b, 50_000)
	m, err := gitops.OpenLocal(repo)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	})
	parent, err := m.Resolve(b.Context(), "HEAD")
	if err != nil {
		b.Fatal(err)
	}
	name := func(i int) string { return fmt.Sprintf("d%02d/e00/f%d.go", i, i) }
	b.Run("handrail", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			point := gitops.Checkpoint{Parent: parent, Meta: gitops.Meta{Message: "bench", Author: gitops.Signature{Name: "Handrail", Email: "handrail@localhost"}, When: time.Now()}}
			for i := range 10 {
				text := fmt.Sprintf("package p\n\nconst n%d = %d\n", i, -n)
				point.Changes = append(point.Changes, gitops.Change{Path: name(i), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
			}
			if _, err := m.Checkpoint(b.Context(), point); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("git", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			for i := range 10 {
				if err := os.WriteFile(filepath.Join(repo, name(i)), fmt.Appendf(nil, "package p\n\nconst n%d = %d\n", i, 1_000_000+n), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			benchGit(b, repo, "add", "-A")
			benchCommit(b, repo)
		}
	})
}

// BenchmarkWebhook is one delivery at a time: verified, stored durably and
// answered; against a bare handler that reads it and answers.
func BenchmarkWebhook(b *testing.B) {
	const hooked = "bench"
	body := fmt.Sprintf(`{"action":"created","comment":{"id":5,"body":%q,"user":{"login":"octocat"},"updated_at":"2026-03-04T05:06:07Z"},"issue":{"number":1},`+
		`"repository":{"id":1,"name":"hello","full_name":"octo/hello","owner":{"login":"octo"}},"sender":{"login":"octocat"},"installation":{"id":1}}`, "/agent fix it "+strings.Repeat("x", 8<<10))
	mac := hmac.New(sha256.New, []byte(hooked))
	mac.Write([]byte(body))
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	own, err := secret.DeriveKey(hooked, "own words")
	if err != nil {
		b.Fatal(err)
	}
	client, err := ghapp.New(ghapp.Config{Own: own, APIURL: "http://127.0.0.1:1", Token: "t"})
	if err != nil {
		b.Fatal(err)
	}
	heard, err := bot.New(bot.Config{Store: db.Store, GitHub: client, Runner: new(orders), Policy: policy.DefaultConfig(), Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	hook, err := webhook.New(webhook.Config{Secret: []byte(hooked), Intake: db.Deliveries, Parse: heard.Source})
	if err != nil {
		b.Fatal(err)
	}
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			w.WriteHeader(http.StatusAccepted)
		}
	})
	for name, h := range map[string]http.Handler{"handrail": hook, "bare": bare} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(h)
			defer server.Close()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				deliver(b, server, body, signature, len(took))
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func deliver(b *testing.B, server *httptest.Server, body, signature string, n int) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/webhook", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Event", "issue_comment")
	r.Header.Set("X-Github-Delivery", fmt.Sprintf("%08d-0000-4000-8000-%012d", b.N, n))
	r.Header.Set("X-Hub-Signature-256", signature)
	resp, err := server.Client().Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		b.Fatalf("%s", resp.Status)
	}
}
