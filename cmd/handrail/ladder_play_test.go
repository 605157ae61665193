package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// A player does the tasks of the ladder with the contest's model, each in a repository in
// dir that is named for the task. It returns how it went, and the files it leaves.
type player struct {
	name string
	play func(t *testing.T, c contest, task *climb, dir string) (played, map[string]string)
}

// played is the result of one task.
type played struct {
	served
	Done    bool   // it says that it is done
	Said    string // how it ended, in its own words
	Wall    time.Duration
	Verdict ladderVerdict
	Lost    []string // files that it destroyed
}

func (p played) solved() bool { return p.Verdict.Visible && p.Verdict.Hidden }

var players = map[string]player{
	"handrail": {"handrail", playHandrail},
	"aider":    {"aider", playAider},
	"ask":      {"ask", playAsk},
}

// named are the files that the request names; a person would hand them to a program.
func (c *climb) named() []string {
	var out []string
	for p := range c.repo {
		if c.Rung != "files" && c.inScope(p) {
			out = append(out, p)
		}
	}
	return out
}

func playHandrail(t *testing.T, c contest, task *climb, dir string) (played, map[string]string) {
	t.Helper()
	repo := filepath.Join(dir, task.Name)
	s, m := c.session(t, dir, repo, task.Request)
	if keep := *ladderFlags.keep; keep != "" && task.Side == "tune" {
		must(t, os.CopyFS(filepath.Join(keep, task.Name), os.DirFS(filepath.Join(dir, "state", "handrail", "sessions"))))
	}
	p := played{served: m.sum(), Wall: s.Wall, Done: s.Status == session.StatusDone}
	p.Said = cmp.Or(string(s.Status), "no end") + " " + s.Reason
	if s.Turns > p.Asked {
		p.Asked = s.Turns
	}
	known := exec.CommandContext(t.Context(), "git", "-C", repo, "rev-parse", "-q", "--verify", "refs/heads/mended")
	if known.Run() != nil {
		return p, task.repo
	}
	left := filepath.Join(dir, "left")
	inGit(t, repo, "worktree", "add", "-q", left, "mended")
	files, err := filesBelow(left)
	must(t, err)
	return p, files
}

// aiderProgram is where testdata/ladder/README.md has it installed, if it is not in the path.
func aiderProgram(t *testing.T) string {
	t.Helper()
	if at, err := exec.LookPath("aider"); err == nil {
		return at
	}
	cache, err := os.UserCacheDir()
	must(t, err)
	at, err := exec.LookPath(filepath.Join(cache, "handrail-aider", "venv", "bin", "aider"))
	if err != nil {
		t.Fatalf("aider is not here (testdata/ladder/README.md says how to install it): %v", err)
	}
	return at
}

// playAider has aider do it, in the form that it recommends for small models. It
// commits nothing, which saves it the request for a message.
func playAider(t *testing.T, c contest, task *climb, dir string) (played, map[string]string) {
	t.Helper()
	m := &meter{}
	front := httptest.NewServer(m.before(c.server))
	defer front.Close()
	name, at := "ollama_chat/"+c.model, "OLLAMA_API_BASE="+front.URL
	if c.openAI {
		name, at = "openai/"+c.model, "OPENAI_API_BASE="+front.URL+c.server.Path
	}
	args := []string{
		"--model", name, "--edit-format", "whole", "--yes-always", "--no-auto-commits", "--no-gitignore", "--no-pretty",
		"--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-show-release-notes",
		"--message", task.Request,
	}
	ctx, cancel := context.WithTimeout(t.Context(), c.wall)
	defer cancel()
	cmd := exec.CommandContext(ctx, aiderProgram(t), append(args, task.named()...)...)
	cmd.Dir = filepath.Join(dir, task.Name)
	cmd.Env = append(os.Environ(), at, "LITELLM_LOCAL_MODEL_COST_MAP=True")
	if os.Getenv("OPENAI_API_KEY") == "" {
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY="+cmp.Or(os.Getenv("HANDRAIL_API_KEY"), "none"))
	}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	m.begin = time.Now()
	out, err := cmd.CombinedOutput()
	p := played{Wall: time.Since(m.begin), Said: "ended"}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Errorf("aider: %v", err)
	}
	if err != nil {
		p.Said = err.Error()
	}
	front.Close()
	p.served = m.sum()
	if p.Asked == 0 {
		t.Logf("aider asked nothing:\n%s", tailOf(string(out), 2000))
	}
	files, err := filesBelow(cmd.Dir)
	must(t, err)
	for path, text := range files {
		p.Done = p.Done || task.repo[path] != text // it has no word for it but an applied edit
	}
	return p, files
}

// playAsk is the plainest program that could work: it shows files, asks for whole files,
// writes them, runs the tests and shows their failures, twice.
func playAsk(t *testing.T, c contest, task *climb, dir string) (played, map[string]string) {
	t.Helper()
	m := &meter{begin: time.Now()}
	front := httptest.NewServer(m.before(c.server))
	defer front.Close()
	ctx, cancel := context.WithTimeout(t.Context(), c.wall)
	defer cancel()
	left, err := filesBelow(filepath.Join(dir, task.Name))
	must(t, err)
	var shown []string
	named := task.named()
	for p := range left {
		code := !testFile.MatchString(p) && !settingsFile.MatchString(p)
		if slices.Contains(named, p) || len(named) == 0 && code {
			shown = append(shown, p)
		}
	}
	slices.Sort(shown)
	var ask strings.Builder
	fmt.Fprintf(&ask, "%s\n\nFor each file that has to change write its path on a line "+
		"and then the whole new file in a fence.\n", task.Request)
	for _, p := range shown {
		fmt.Fprintf(&ask, "\n%s\n```\n%s```\n", p, left[p])
	}
	talk := []chatLine{{"user", ask.String()}}
	p := played{Said: "tests are red"}
	for try := range 3 {
		text, err := askModel(ctx, c, front.URL, talk)
		if err != nil {
			p.Said = err.Error()
			break
		}
		for at, text := range wholeFiles(text, left, shown) {
			left[at] = text
		}
		ok, said := true, ""
		if task.Test != "" {
			ok, said, err = task.try(ctx, filepath.Join(dir, fmt.Sprint("try", try)), left, nil)
			must(t, err)
		}
		if p.Done = ok; ok {
			p.Said = "done"
			break
		}
		talk = append(talk, chatLine{"assistant", text}, chatLine{"user", "The tests fail:\n\n" + tailOf(said, 1500)})
	}
	p.Wall = time.Since(m.begin)
	front.Close()
	p.served = m.sum()
	return p, left
}

type chatLine struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// askModel returns the model's answer. Both APIs stream objects, one a line.
func askModel(ctx context.Context, c contest, at string, talk []chatLine) (string, error) {
	body := map[string]any{"model": c.model, "messages": talk, "stream": true}
	if c.openAI {
		at += c.server.Path + "/chat/completions"
		body["temperature"], body["max_tokens"] = 0.2, 2048
	} else {
		at += "/api/chat"
		body["options"] = map[string]any{"temperature": 0.2, "num_ctx": 8192, "num_predict": 2048}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("HANDRAIL_API_KEY"); key != "" && c.openAI {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server says %s", resp.Status)
	}
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var part struct {
			Message chatLine
			Choices []struct{ Delta chatLine }
		}
		if json.Unmarshal(bytes.TrimPrefix(lines.Bytes(), []byte("data: ")), &part) != nil {
			continue // an empty line, or the end
		}
		text.WriteString(part.Message.Content)
		for _, choice := range part.Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	return text.String(), lines.Err()
}

var fenced = regexp.MustCompile("(?ms)^([^\n]*)\n+```([^\n]*)\n(.*?)^```")

// wholeFiles finds the files of an answer: each in a fence, whose path is in the line
// before it or in its first one. Without a path it is the only file that was shown.
func wholeFiles(answer string, have map[string]string, shown []string) map[string]string {
	out := map[string]string{}
	for _, m := range fenced.FindAllStringSubmatch("\n"+answer, -1) {
		at := ""
		for p := range have {
			if strings.Contains(m[1]+" "+m[2], path.Base(p)) && len(p) > len(at) {
				at = p
			}
		}
		if at == "" && len(shown) == 1 {
			at = shown[0]
		}
		if at != "" {
			out[at] = m[3]
		}
	}
	return out
}

// The plainest program goes on while visible tests fail, and its requests are measured.
func TestLadderAsk(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	var task *climb
	for _, c := range ladderTasks(t) {
		if c.Name == "03-pages" {
			task = c
		}
	}
	needInterpreter(t, task.Language)
	wrong := strings.Replace(task.repo["pages.py"], "def page(", "def no_page(", 1)
	answers := []string{
		"Here it is:\n\n```python\n" + wrong + "```\n",
		"Sorry.\n\n**pages.py**\n\n```python\n" + task.solution["pages.py"] + "```\nThat is all.",
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Messages []chatLine }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) != 2*asked+1 {
			t.Errorf("request %d has %d messages: %v", asked, len(in.Messages), err)
		}
		if last := in.Messages[len(in.Messages)-1].Content; asked == 1 && !strings.Contains(last, "ImportError") {
			t.Errorf("the model is told: %s", last)
		}
		for line := range strings.Lines(answers[asked]) {
			must(t, json.NewEncoder(w).Encode(map[string]any{"message": chatLine{"assistant", line}}))
		}
		must(t, json.NewEncoder(w).Encode(map[string]any{
			"done": true, "prompt_eval_count": 100, "eval_count": 20, "prompt_eval_duration": 1e9, "eval_duration": 2e9,
		}))
		asked++
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	must(t, err)
	came := climbOnce(t, contest{model: "m", server: at, wall: patience}, players["ask"], task)
	if !came.solved() || !came.Done || len(came.Lost) > 0 {
		t.Errorf("solved %t, done %t, destroyed %v:\n%s", came.solved(), came.Done, came.Lost, came.Verdict.Said)
	}
	if came.Asked != 2 || came.Prompt != 200 || came.Answer != 40 || came.Writing != 4*time.Second || came.First == 0 {
		t.Errorf("measured: %+v", came.served)
	}
	var all ascent
	all.add(task, came)
	if got, want := all.totals("ask"), "ask      line 1 of 1, function 0 of 0, files 0 of 0; in all 1 of 1; "+
		"0 files destroyed; done beside red tests 0, hidden tests fail 0\n"; got != want {
		t.Errorf("totals:\n%swant:\n%s", got, want)
	}
}
