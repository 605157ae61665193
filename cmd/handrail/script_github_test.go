package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
)

// stage is what a script about GitHub plays on: a small GitHub with one
// repository, and the server as a process of its own.
type stage struct {
	t      *testing.T
	test   interface{ Failed() bool } // of this story
	gh     *ghcheck.Server
	names  *names
	args   []string // of serve
	data   string   // directory of its records
	env    []string // what serve finds there of GitHub
	server *exec.Cmd
	ended  chan error // how the server ended
	sent   int        // deliveries that the script made

	url          string // of the server
	unreachable  bool   // for GitHub
	installation int64
	model        *front // where the model is reached
	workflows    *runner
	begun        *beginning // handrail init
	act          *actRunner // that runs workflows; nil for the action alone

	breaks func(route string) ghcheck.Break // of GitHub's answers; nil for none

	counted map[string]int // events that counts saw, by thread
}

type stageKey struct{}

// scriptVerb is a command of a script.
type scriptVerb struct {
	name, usage string
	least, most int // arguments
	run         func(*stage, *testscript.TestScript, []string) error
}

// patience is the time limit of a wait. It is reached only by a hang, and measures no speed.
const patience = 10 * time.Minute

// patience is longer where each run has a runner to start.
func (s *stage) patience() time.Duration {
	if s.act != nil {
		return 3 * patience
	}
	return patience
}

// githubVerbs are the commands of a script for GitHub and the server. They are
// described in testdata/script/README.md.
func githubVerbs(t *testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	verbs := map[string]func(*testscript.TestScript, bool, []string){}
	for _, v := range slices.Concat(outages, others, forks, counting, signing, actions, operators, firstHour, []scriptVerb{
		{"github", "DIR", 1, 1, (*stage).open},
		{"person", "USER ROLE", 2, 2, (*stage).person},
		{"issue", "USER TITLE [TEXT | -file FILE]", 2, 4, (*stage).issue},
		{"protect", "BRANCH", 1, 1, (*stage).protect},
		{"serve", "[FLAG...]", 0, 9, (*stage).serve},
		{"restart", "[kill]", 0, 1, (*stage).restart},
		{"comment", "USER NUMBER TEXT | USER NUMBER -file FILE", 3, 4, (*stage).comment},
		{"edit", "USER NUMBER COMMENT TEXT", 4, 4, (*stage).edit},
		{"review", "USER NUMBER approve|request_changes|comment [TEXT]", 3, 4, (*stage).review},
		{"pull", "USER BRANCH TITLE [TEXT [BASE]]", 3, 5, (*stage).pull},
		{"inline", "USER NUMBER FILE:LINE TEXT | USER NUMBER FILE:LINE -file FILE", 4, 5, (*stage).inline},
		{"uninline", "USER NUMBER FILE:LINE", 3, 3, (*stage).uninline},
		{"resolve", "USER NUMBER FILE:LINE", 3, 3, (*stage).resolve},
		{"check", "NUMBER NAME CONCLUSION", 3, 3, (*stage).check},
		{"draft", "USER NUMBER", 2, 2, (*stage).draft},
		{"react", "USER NUMBER COMMENT CONTENT", 4, 4, (*stage).react},
		{"merge", "USER NUMBER", 2, 2, (*stage).merge},
		{"reword", "USER NUMBER title|text TEXT", 4, 4, (*stage).reword},
		{"label", "USER NUMBER NAME", 3, 3, (*stage).label},
		{"token", "USER", 1, 1, (*stage).token},
		{"again", "EVENT PATH=VALUE...", 1, 9, (*stage).again},
		{"close", "USER NUMBER", 2, 2, (*stage).close},
		{"push", "USER BRANCH FILE...", 3, 99, (*stage).push},
		{"history", "USER SUBJECT...", 2, 99, (*stage).history},
		{"ci", "BRANCH JOB NAME CONCLUSION FILE", 5, 5, (*stage).ci},
		{"thread", "NUMBER", 1, 1, (*stage).thread},
		{"until", "NUMBER PATTERN", 2, 2, (*stage).until},
		{"pulls", "", 0, 0, (*stage).pulls},
		{"branch", "BRANCH", 1, 1, (*stage).branch},
		{"file", "[NAME:]BRANCH PATH", 2, 2, (*stage).file},
	}) {
		verbs[v.name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) < v.least || len(args) > v.most {
				ts.Fatalf("usage: %s %s", v.name, v.usage)
			}
			s, ok := ts.Value(stageKey{}).(*stage)
			if !ok || s.gh == nil && v.name != "github" {
				ts.Fatalf("%s: there is no GitHub yet; begin with github DIR", v.name)
			}
			s.t = t
			late().delay()
			fmt.Fprint(ts.Stdout()) // a verb that prints nothing leaves nothing of the one before
			switch err := v.run(s, ts, args); {
			case err != nil && !neg:
				ts.Fatalf("%s: %v", v.name, err)
			case err == nil && neg:
				ts.Fatalf("%s succeeded, and should not", v.name)
			}
		}
	}
	return verbs
}

// storyServe is `handrail serve` without the pauses that are there for the
// real GitHub. Leases outlast any wait of a busy machine: with a lost one the session would go
// on in a new workspace; see [stage.letGo] for those of a killed server. Work that begins to end
// when the server does is waited for, for nearly as long as the server has. Searches that find
// nothing in most stories are rare: in a server that waits they are all of its work.
func storyServe() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	opt := serverOptions{unlimited: true, spacing: -1, again: 50 * time.Millisecond, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, ttl: patience, grace: 20 * time.Second}
	opt.sweep, opt.missed, opt.watch = 500*time.Millisecond, 1500*time.Millisecond, 2400*time.Millisecond
	if k := late(); k != nil {
		opt.wrap, opt.transport = k.wrap, killTransport{k, http.DefaultTransport}
	}
	return execute(ctx, append([]string{"serve"}, os.Args[1:]...), &console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, version: "test", options: opt,
	})
}

const scriptRepository = "team/app"

// storyFiles returns the files of a directory of the story.
func storyFiles(ts *testscript.TestScript, dir string) (map[string]string, error) {
	files := map[string]string{}
	tree := os.DirFS(ts.MkAbs(dir))
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		files[name] = string(text)
		return err
	})
	return files, err
}

func (s *stage) open(ts *testscript.TestScript, args []string) error {
	files, err := storyFiles(ts, args[0])
	if err != nil {
		return err
	}
	if s.gh, err = ghcheck.New(ghtest.Config{Dir: ts.MkAbs(".github")}); err != nil {
		return err
	}
	if err := s.gh.Start(); err != nil {
		return err
	}
	s.gh.SetBreaks(s.breaks)
	s.names = newNames(s.gh.URL())
	ts.Defer(func() {
		s.noModelsWords(ts)
		for _, v := range s.gh.Violations() {
			s.t.Errorf("%s: GitHub was spoken to wrongly: %s", ts.Name(), v)
		}
		if err := s.gh.Close(); err != nil {
			s.t.Errorf("%s: %v", ts.Name(), err)
		}
	})
	for who, role := range map[string]string{"kim": "write", "sam": "write", "stranger": "read"} {
		s.gh.AddUser(who, role)
	}
	if s.installation, err = s.gh.AddRepo("team", "app", ghtest.Source{Files: files}); err != nil {
		return err
	}
	s.data = ts.MkAbs(".handrail")
	app := s.gh.App()
	if err := os.WriteFile(ts.MkAbs(".app.pem"), app.Key, 0o600); err != nil {
		return err
	}
	s.env = []string{
		"HANDRAIL_GITHUB_API=" + s.gh.URL(), "HANDRAIL_APP_ID=" + strconv.FormatInt(app.ID, 10), "HANDRAIL_PRIVATE_KEY_FILE=" + ts.MkAbs(".app.pem"),
		"HANDRAIL_WEBHOOK_SECRET=" + app.WebhookSecret, "HANDRAIL_LISTEN=127.0.0.1:0", "HANDRAIL_DATA=" + ts.MkAbs(".handrail"), "HANDRAIL_WORKSPACE=local",
	}
	return nil
}

func (s *stage) person(_ *testscript.TestScript, args []string) error {
	s.gh.AddUser(args[0], args[1])
	return nil
}

func (s *stage) issue(ts *testscript.TestScript, args []string) error {
	text := strings.Join(args[2:], "")
	if len(args) == 4 && args[2] == "-file" {
		text = ts.ReadFile(args[3])
	}
	_, err := s.gh.OpenIssue(scriptRepository, args[0], args[1], text)
	return err
}

func (s *stage) protect(_ *testscript.TestScript, args []string) error {
	return s.gh.Protect(scriptRepository, args[0], ghcheck.Protection{})
}

func (s *stage) serve(ts *testscript.TestScript, args []string) error {
	if s.server != nil {
		return errors.New("it runs already")
	}
	s.args = args
	ts.Defer(func() {
		if err := errors.Join(s.lastAnswers(), s.end(syscall.SIGTERM)); err != nil {
			s.t.Errorf("%s: %v", ts.Name(), err)
		}
	})
	return s.start(ts)
}

// lastAnswers waits at the end of a story until the model was asked for all of its answers. The
// effect that the story waited for last may come before them, and a server that ends waits for
// work only for a while.
func (s *stage) lastAnswers() error {
	if s.server == nil || s.model == nil || s.test == nil || s.test.Failed() {
		return nil
	}
	ctx, stop := s.waiting()
	defer stop()
	return s.model.served(ctx)
}

// start starts the server and tells GitHub where it is.
func (s *stage) start(ts *testscript.TestScript) error {
	log, err := os.OpenFile(ts.MkAbs("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("handrail-serve", s.args...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "OLLAMA_HOST", "HANDRAIL_MODEL"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(append(cmd.Env, s.env...), lateness+"="+os.Getenv(lateness))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.server, s.ended = cmd, make(chan error, 1)
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { s.ended <- cmd.Wait() }()
	_, rest, _ := strings.Cut(line, " listens on ")
	url, _, ok := strings.Cut(rest, " ")
	if !ok {
		said, _ := os.ReadFile(ts.MkAbs("server.log"))
		return fmt.Errorf("the server did not start: %w\n%s%s", err, line, said)
	}
	s.url = url
	if !s.unreachable {
		s.gh.SetWebhook(url + "/webhook")
	}
	return nil
}

// end ends the server after it has heard what people did so far.
func (s *stage) end(how syscall.Signal) error {
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.gh.Flush(ctx); err != nil {
		return err
	}
	server := s.server
	s.server = nil
	if err := server.Process.Signal(how); err != nil {
		return err
	}
	select {
	case err := <-s.ended:
		if how == syscall.SIGTERM && err != nil {
			return fmt.Errorf("the server did not end well: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server does not end: %w", server.Process.Kill())
	}
}

func (s *stage) restart(ts *testscript.TestScript, args []string) error {
	how := syscall.SIGTERM
	switch {
	case len(args) == 1 && args[0] == "kill":
		how = syscall.SIGKILL
	case len(args) == 1:
		return fmt.Errorf("%q: write kill, or nothing", args[0])
	}
	if s.server == nil {
		return errors.New("no server runs; begin with serve")
	}
	if err := s.end(how); err != nil {
		return err
	}
	if how == syscall.SIGKILL {
		if err := s.letGo(); err != nil {
			return err
		}
	}
	return s.start(ts)
}

// letGo ends the leases of a server that was killed, as their time would.
func (s *stage) letGo() error {
	db, err := sql.Open("sqlite", filepath.Join(s.data, "handrail.db"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), "UPDATE leases SET until = 1 WHERE owner <> ''")
	return errors.Join(err, db.Close())
}

// ref returns the thread of a number, or of "owner/name#number" in another repository.
func (s *stage) ref(number string) (thread.Ref, error) {
	if strings.Contains(number, "#") {
		return thread.Parse(number)
	}
	return thread.Parse(scriptRepository + "#" + number)
}

func (s *stage) comment(ts *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	text := args[2]
	if text == "-file" {
		text = ts.ReadFile(args[3])
	}
	if _, err := s.gh.Comment(at, args[0], s.names.real(text)); err != nil {
		return err
	}
	fmt.Fprintln(ts.Stdout(), len(s.gh.Thread(at).Comments))
	return nil
}

func (s *stage) edit(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if list := s.gh.Thread(at).Comments; err == nil && n > 0 && n <= len(list) {
		return s.gh.EditComment(at, list[n-1].ID, args[0], s.names.real(args[3]))
	}
	return fmt.Errorf("%s has no comment %s", at, args[2])
}

func (s *stage) review(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	_, err = s.gh.Review(at, args[0], ghcheck.NewReview{Event: strings.ToUpper(args[2]), Body: s.names.real(strings.Join(args[3:], ""))})
	return err
}

func (s *stage) merge(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.Merge(at, args[0])
}

func (s *stage) close(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	return s.gh.CloseThread(at, args[0])
}

func (s *stage) push(ts *testscript.TestScript, args []string) error {
	branch, err := s.oneBranch(scriptRepository, args[1])
	if err != nil {
		branch = args[1] // a new one
	}
	files := map[string]string{}
	for _, name := range args[2:] {
		files[name] = ts.ReadFile(name)
	}
	_, err = s.gh.Push(scriptRepository, branch, args[0], files)
	return err
}

// history makes a commit on main for each subject.
func (s *stage) history(_ *testscript.TestScript, args []string) error {
	for i, subject := range args[1:] {
		files := map[string]string{"history.txt": fmt.Sprintln(i, subject)}
		if _, err := s.gh.PushAs(scriptRepository, "main", args[0], subject, files); err != nil {
			return err
		}
	}
	return nil
}

// oneBranch is the one branch that matches a pattern.
func (s *stage) oneBranch(repository, pattern string) (string, error) {
	all := slices.Sorted(maps.Keys(s.gh.Branches(repository)))
	found := slices.DeleteFunc(slices.Clone(all), func(b string) bool {
		ok, err := path.Match(s.names.real(pattern), b)
		return err != nil || !ok
	})
	if len(found) != 1 {
		return "", fmt.Errorf("%d branches match %s; there are %s", len(found), pattern, strings.Join(all, ", "))
	}
	return found[0], nil
}

func (s *stage) thread(ts *testscript.TestScript, args []string) error {
	text, err := s.seen(args[0])
	fmt.Fprint(ts.Stdout(), text)
	return err
}

// seen is a thread as a reader sees it, in names that do not change.
func (s *stage) seen(number string) (string, error) {
	text, err := s.raw(number)
	return s.names.stable(text), err
}

// raw is what a thread shows, with all that is different in every run.
func (s *stage) raw(number string) (string, error) {
	at, err := s.ref(number)
	if err != nil {
		return "", err
	}
	t := s.gh.Thread(at)
	if t.Ref.Number == 0 {
		return "", fmt.Errorf("there is no #%s", number)
	}
	return page(t, s.gh.Checks(at.Repository())), nil
}

func (s *stage) until(ts *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	ctx, stop := s.waiting()
	defer stop()
	var raw, text string
	if err := s.gh.Wait(ctx, func(*ghtest.Server) bool {
		now, err := s.raw(args[0])
		if err != nil || now == raw { // most changes are of other things
			return false
		}
		raw, text = now, s.names.stable(now)
		return pattern.MatchString(text)
	}); err != nil {
		said, _ := os.ReadFile(ts.MkAbs("server.log"))
		return fmt.Errorf("#%s does not come to show %q: %w\n%s\nThe server said:\n%s", args[0], args[1], context.Cause(ctx), text, said)
	}
	fmt.Fprint(ts.Stdout(), text)
	return nil
}

func (s *stage) pulls(ts *testscript.TestScript, _ []string) error {
	for _, t := range s.gh.Threads(scriptRepository) {
		if t.Pull != nil {
			fmt.Fprintln(ts.Stdout(), s.names.stable(headline(t)))
		}
	}
	return nil
}

func (s *stage) branch(ts *testscript.TestScript, args []string) error {
	name, err := s.oneBranch(scriptRepository, args[0])
	if err != nil {
		return err
	}
	log, err := s.gh.Log(scriptRepository, name)
	fmt.Fprintln(ts.Stdout(), s.names.stable(name))
	for _, message := range log {
		fmt.Fprintln(ts.Stdout(), "\n"+s.names.stable(message))
	}
	return err
}

func (s *stage) file(ts *testscript.TestScript, args []string) error {
	repository, pattern, there := strings.Cut(args[0], ":")
	if !there {
		repository, pattern = scriptRepository, args[0]
	}
	name, err := s.oneBranch(repository, pattern)
	if err != nil {
		return err
	}
	text, err := s.gh.File(repository, name, args[1])
	fmt.Fprint(ts.Stdout(), text)
	return err
}
