package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/sessions"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// oldLogs holds what earlier versions left behind, a folder for each; its
// README says how they are made.
const oldLogs = "../../testdata/oldlogs"

// oldSession is one session as an earlier version left it. The titles of the
// issues tell the model which one it works on.
type oldSession struct {
	name  string
	wish  string   // the first comment
	state string   // when the version ended
	next  string   // what a person says now, "" for nothing; %s is the open request
	files []string // lines "path=content" of the branch in the end; "path" is not there
}

var oldSessions = []oldSession{
	{"approval", "/agent fix the greeting and clean the build", "awaiting approval", "/agent approve %s", []string{"greet.sh=echo Hello\n", "build/out"}},
	{"question", "/agent paint the door", "awaiting answer", "/agent blue", []string{"door.txt=blue\n"}},
	{"crash", "/agent note it", "running", "", []string{"notes.txt=noted\n"}},
	{"done", "/agent fix the greeting", "done", "/agent also add a note", []string{"greet.sh=echo Hello\n", "notes.txt=noted\n"}},
	{"stopped", "/agent fix the greeting and clean the build", "stopped", "/agent leave the build alone and add a note", []string{"notes.txt=noted\n", "build/out=1\n"}},
	{"budget", "/agent --turns 1 fix the greeting", "out of budget", "/agent budget +5", []string{"greet.sh=echo Hello\n", "notes.txt=noted\n"}},
	{"failed", "/agent note it down", "failed", "/agent retry", []string{"notes.txt=noted\n"}},
}

// oldModel says what the sessions are made of, by how far each has come.
const oldModel = `
model: {name: m, tools: true, context: 32768}
select: by-conditions
conversations:
- name: approval
  when: {contains: [The wish approval]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}, {name: run_terminal_command, arguments: {command: rm -rf build}}]}
  - {when: {turn: 1}, optional: true, repeat: true, say: "Both are done. [TASK_COMPLETE]"}
- name: question
  when: {contains: [The wish question]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: ask_followup_question, arguments: {question: "Which colour?", choices: [blue, red]}}]}
  - {when: {turn: 1, contains: [blue]}, optional: true, calls: [{name: write_file, arguments: {path: door.txt, content: "blue\n"}}]}
  - {when: {turn: 2}, optional: true, repeat: true, say: "It is blue. [TASK_COMPLETE]"}
- name: crash
  when: {contains: [The wish crash]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: run_terminal_command, arguments: {command: echo noted > notes.txt}}]}
  - {when: {turn: 1}, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
  - {when: {turn: 2}, optional: true, repeat: true, say: "It is noted. [TASK_COMPLETE]"}
- name: done
  when: {contains: [The wish done]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]}
  - {when: {turn: 1}, optional: true, say: "The greeting is right now. [TASK_COMPLETE]"}
  - {when: {turn: 2}, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
  - {when: {turn: 3}, optional: true, repeat: true, say: "It is noted. [TASK_COMPLETE]"}
- name: stopped
  when: {contains: [The wish stopped]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]}
  - {when: {turn: 1}, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
  - {when: {turn: 2}, optional: true, repeat: true, say: "It is noted. [TASK_COMPLETE]"}
- name: budget
  when: {contains: [The wish budget]}
  turns:
  - {when: {turn: 0}, optional: true, calls: [{name: edit_file, arguments: {path: greet.sh, old_string: Helo, new_string: Hello}}]}
  - {when: {turn: 1}, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
  - {when: {turn: 2}, optional: true, repeat: true, say: "Both are done. [TASK_COMPLETE]"}
- name: failed
  when: {contains: [The wish failed]}
  turns:
FAILED
  - {when: {turn: 0}, optional: true, calls: [{name: write_file, arguments: {path: notes.txt, content: "noted\n"}}]}
  - {when: {turn: 1}, optional: true, repeat: true, say: "It is noted. [TASK_COMPLETE]"}
`

// oldScript is the model of the version that ended, or of the one that goes
// on: the first one fails a session.
func oldScript(t *testing.T, fails bool) *llmtest.Server {
	t.Helper()
	turn := ""
	if fails {
		turn = `  - {when: {turn: 0}, repeat: true, misbehave: {status: 400, error: "the model is broken"}}`
	}
	script, err := llmtest.ParseScript([]byte(strings.Replace(oldModel, "FAILED", turn, 1)))
	must(t, err)
	return llmcheck.Serve(t, script)
}

// TestOldLogs opens what each earlier version left in each kind of store,
// verifies it, and brings every session to its end.
func TestOldLogs(t *testing.T) {
	longtest.Leave(t)
	if *writeOldLogs != "" {
		writeOld(t, filepath.Join(oldLogs, *writeOldLogs))
	}
	folders, err := filepath.Glob(oldLogs + "/*/threads-sqlite.json")
	must(t, err)
	if len(folders) == 0 {
		t.Fatal("no logs of earlier versions")
	}
	for _, f := range folders {
		dir := filepath.Dir(f)
		for store, open := range map[string]func(*testing.T, string) *oldStory{
			"sqlite": openOldFile, "postgres": openOldPostgres, "ref": openOldRefs, "file": openOldExports,
		} {
			t.Run(filepath.Base(dir)+"/"+store, func(t *testing.T) {
				t.Parallel()
				s := open(t, dir)
				s.verify()
				s.startThen(dir)
				for i := range oldSessions {
					s.goOn(i)
				}
			})
		}
		t.Run(filepath.Base(dir)+"/run", func(t *testing.T) { goOnWithRun(t, dir) })
	}
}

// oldStory is a server of today on what an earlier version left.
type oldStory struct {
	*story

	byHand bool // nothing goes on before a person says so: the logs were imported
}

// openOld restores GitHub as it was; the database is added to it.
func openOld(t *testing.T, dir, kind string) *oldStory {
	t.Helper()
	model := oldScript(t, false)
	s := &oldStory{story: &story{t: t, log: &syncBuffer{}, model: model, gh: restoreGitHub(t, dir, kind)}}
	app := s.gh.App()
	s.cfg = config.Server{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Workspace: "local",
		GitHub: config.GitHub{API: s.gh.URL(), AppID: app.ID, Key: app.Key, WebhookSecret: secret.Value(app.WebhookSecret)},
		Model:  config.Model{Name: "m", Ollama: model.URL()},
	}
	t.Cleanup(s.stop)
	return s
}

// startThen starts the server as if no more than minutes had passed since the logs
// were written: what waited for an answer then still does.
func (s *oldStory) startThen(dir string) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "approval.jsonl"))
	must(s.t, err)
	_, events, err := threadref.ReadText(data)
	must(s.t, err)
	since := time.Since(events[len(events)-1].Time)
	s.startWith(serverOptions{
		spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond,
		now: func() time.Time { return time.Now().Add(-since) },
	})
}

func openOldFile(t *testing.T, dir string) *oldStory {
	s := openOld(t, dir, "sqlite")
	must(t, os.WriteFile(filepath.Join(s.cfg.Data, "handrail.db"), unzip(t, filepath.Join(dir, "handrail.db.gz")), 0o600))
	return s
}

func openOldPostgres(t *testing.T, dir string) *oldStory {
	server := storetest.StartPostgres(t, false)
	s := openOld(t, dir, "postgres")
	s.cfg.Database = server.Restore(t, unzip(t, filepath.Join(dir, "handrail.sql.gz")))
	return s
}

// openOldExports imports exported logs into a new database.
func openOldExports(t *testing.T, dir string) *oldStory {
	s := openOld(t, dir, "sqlite")
	for _, old := range oldSessions {
		s.imported(filepath.Join(dir, old.name+".jsonl"))
	}
	s.byHand = true
	return s
}

func (s *oldStory) imported(place string) {
	s.t.Helper()
	ok(s.t, "sessions", "import", place, "--database", filepath.Join(s.cfg.Data, "handrail.db"))
}

// openOldRefs reads the logs in refs of sessions, and imports them into a new database.
func openOldRefs(t *testing.T, dir string) *oldStory {
	s := openOld(t, dir, "sqlite")
	path := filepath.Join(t.TempDir(), "r.git")
	gitRun(t, "init", "--quiet", "--bare", path)
	bundle, err := filepath.Abs(filepath.Join(dir, "refs.bundle"))
	must(t, err)
	gitRun(t, "-C", path, "fetch", "--quiet", bundle, "+refs/agent/*:refs/agent/*")
	at := threadref.GitAddress + path
	must(t, sessions.WithRepository(t.Context(), &door.Console{Log: logger(s.log, "error")}, at, func(r *threadref.Repository) error {
		found, err := r.Sessions(t.Context())
		must(t, err)
		if len(found) != len(oldSessions) {
			t.Errorf("%d refs of sessions, want %d", len(found), len(oldSessions))
		}
		for _, s := range found {
			id := s.Row.ID
			events, err := threadref.Log(t.Context(), r, id)
			must(t, err)
			if err := session.Verify(events); err != nil || len(events) == 0 {
				t.Errorf("session %s has %d events: %v", id, len(events), err)
			}
		}
		return nil
	}))
	gitRun(t, "-C", path, "fetch", "--quiet", bundle, "+refs/agent/*:refs/agent/*")
	for _, id := range strings.Fields(gitRun(t, "-C", path, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/agent")) {
		s.imported(at + "#" + id)
	}
	s.byHand = true
	return s
}

// verify checks the hash chain of every log, and what its events add up to.
func (s *oldStory) verify() {
	s.t.Helper()
	database := s.cfg.Database
	if database == "" {
		database = filepath.Join(s.cfg.Data, "handrail.db")
	}
	if out := ok(s.t, "audit", "verify", "--database", database); strings.Count(out, " events: ok, ") != len(oldSessions) {
		s.t.Errorf("audit verify says:\n%s", out)
	}
	s.look(func(db store.Store) {
		for i, old := range oldSessions {
			row, err := db.Sessions.ByThread(s.t.Context(), oldThread(i).Key())
			must(s.t, err)
			v, err := stateOf(s.t.Context(), db.Logs, row.ID)
			must(s.t, err)
			if got := string(v.Phase); got != old.state {
				s.t.Errorf("the session %s is %q, want %q", old.name, got, old.state)
			}
		}
	})
}

func oldThread(i int) thread.Ref { return thread.Ref{Owner: "team", Repo: "app", Number: i + 1} }

// goOn says what is to be said in a thread, and waits for the end of the
// session there.
func (s *oldStory) goOn(i int) {
	s.t.Helper()
	old := oldSessions[i]
	s.issue = oldThread(i)
	words := old.next
	if words == "" && s.byHand {
		words = "/agent resume"
	}
	end := []string{"**done**", "Pull request: #"}
	if s.byHand {
		end = end[:1] // an imported log does not say what the branch is for
	}
	if strings.Contains(words, "%s") {
		s.approve(end...)
	} else if words != "" {
		s.say("you", words)
	}
	for _, f := range old.files {
		path, want, there := strings.Cut(f, "=")
		s.wait(old.name+": "+f, func() bool {
			got, err := s.gh.File(storyRepo, oldBranch(i), path)
			return there && err == nil && got == want || !there && err != nil
		})
	}
	s.until(end...)
}

func oldBranch(i int) string {
	return fmt.Sprintf("agent/%d-the-wish-%s", i+1, oldSessions[i].name)
}

// goOnWithRun goes on with a session of the command line that was killed.
func goOnWithRun(t *testing.T, dir string) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	data, err := os.ReadFile(filepath.Join(dir, "run.jsonl"))
	must(t, err)
	id, events, err := threadref.ReadText(data)
	must(t, err)
	for _, e := range events {
		if e.Type == session.TypeResult {
			t.Error("the log has a result: the run was not cut off")
		}
	}
	sessions, err := local.Dir()
	must(t, err)
	must(t, os.MkdirAll(sessions, 0o700))
	must(t, os.WriteFile(filepath.Join(sessions, id+".jsonl"), data, 0o600))
	clone := filepath.Join(t.TempDir(), "clone")
	gitRun(t, "clone", "--quiet", "--branch", "main", filepath.Join(dir, "repo-sqlite.bundle"), clone)
	model := oldScript(t, false)
	t.Setenv("OLLAMA_HOST", model.URL())
	out := ok(t, "run", "--repo", clone, "--session", id, "--workspace", "local", "--model", "m")
	v, err := viewOfFile(filepath.Join(sessions, id+".jsonl"))
	must(t, err)
	if got := gitRun(t, "-C", clone, "show", v+":notes.txt"); got != "noted\n" {
		t.Errorf("notes.txt is %q after\n%s", got, out)
	}
}

// viewOfFile returns the branch of the session whose log is in a file.
func viewOfFile(path string) (string, error) {
	_, events, err := sessions.ReadFile(path)
	if err != nil {
		return "", err
	}
	opened, err := session.Decode[session.Opened](events[0])
	return opened.Task.Branch, err
}

// TestNewerLog refuses what a newer version exported or wrote, and says what
// to do. The databases of newer versions are refused in their packages.
func TestNewerLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	refused := func(words string, args ...string) {
		t.Helper()
		code, out := verb(t, "", args...)
		if code == exitDone || !strings.Contains(out, words+" is not known, this version reads up to 1: use a newer version") {
			t.Errorf("%s: exit %d, %s", args[0], code, out)
		}
	}
	must(t, os.WriteFile(path, []byte(`{"handrail":"session log","form":2,"session":"s1"}`+"\n"), 0o600))
	for _, args := range [][]string{{"replay", path}, {"audit", "verify", path}, {"sessions", "import", path, "--data", t.TempDir()}} {
		refused("form 2", args...)
	}
	opened := session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1"}})
	opened.V = 2
	session.Chain(0, "", []*session.Event{opened})
	var text bytes.Buffer
	must(t, store.WriteLog(&text, "s1", []session.Event{*opened}))
	must(t, os.WriteFile(path, text.Bytes(), 0o600))
	refused("opened event 1: form 2", "replay", path)
}

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	zip, err := gzip.NewReader(f)
	must(t, err)
	data, err := io.ReadAll(zip)
	must(t, err)
	return data
}
