package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// story is a whole world for one test: GitHub with a repository, a scripted
// model, and the server, with a person called "you" who may write.
type story struct {
	t     *testing.T
	gh    *ghcheck.Server
	model *llmtest.Server
	cfg   config.Server
	srv   *server
	log   *syncBuffer
	issue thread.Ref
	ghDir string // where the small GitHub keeps its repositories
	grace time.Duration

	pushed string // the head of a person's branch, before the bot came
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const storyRepo = "team/app"

// newStory starts everything. turns is the model's script, in YAML.
func newStory(t *testing.T, files map[string]string, turns string) *story {
	t.Helper()
	return newStoryOf(t, "{name: m, tools: true, context: 32768}", files, turns)
}

// newStoryOf is newStory with another model.
func newStoryOf(t *testing.T, model string, files map[string]string, turns string) *story {
	t.Helper()
	return startStory(t, "local", model, files, turns)
}

// newStoryIn is newStory with another workspace engine.
func newStoryIn(t *testing.T, engine string, files map[string]string, turns string) *story {
	t.Helper()
	return startStory(t, engine, "{name: m, tools: true, context: 32768}", files, turns)
}

func startStory(t *testing.T, engine, model string, files map[string]string, turns string) *story {
	t.Helper()
	s := &story{t: t, log: &syncBuffer{}, ghDir: t.TempDir()}
	script, err := llmtest.ParseScript([]byte("model: " + model + "\nturns:\n" + turns))
	if err != nil {
		t.Fatal(err)
	}
	s.model = llmcheck.Serve(t, script)
	if s.gh, err = ghcheck.New(ghtest.Config{Dir: s.ghDir}); err != nil {
		t.Fatal(err)
	}
	if err := s.gh.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if v := s.gh.Violations(); len(v) > 0 {
			t.Errorf("GitHub was spoken to wrongly: %v", v)
		}
		if err := s.gh.Close(); err != nil {
			t.Error(err)
		}
	})
	s.gh.AddUser("you", "write")
	s.gh.AddUser("stranger", "read")
	if _, err := s.gh.AddRepo("team", "app", ghtest.Source{Files: files}); err != nil {
		t.Fatal(err)
	}
	app := s.gh.App()
	s.cfg = config.Server{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Workspace: engine,
		GitHub: config.GitHub{API: s.gh.URL(), AppID: app.ID, Key: app.Key, WebhookSecret: secret.Value(app.WebhookSecret)},
		Model:  config.Model{Name: "m", Ollama: s.model.URL()},
	}
	s.start()
	t.Cleanup(s.stop)
	if s.issue, err = s.gh.OpenIssue(storyRepo, "you", "The greeting is wrong", "It says Helo."); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) start() {
	s.startWith(serverOptions{spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, grace: s.grace})
}

// restart ends the server and starts another one, with other options if
// change is not nil.
func (s *story) restart(change func(*serverOptions)) {
	s.t.Helper()
	s.stop()
	opt := serverOptions{spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond}
	if change != nil {
		change(&opt)
	}
	s.startWith(opt)
}

func (s *story) startWith(opt serverOptions) {
	s.t.Helper()
	w := &console{in: strings.NewReader(""), out: io.Discard, err: s.log, log: logger(s.log, "info"), version: "test"}
	var err error
	opt.unlimited, opt.ttl = true, patience
	s.srv, err = newServer(s.t.Context(), w, s.cfg, opt)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.srv.start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.gh.SetWebhook(s.srv.url() + "/webhook")
}

func (s *story) stop() {
	s.t.Helper()
	if s.srv == nil {
		return
	}
	// What people did so far reaches the server: without a webhook GitHub
	// drops it, and no sweep would find it.
	flush, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
	defer cancel()
	if err := s.gh.Flush(flush); err != nil {
		s.t.Errorf("flush events: %v", err)
	}
	s.gh.SetWebhook("")
	if err := s.srv.close(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Errorf("close server: %v", err)
	}
	s.srv = nil
	if s.t.Failed() {
		s.t.Logf("server log:\n%s", s.log)
	}
}

func (s *story) say(who, body string) {
	s.t.Helper()
	if _, err := s.gh.Comment(s.issue, who, body); err != nil {
		s.t.Fatal(err)
	}
}

// until waits for a comment of the bot that contains every one of words, and
// returns its body.
func (s *story) until(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var found string
	err := s.gh.Wait(ctx, func(gh *ghtest.Server) bool {
		at := gh.Thread(s.issue)
		comments := at.Comments
		if at.Pull != nil { // a request on a line is answered there
			comments = slices.Concat(comments, at.Pull.Comments)
		}
		for _, c := range comments {
			if c.Author == gh.App().Login && containsAllOf(c.Body, words) {
				found = c.Body
				return true
			}
		}
		return false
	})
	if err != nil {
		s.t.Fatalf("no comment of the bot has %q: %v\n%s", words, err, s.thread())
	}
	return found
}

func containsAllOf(body string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(body, w) {
			return false
		}
	}
	return true
}

func (s *story) thread() string {
	var b strings.Builder
	for _, c := range s.gh.Thread(s.issue).Comments {
		fmt.Fprintf(&b, "--- %s\n%s\n", c.Author, c.Body)
	}
	return b.String()
}

// done waits until the session is done and its pull request is there.
func (s *story) done() {
	s.t.Helper()
	s.until("**done**", "Pull request: #")
}

// request returns the id of the approval that is asked for.
func (s *story) request() string {
	s.t.Helper()
	_, rest, _ := strings.Cut(s.until("Approval `"), "Approval `")
	id, _, _ := strings.Cut(rest, "`")
	return id
}

// pull returns the one pull request.
func (s *story) pull() ghtest.Thread {
	s.t.Helper()
	var out []ghtest.Thread
	for _, t := range s.gh.Threads(storyRepo) {
		if t.Pull != nil {
			out = append(out, t)
		}
	}
	if len(out) != 1 {
		s.t.Fatalf("%d pull requests, want one\n%s", len(out), s.thread())
	}
	return out[0]
}

// file reads a file of a branch.
func (s *story) file(branch, path string) string {
	s.t.Helper()
	text, err := s.gh.File(storyRepo, branch, path)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// bot counts the bot's comments.
func (s *story) bot() int {
	n := 0
	for _, c := range s.gh.Thread(s.issue).Comments {
		if c.Author == s.gh.App().Login {
			n++
		}
	}
	return n
}

const (
	fixGreeting = `
- when: {has_tool: edit_file}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "The greeting is right now. [TASK_COMPLETE]"
`
	askThenFix = `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "The greeting is right now. [TASK_COMPLETE]"
`
)

var greeting = map[string]string{"greet.sh": "echo Helo\n", "build/out": "1\n"}

func TestCommentToPullRequest(t *testing.T) {
	t.Parallel()
	s := newStory(t, greeting, fixGreeting)
	s.say("you", "Could you look at this?\n\n/agent fix the greeting\n")
	s.until("**done**", "#2", "+1 −1")
	p := s.pull()
	if !p.Pull.Draft || !strings.Contains(p.Body, "Fixes #1") || p.Title != "Update greet.sh" {
		t.Errorf("pull request %q, draft %t:\n%s", p.Title, p.Pull.Draft, p.Body)
	}
	if got := s.file(p.Pull.HeadRef, "greet.sh"); got != "echo Hello\n" {
		t.Errorf("greet.sh on the branch = %q", got)
	}
	if got := s.file("main", "greet.sh"); got != "echo Helo\n" {
		t.Errorf("greet.sh on main = %q", got)
	}
	if r := s.gh.Thread(s.issue).Comments[0].Reactions; len(r) != 1 || r[0].Content != "eyes" {
		t.Errorf("reactions %v, want one 👀", r)
	}
	if n := s.bot(); n != 1 {
		t.Errorf("the bot wrote %d comments, want one that becomes the result\n%s", n, s.thread())
	}
	log, err := s.gh.Log(storyRepo, p.Pull.HeadSHA)
	if err != nil {
		t.Fatal(err)
	}
	for _, trailer := range []string{"Session: s", "Turn: 1", "Requested-by: you"} {
		if !strings.Contains(log[0], trailer) {
			t.Errorf("commit lacks %q:\n%s", trailer, log[0])
		}
	}
}

// A request survives the end of the server: the answer comes to another one.
func TestApprovalAcrossARestart(t *testing.T) {
	t.Parallel()
	s := newStory(t, greeting, askThenFix)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	if !strings.Contains(s.until("Approval `"), "rm -rf build") {
		t.Error("the request does not show the command")
	}
	s.until("**awaiting approval**")
	s.stop()
	s.start()
	s.say("you", "/agent approve "+id)
	s.done()
	p := s.pull()
	if _, err := s.gh.File(storyRepo, p.Pull.HeadRef, "build/out"); err == nil {
		t.Error("the approved command had no effect")
	}
	if got := s.file(p.Pull.HeadRef, "greet.sh"); got != "echo Hello\n" {
		t.Errorf("greet.sh = %q", got)
	}
}

func TestDenialReachesTheModel(t *testing.T) {
	t.Parallel()
	s := newStory(t, greeting, `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- when: {tool_result_contains: [denied, keep it for the release]}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Done without cleaning. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting and clean the build")
	s.say("you", "/agent deny "+s.request()+" keep it for the release")
	s.done()
	if got := s.file(s.pull().Pull.HeadRef, "build/out"); got != "1\n" {
		t.Errorf("build/out = %q after a denial", got)
	}
}

// A new wish withdraws what waits; the model is told, and goes on.
func TestNewInstructionWithdraws(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- when: {contains: [withdrawn, "leave the build alone"]}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Only the greeting. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.say("you", "/agent leave the build alone, just fix the greeting")
	s.done()
	s.say("you", "/agent approve "+id)
	s.until("`" + id + "` was withdrawn by you")
	if got := s.file(s.pull().Pull.HeadRef, "build/out"); got != "1\n" {
		t.Errorf("build/out = %q", got)
	}
}

// Another person pushes to the session's branch: nothing is overwritten and
// nothing is lost.
func TestPushIsRejected(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- calls: [{name: write_file, arguments: {path: more.txt, content: "more\n"}}]
- say: "Both are done. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting, clean the build and add more.txt")
	id := s.request()
	branch := ""
	for name := range s.gh.Branches(storyRepo) {
		if strings.HasPrefix(name, "agent/") {
			branch = name
		}
	}
	if _, err := s.gh.Push(storyRepo, branch, "you", map[string]string{"theirs.txt": "theirs\n"}); err != nil {
		t.Fatal(err)
	}
	s.say("you", "/agent approve "+id)
	// The branch is not what the approval was given for: it is asked again.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var second string
	err := s.gh.Wait(ctx, func(gh *ghtest.Server) bool {
		for _, c := range gh.Thread(s.issue).Comments {
			if _, rest, ok := strings.Cut(c.Body, "Approval `"); ok && !strings.HasPrefix(rest, id) {
				second, _, _ = strings.Cut(rest, "`")
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatalf("not asked again: %v\n%s", err, s.thread())
	}
	s.say("you", "/agent approve "+second)
	s.done()
	head := s.pull().Pull.HeadRef
	for path, want := range map[string]string{"greet.sh": "echo Hello\n", "more.txt": "more\n", "theirs.txt": "theirs\n"} {
		if got := s.file(head, path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

func TestLongestComment(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, `
- when: {user_contains: [the end of it]}
  calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]
- say: "Done. [TASK_COMPLETE]"
`)
	const tail = " the end of it"
	body := "/agent fix the greeting. " + strings.Repeat("long ", 65536/5)
	s.say("you", body[:65536-len(tail)]+tail)
	s.done()
}

func TestFollowUpContinues(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, fixGreeting+`
- when: {contains: ["fix the greeting", "also add a test"]}
  calls: [{name: write_file, arguments: {path: test.sh, content: "sh greet.sh | grep Hello\n"}}]
- say: "Added. [TASK_COMPLETE]"
`)
	s.say("you", "/agent fix the greeting")
	s.done()
	s.say("you", "/agent also add a test")
	s.until("**done**", "test.sh")
	p := s.pull()
	if got := s.file(p.Pull.HeadRef, "test.sh"); !strings.Contains(got, "grep Hello") {
		t.Errorf("test.sh = %q", got)
	}
}

func TestModelThatIsMissing(t *testing.T) {
	t.Parallel()
	s := newStory(t, greeting, "\n- {say: never, optional: true}\n")
	s.say("you", "/agent --model nowhere:7b fix the greeting")
	s.until("**failed**", "nowhere:7b", "ollama pull")
}

func TestEmptyRepository(t *testing.T) {
	t.Parallel()
	s := newStory(t, nil, "\n- {say: never, optional: true}\n")
	s.say("you", "/agent fix the greeting")
	s.until("could not start", "empty")
}

// Nothing that the bot keeps or writes holds its token.
func TestTokensStayInside(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, fixGreeting)
	s.say("you", "/agent fix the greeting")
	s.done()
	s.stop()
	bad := []string{"ghs_", string(s.gh.App().Key[40:80]), s.gh.App().WebhookSecret}
	check := func(where, text string) {
		for _, b := range bad {
			if strings.Contains(text, b) {
				t.Errorf("%s holds a secret (%.8s…)", where, b)
			}
		}
	}
	check("the log", s.log.String())
	check("the thread", s.thread())
	err := filepath.WalkDir(s.cfg.Data, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		check(p, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
