package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

//go:embed all:demodata
var demoData embed.FS

type demoCmd struct {
	Workspace string        `default:"auto" help:"Where tools run: docker, bwrap, local (no wall) or unix:SOCKET. auto takes docker, then bwrap."`
	Model     string        `placeholder:"NAME" help:"Use this model of the Ollama at OLLAMA_HOST instead of the recorded one."`
	Dir       string        `type:"path" placeholder:"DIR" help:"Where to keep everything; a temporary directory that is removed otherwise."`
	Timeout   time.Duration `default:"2m" help:"Give up after this long."`
}

// Run runs the demo. It fails if any step fails.
func (c *demoCmd) Run(ctx context.Context, w *console) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "handrail-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	d := &demo{cmd: c, w: w, dir: dir, seen: map[string]string{}}
	if !w.log.Enabled(ctx, slog.LevelInfo) { // a failure is reported once, with its remedy
		d.w = &console{
			in:      w.in,
			out:     w.out,
			err:     w.err,
			raw:     w.raw,
			log:     slog.New(slog.DiscardHandler),
			logs:    w.logs,
			version: w.version,
		}
	}
	defer func() { err = errors.Join(err, d.close(context.WithoutCancel(ctx))) }()
	if err := d.start(ctx); err != nil {
		return err
	}
	return d.tell(ctx)
}

// demo runs a fake GitHub, a model server and the bot on this machine.
type demo struct {
	cmd    *demoCmd
	w      *console
	dir    string
	gh     *ghtest.Server
	model  *llmtest.Server
	server *server
	begin  time.Time
	seen   map[string]string // printed text of each comment
}

const (
	demoRepo   = "demo/slugs"
	demoPerson = "you"
)

func (d *demo) start(ctx context.Context) error {
	d.begin = time.Now()
	var err error
	if d.gh, err = ghtest.New(ghtest.Config{Dir: filepath.Join(d.dir, "github"), Log: d.w.log}); err != nil {
		return err
	}
	if err := d.gh.Start(); err != nil {
		return err
	}
	d.gh.AddUser(demoPerson, "write")
	files, err := demoFiles()
	if err != nil {
		return err
	}
	if _, err := d.gh.AddRepo("demo", "slugs", ghtest.Source{Files: files}); err != nil {
		return err
	}
	cfg, err := d.config()
	if err != nil {
		return err
	}
	opts := serverOptions{
		unlimited: true, spacing: -1, settle: time.Second, every: 300 * time.Millisecond,
		spare: action.Machine(os.Environ()),
	}
	d.server, err = newServer(ctx, d.w, cfg, opts)
	if errors.Is(err, workspace.ErrNoEngine) && d.cmd.Model == "" { // not with --model: such a model may run anything
		d.say(
			"No sandbox can be used on this machine, so the story plays without a wall, as with --workspace local:\nits commands are its own. `handrail doctor machine` lists the missing parts.\n",
		)
		cfg.Workspace = "local"
		d.server, err = newServer(ctx, d.w, cfg, opts)
	}
	if err != nil {
		return err
	}
	if err := d.server.start(ctx); err != nil {
		return err
	}
	d.gh.SetWebhook(d.server.url() + "/webhook")
	d.say("GitHub      %s   (a small one, in this process)", d.gh.URL())
	d.say("repository  %s/%s.git", d.gh.URL(), demoRepo)
	d.say("model       %s at %s", cfg.Model.Name, cfg.Model.Ollama)
	d.say("bot         %s", d.server.url())
	if d.server.onMachine {
		d.say(
			"workspace   %s, with the programs of this machine: there is no image %s",
			d.server.workspace,
			workspace.DefaultImage,
		)
	} else {
		d.say("workspace   %s", d.server.workspace)
	}
	d.say("files       %s\n", d.dir)
	return nil
}

// demoFiles returns the files of the repository: a real bug and a failing test.
func demoFiles() (map[string]string, error) {
	files := map[string]string{}
	root := "demodata/repo"
	err := fs.WalkDir(demoData, root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := demoData.ReadFile(p)
		files[strings.TrimPrefix(p, root+"/")] = string(data)
		return err
	})
	return files, err
}

// config returns the configuration that an operator would write for this server.
func (d *demo) config() (config.Server, error) {
	app := d.gh.App()
	cfg := config.Server{
		Listen: "127.0.0.1:0", Data: filepath.Join(d.dir, "bot"), Workspace: d.cmd.Workspace,
		GitHub: config.GitHub{API: d.gh.URL(), AppID: app.ID, Key: app.Key, WebhookSecret: secret.Value(app.WebhookSecret)},
		Model:  config.Model{Name: d.cmd.Model, Ollama: os.Getenv("OLLAMA_HOST")},
		Policy: policy.DefaultConfig(),
	}
	cfg.Policy.Workspace.Pull = "never"      // no network
	cfg.Policy.Commands.Ask = []string{"rm"} // in a sandbox only this command needs an approval
	if d.cmd.Model != "" {
		return cfg, cfg.Check()
	}
	text, err := demoData.ReadFile("demodata/model.yaml")
	if err != nil {
		return cfg, err
	}
	script, err := llmtest.ParseScript(text)
	if err != nil {
		return cfg, err
	}
	if d.model, err = llmtest.Start(script); err != nil {
		return cfg, err
	}
	cfg.Model = config.Model{Name: script.Model.Name, Ollama: d.model.URL()}
	return cfg, cfg.Check()
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.w.out, format+"\n", args...) }

// step runs one part of the story and prints its duration. Its error includes the cause
// and a remedy.
func (d *demo) step(name string, f func() error) error {
	at := time.Now()
	if err := f(); err != nil {
		d.say("✗ %s", name)
		for _, v := range d.gh.Violations() {
			d.say("  GitHub got a wrong request: %s", v)
		}
		return fmt.Errorf("demo: %w\n%s", err, d.remedy(err))
	}
	d.say("✔ %s (%s)\n", name, time.Since(at).Round(time.Millisecond))
	return nil
}

// remedy returns advice for a failed step.
func (d *demo) remedy(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "It was stopped; run it again."
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("It did not get further within %s: give it more time with --timeout.", d.cmd.Timeout)
	case d.cmd.Model != "":
		return "`handrail doctor model --model " + d.cmd.Model + "` tries this model out; without --model a recorded one plays the story."
	case d.server.workspace != "local":
		return "`handrail doctor machine` checks this machine; `handrail demo --workspace local` plays the story without a wall."
	}
	return "Run it again with --log-level debug, and report its output."
}

// tell runs the steps of the story in order.
func (d *demo) tell(ctx context.Context) error {
	var issue, pull thread.Ref
	var request string
	steps := []struct {
		name string
		run  func() error
	}{
		{"an issue is opened and the agent is asked", func() (err error) {
			issue, err = d.gh.OpenIssue(demoRepo, demoPerson, "Slugs come out with double dashes",
				"`sh test.sh` fails: \"Hello, World\" becomes `hello--world`.")
			if err != nil {
				return err
			}
			_, err = d.gh.Comment(issue, demoPerson, "/agent fix the failing test")
			return err
		}},
		{"the agent works until the policy stops a command", func() (err error) {
			request, err = d.approval(ctx, issue)
			return err
		}},
		{"a maintainer approves exactly that command", func() error {
			_, err := d.gh.Comment(issue, demoPerson, "/agent approve "+request)
			return err
		}},
		{"the tests pass, and a draft pull request opens", func() (err error) {
			pull, err = d.pull(ctx, issue)
			return err
		}},
		{"the promised result is on GitHub", func() error { return d.inspect(issue, pull) }},
	}
	for _, s := range steps {
		if err := d.step(s.name, s.run); err != nil {
			return err
		}
	}
	d.say("The story took %s.", time.Since(d.begin).Round(10*time.Millisecond))
	if d.cmd.Dir != "" {
		d.say("Everything is in %s: the repository in github/, the bot's database and mirrors in bot/.", d.dir)
	}
	return nil
}

// show prints new and changed comments as they appear.
func (d *demo) show(s *ghtest.Server, ref thread.Ref) {
	t := s.Thread(ref)
	for _, c := range t.Comments {
		body := visible(c.Body)
		id := fmt.Sprint(ref.Number, "/", c.ID)
		old, known := d.seen[id]
		if old == body {
			continue
		}
		d.seen[id] = body
		if known {
			d.edited(ref, c.Author, old, body)
			continue
		}
		d.say("┌ #%d %s writes", ref.Number, c.Author)
		for _, line := range strings.Split(body, "\n") {
			if line != "" {
				d.say("│ %s", line)
			}
		}
		d.say("└")
	}
}

// edited prints the new lines of an edited comment. A count of steps alone is no news.
func (d *demo) edited(ref thread.Ref, author, old, body string) {
	before := strings.Split(old, "\n")
	var lines []string
	for _, line := range strings.Split(body, "\n") {
		if line != "" && !strings.HasPrefix(line, "▸ ") && !slices.Contains(before, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	d.say("┆ #%d %s edits its comment:", ref.Number, author)
	for _, line := range lines {
		d.say("┆ %s", line)
	}
}

// plainTags are the tags that GitHub renders and a terminal does not.
var plainTags = strings.NewReplacer("<sub>", "", "</sub>", "", "<code>", "`", "</code>", "`")

// visible removes the parts that GitHub does not show: hidden markers and the folded
// timeline.
func visible(body string) string {
	body = plainTags.Replace(body)
	var out []string
	folded := false
	for _, line := range strings.Split(body, "\n") {
		switch {
		case strings.HasPrefix(line, "<!--"):
			continue
		case strings.HasPrefix(line, "<details>"):
			folded = true
			line = "▸ " + strings.TrimSuffix(strings.TrimPrefix(line, "<details><summary>"), "</summary>")
		case strings.HasPrefix(line, "</details>"):
			folded = false
			continue
		case folded:
			continue
		}
		if line != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// approval waits for an approval request and returns its id.
func (d *demo) approval(ctx context.Context, issue thread.Ref) (id string, err error) {
	err = d.wait(ctx, issue, func(t ghtest.Thread) bool {
		for _, c := range t.Comments {
			if _, rest, ok := strings.Cut(c.Body, "Approval `"); ok && c.Author == d.gh.App().Login {
				id, _, _ = strings.Cut(rest, "`")
				return true
			}
		}
		return false
	})
	return id, err
}

// pull waits for the pull request and the end of the session.
func (d *demo) pull(ctx context.Context, issue thread.Ref) (ref thread.Ref, err error) {
	err = d.wait(ctx, issue, func(t ghtest.Thread) bool {
		for _, other := range d.gh.Threads(demoRepo) {
			if other.Pull != nil {
				ref = other.Ref
			}
		}
		done, running := false, false
		for _, c := range t.Comments {
			done = done || strings.Contains(c.Body, "**done**") && strings.Contains(c.Body, fmt.Sprintf("#%d", ref.Number))
			running = running || strings.Contains(c.Body, "**running**") // its last edit is still to come
		}
		return done && !running && ref.Number > 0
	})
	return ref, err
}

// wait prints the growing thread until ok returns true or the session fails.
func (d *demo) wait(ctx context.Context, issue thread.Ref, ok func(ghtest.Thread) bool) error {
	var failed error
	err := d.gh.Wait(ctx, func(s *ghtest.Server) bool {
		d.show(s, issue)
		t := s.Thread(issue)
		for _, c := range t.Comments {
			if strings.Contains(c.Body, "**failed**") || strings.Contains(c.Body, "**no changes**") {
				failed = errors.New("the session ended without success" + d.causeOf(visible(c.Body)))
			}
		}
		return failed != nil || ok(t)
	})
	return cmp.Or(failed, err)
}

// causeOf returns the paragraph below a failure heading, after a colon. It is empty if
// there is none.
func (d *demo) causeOf(body string) string {
	if d.model != nil && d.model.Refused() > 0 {
		return ": a command of the recorded story had another result on this machine"
	}
	paragraphs := strings.Split(body, "\n\n")
	for i, p := range paragraphs[:len(paragraphs)-1] {
		if strings.Contains(p, "**failed**") || strings.Contains(p, "**no changes**") {
			return ": " + strings.Join(strings.Fields(paragraphs[i+1]), " ")
		}
	}
	return ""
}

// inspect checks the pull request on GitHub.
func (d *demo) inspect(issue, pull thread.Ref) error {
	t := d.gh.Thread(pull)
	fixed, err := d.gh.File(demoRepo, t.Pull.HeadSHA, "slug.sh")
	if err != nil {
		return err
	}
	log, err := d.gh.Log(demoRepo, t.Pull.HeadSHA)
	if err != nil {
		return err
	}
	_, gone := d.gh.File(demoRepo, t.Pull.HeadSHA, "cache/4054523875")
	switch { // of the demo itself, and no part of the story
	case len(d.gh.Violations()) > 0:
		return fmt.Errorf("GitHub got a wrong request: %s", d.gh.Violations()[0])
	case d.model != nil && d.model.Err() != nil:
		return d.model.Err()
	}
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{t.Pull.Draft, "the pull request is a draft"},
		{strings.Contains(t.Body, fmt.Sprintf("Fixes #%d", issue.Number)), "its body closes the issue"},
		{d.cmd.Model != "" || strings.Contains(fixed, "tr -cs"), "the fault is fixed on the branch"},
		{d.cmd.Model != "" || gone != nil, "the approved command had its effect"},
		{len(log) > 1, "there is a commit per checkpoint"},
	} {
		if !c.ok {
			return errors.New("not so: " + c.what)
		}
		d.say("  ✔ %s", c.what)
	}
	d.say("\n┌ #%d %s (draft)", pull.Number, t.Title)
	for _, line := range strings.Split(visible(t.Body), "\n") {
		if line != "" {
			d.say("│ %s", line)
		}
	}
	for _, message := range log {
		subject, _, _ := strings.Cut(message, "\n")
		d.say("│ ● %s", subject)
	}
	d.say("└")
	return nil
}

func (d *demo) close(ctx context.Context) error {
	var errs []error
	if d.gh != nil {
		d.gh.SetWebhook("") // the bot need not receive the events of its last edits
		// Pending deliveries get their answer: GitHub would complain otherwise.
		wait, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = d.gh.Flush(wait)
		cancel()
	}
	if d.server != nil {
		errs = append(errs, d.server.close(ctx))
	}
	if d.model != nil {
		d.model.Close()
	}
	if d.gh != nil {
		errs = append(errs, d.gh.Close())
	}
	return errors.Join(errs...)
}
