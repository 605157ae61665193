package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/host"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// copies is an engine with copies in place of overlays, and a tool host in this process.
type copies struct {
	stays error // why its workspaces cannot be removed
}

func (copies) Name() string                { return "copies" }
func (copies) Check(context.Context) error { return nil }

func (c copies) Open(ctx context.Context, spec workspace.Spec) (*workspace.Workspace, error) {
	l, err := workspace.Lay(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	env := workspace.Spec{}.Environ(map[string]string{"HOME": filepath.Join(l.Cache, "home"), "PATH": os.Getenv("PATH")})
	cfg := host.Config{Root: l.Tree, Base: l.Base, Env: env, Limits: spec.Limits.WithDefaults(), Way: noWay}
	if spec.Layer != "" {
		cfg.Layer = filepath.Join(spec.Layer, workspace.LayerTree)
	}
	go func() { served <- host.Serve(context.WithoutCancel(ctx), far, cfg) }()
	return workspace.Connect(ctx, workspace.Config{Engine: "copies", Conn: near, Egress: spec.Egress, Release: func(context.Context) error { return errors.Join(<-served, spec.Release(), c.stays) }})
}

// way is one that nothing is said over.
type way struct{ host.Way }

func (way) Environ() []string { return nil }
func (way) Close()            {}

func noWay(context.Context, *workspace.Conn) (host.Way, error) { return way{}, nil }

// people answer what they are asked, and remember it.
type people struct {
	says  policy.ApprovalState
	by    string
	asked []session.Asked
}

func (p *people) Approve(_ context.Context, asked []session.Asked) (out []session.Resolved, err error) {
	for _, a := range asked {
		p.asked = append(p.asked, a)
		out = append(out, session.Resolved{ID: a.ID, Verdict: p.says, By: p.by})
	}
	return out, nil
}

// kept is layers and answers in memory and in a directory.
type kept struct {
	dir  string
	mu   sync.Mutex
	said map[string]session.Resolved
}

func (k *kept) Take(_ context.Context, digest string) (string, func(), error) {
	if _, err := os.Stat(filepath.Join(k.dir, digest)); err != nil {
		return "", func() {}, nil //nolint:nilerr // it is not there
	}
	return filepath.Join(k.dir, digest), func() {}, nil
}

func (k *kept) RemoveUnused(time.Duration) error { return nil }

func (k *kept) Begin(ctx context.Context, dir, family string, names []string, most int64) (string, error) {
	list, err := filepath.Glob(filepath.Join(k.dir, "*", familyFile))
	for _, name := range list {
		if said, err := os.ReadFile(name); err == nil && string(said) == family {
			return layer.Begin(ctx, dir, layer.Want{Older: filepath.Join(filepath.Dir(name), workspace.LayerCache), Names: names, SizeLimit: most})
		}
	}
	return "", err
}

func (*kept) End(dir, begun, state string) (string, error) { return layer.End(dir, begun, state) }

func (k *kept) Make(_ context.Context, digest string, fill func(string) error) error {
	dir := filepath.Join(k.dir, "making")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := fill(dir); err != nil {
		return errors.Join(err, workspace.RemoveTree(dir))
	}
	return os.Rename(dir, filepath.Join(k.dir, digest))
}

func (k *kept) Answer(_ context.Context, repo, digest string) (session.Resolved, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	said, ok := k.said[repo+digest]
	return said, ok, nil
}

func (k *kept) Keep(_ context.Context, repo, digest string, said session.Resolved) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.said[repo+digest] = said
	return nil
}

// setUpTrial is a repository with a set-up.
type setUpTrial struct {
	t      *testing.T
	dir    string
	repo   *gitops.Mirror
	kept   *kept
	rules  policy.Config
	bases  *Bases
	people *people
	ways   []policy.Workspace // out of the workspaces so far
	base   string
	number int
}

const installs = "mkdir -p deps; cp deps.lock deps/lock; cp deps.lock ~/.cached; echo more >>a.txt; rm b.txt; echo new >.env; ln -s /etc/passwd deps/l"

func newSetUpTrial(t *testing.T) *setUpTrial {
	t.Helper()
	s := &setUpTrial{t: t, dir: t.TempDir(), people: &people{says: policy.Approved, by: "kim"}, kept: &kept{dir: t.TempDir(), said: map[string]session.Resolved{}}}
	s.git("init", "-q", "-b", "main")
	s.base = s.commit(map[string]string{"install.sh": installs, "deps.lock": "one\n", "a.txt": "a\n", "b.txt": "b\n", ".env": "hidden\n", ".agentignore": ".env\n"})
	var err error
	if s.repo, err = gitops.OpenLocal(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.repo.Close() })
	work := t.TempDir()
	if s.bases, err = OpenBases(gitops.BasesConfig{Dir: filepath.Join(work, "bases")}, work); err != nil {
		t.Fatal(err)
	}
	s.rules = policy.Config{Running: policy.Running{SetUp: policy.SetUp{Commands: []string{"sh ./install.sh"}, Files: []string{"deps.lock"}}}}
	return s
}

func (s *setUpTrial) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.dir, "-c", "user.name=kim", "-c", "user.email=kim@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *setUpTrial) commit(files map[string]string) string {
	s.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A", "-f")
	s.git("commit", "-q", "--allow-empty", "-m", "more")
	return s.git("rev-parse", "HEAD")
}

func (s *setUpTrial) engine() *Engine {
	s.t.Helper()
	rules := s.rules.WithDefaults()
	p, err := policy.New(rules)
	if err != nil {
		s.t.Fatal(err)
	}
	return New(Config{Bases: s.bases, Workspace: copies{}, SetUps: SetUps{Layers: s.kept, Answers: s.kept}, Secrets: Secrets{Redactor: secret.NewRedactor(canary)}, Policy: p, Rules: rules, Log: slog.New(slog.DiscardHandler), Created: created, Egress: func(w policy.Workspace, key string, _ *slog.Logger) (workspace.Egress, error) {
		s.ways = append(s.ways, w)
		return wayOut{w, key}, nil
	}})
}

// job is one in a session of its own.
func (s *setUpTrial) job() Job {
	s.number++
	t := session.Task{Session: fmt.Sprintf("s%d", s.number), Thread: "team/app#1", Base: s.base, Branch: "agent/1", Mode: "code"}
	return Job{Repo: s.repo, Log: &session.Memory{}, RulesAt: s.base, Task: t, Approver: s.people}
}

// run begins a run of a job, and returns its layer and what the log says then.
func (s *setUpTrial) run(j Job) (heldLayer, *session.Outcome, *session.State) {
	s.t.Helper()
	at, err := stateOf(s.t.Context(), j.Log, j.Task)
	if err != nil {
		s.t.Fatal(err)
	}
	l, waits, err := s.engine().layerOf(s.t.Context(), j, at)
	if err != nil {
		s.t.Fatal(err)
	}
	events, err := j.Log.Events(s.t.Context(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	if found, err := session.Violations(events); err != nil || len(found) > 0 {
		s.t.Errorf("the log has %q, %v", found, err)
	}
	state, err := session.Fold(events)
	if err != nil {
		s.t.Fatal(err)
	}
	return l, waits, state
}

func (s *setUpTrial) read(l heldLayer, name string) string {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return "none"
	}
	return string(data)
}

// told returns the notes of set-ups.
func told(at *session.State) (out []string) {
	for _, m := range at.Timeline {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteSetUp {
			out = append(out, n.Text)
		}
	}
	return out
}

// What a set-up made is kept but for what is the repository's, or hidden. One yes holds for
// all sessions, until something changes that the set-up hangs on.
func TestSetUpOnce(t *testing.T) {
	longtest.Leave(t)
	s := newSetUpTrial(t)
	l, _, at := s.run(s.job())
	if got := []string{s.read(l, "tree/deps/lock"), s.read(l, "cache/home/.cached"), s.read(l, "tree/a.txt"), s.read(l, "tree/.env"), s.read(l, "tree/.git/config")}; !slices.Equal(got, []string{"one\n", "one\n", "none", "none", "none"}) {
		t.Errorf("the layer has %q", got)
	}
	if target, err := os.Readlink(filepath.Join(l.dir, "tree/deps/l")); err != nil || target != "/etc/passwd" {
		t.Errorf("the symlink is %q, %v", target, err)
	}
	if got := told(at); len(got) != 2 || !strings.Contains(got[0], "`a.txt`, `b.txt`") || !strings.Contains(got[1], "do not install it again") {
		t.Errorf("told %q", got)
	}
	if a := s.people.asked; len(a) != 1 || a[0].Tool != session.SetUpTool || a[0].Digest != l.digest || !strings.Contains(a[0].Display, "sh ./install.sh\n\n# network: none") {
		t.Fatalf("asked %+v", a)
	}
	s.base = s.commit(map[string]string{"a.txt": "other\n", "new.txt": "new\n"})
	if again, _, at := s.run(s.job()); again.digest != l.digest || len(s.people.asked) != 1 || len(at.Requests) > 0 {
		t.Errorf("after another commit the layer is %+v, and %d were asked", again, len(s.people.asked))
	}
	for name, change := range map[string]func(){
		"a named file":    func() { s.base = s.commit(map[string]string{"deps.lock": "two\n"}) },
		"a command":       func() { s.rules.SetUp.Commands = []string{"sh ./install.sh", "true"} },
		"the network":     func() { s.rules.SetUp.Network = "open" },
		"listed hosts":    func() { s.rules.SetUp.Network, s.rules.SetUp.Hosts = "allowlist", []string{"a.example"} },
		"the image":       func() { s.rules.Workspace.Image = "other:1" },
		"the paths":       func() { s.rules.Workspace.Paths = []string{"lib"} },
		"what is hidden":  func() { s.base = s.commit(map[string]string{".agentignore": ".env\nnew.txt\n"}) },
		"the named files": func() { s.rules.SetUp.Files = []string{"deps.lock", "a.txt"} },
	} {
		before := len(s.people.asked)
		change()
		if other, _, _ := s.run(s.job()); other.digest == l.digest || len(s.people.asked) != before+1 {
			t.Errorf("with %s changed the layer is %.8s, and %d more were asked", name, other.digest, len(s.people.asked)-before)
		}
	}
}

// A set-up reaches the hosts that people were shown, and what it was refused is told with
// its failure.
func TestSetUpReaches(t *testing.T) {
	s := newSetUpTrial(t)
	s.rules.SetUp.Network, s.rules.SetUp.Hosts, s.rules.SetUp.Presets = "allowlist", []string{"mirror.example"}, []string{"go"}
	s.rules.Workspace = policy.Workspace{Network: "open", Inside: map[string]string{"mirror.example": "10.0.0.1"}}
	l, _, _ := s.run(s.job())
	if a := s.people.asked; l.dir == "" || len(a) != 1 || !slices.Contains(a[0].Reasons, "it reaches hosts of the network") ||
		!strings.Contains(a[0].Display, "# network: allowlist: mirror.example proxy.golang.org sum.golang.org mirror.example=10.0.0.1\n") {
		t.Fatalf("the layer is %+v, asked %+v", l, a)
	}
	if w := s.ways; len(w) != 1 || !slices.Equal(w[0].Reaches(), []string{"mirror.example", "proxy.golang.org", "sum.golang.org"}) || w[0].Inside["mirror.example"] != "10.0.0.1" {
		t.Errorf("the way out reaches %+v", w)
	}
	s.base = s.commit(map[string]string{"install.sh": "exit 4", "deps.lock": "two\n"})
	if _, _, at := s.run(s.job()); !strings.Contains(told(at)[0], "ended with 4.\n[Network: refused evil.example:443, not on setup.hosts]") {
		t.Errorf("told %q", told(at))
	}
}

// A set-up begins with the caches that it names of the one before, and with nothing else.
// What stays the same of them is shared, not copied, and what is new changes nothing for
// those who have the older layer.
func TestSetUpCaches(t *testing.T) {
	s := newSetUpTrial(t)
	install := "[ -e ~/.npm/_cacache/x ] && cp ~/.npm/_cacache/x seen; mkdir -p ~/.npm/_cacache ~/.cargo/registry; [ -e ~/.npm/_cacache/big ] || head -c 100000 /dev/zero >~/.npm/_cacache/big; cp deps.lock ~/.npm/_cacache/x; ls ~/.cargo/registry >other; cp deps.lock ~/.cargo/registry/x"
	s.base = s.commit(map[string]string{"install.sh": install})
	s.rules.SetUp.Caches = []string{"npm"}
	first, _, _ := s.run(s.job())
	if l := first; s.read(l, "tree/seen") != "none" || s.read(l, "cache/home/.npm/_cacache/x") != "one\n" {
		t.Errorf("the first has %q, %q", s.read(l, "tree/seen"), s.read(l, "cache/home/.npm/_cacache/x"))
	}
	s.base = s.commit(map[string]string{"deps.lock": "two\n"})
	l, _, _ := s.run(s.job())
	if s.read(l, "tree/seen") != "one\n" || s.read(l, "tree/other") != "" || s.read(l, "cache/home/.npm/_cacache/x") != "two\n" {
		t.Errorf("the second has %q, %q, %q", s.read(l, "tree/seen"), s.read(l, "tree/other"), s.read(l, "cache/home/.npm/_cacache/x"))
	}
	was, wrong := os.Stat(filepath.Join(first.dir, "cache/home/.npm/_cacache/big"))
	is, err := os.Stat(filepath.Join(l.dir, "cache/home/.npm/_cacache/big"))
	if err := errors.Join(err, wrong); err != nil || is.Size() != 100_000 || !os.SameFile(was, is) {
		t.Errorf("the cache was copied (%v)", err)
	}
	if got := s.read(first, "cache/home/.npm/_cacache/x"); got != "one\n" {
		t.Errorf("the older layer has %q", got)
	}
	for _, name := range []string{"begun", "state"} {
		if _, err := os.Lstat(filepath.Join(l.dir, name)); err == nil {
			t.Errorf("%s is left in the layer", name)
		}
	}
}

// A no of a person holds as a yes does. Where nobody can be asked that is no answer.
func TestSetUpIsRefused(t *testing.T) {
	s := newSetUpTrial(t)
	s.people.says, s.people.by = policy.Denied, ""
	if l, waits, at := s.run(s.job()); l.dir != "" || waits != nil || !strings.Contains(told(at)[0], "there was no approver") {
		t.Errorf("without anybody there: %+v, %+v, %q", l, waits, told(at))
	}
	s.people.by = "kim"
	if l, _, at := s.run(s.job()); l.dir != "" || !strings.Contains(told(at)[0], "kim denied it") {
		t.Errorf("after a no: %+v, %q", l, told(at))
	}
	s.people.says = policy.Approved
	if l, _, at := s.run(s.job()); l.dir != "" || len(s.people.asked) != 2 || !strings.Contains(told(at)[0], "kim denied it") {
		t.Errorf("in the next session: %+v, asked %d times, %q", l, len(s.people.asked), told(at))
	}
	s.rules.Commands.Deny = []string{"sh *"}
	s.rules.SetUp.Files = []string{"a.txt"}
	if l, _, at := s.run(s.job()); l.dir != "" || len(s.people.asked) != 2 || !strings.Contains(told(at)[0], "the rules forbid it") {
		t.Errorf("against the rules: %+v, asked %d times, %q", l, len(s.people.asked), told(at))
	}
}

// A session whose people answer later waits, and goes on with the answer. A yes that does
// not count any more is asked for again, and a yes to one set-up is for no other.
func TestSetUpWaits(t *testing.T) {
	s := newSetUpTrial(t)
	j := s.job()
	j.Approver = nil
	l, waits, at := s.run(j)
	if l.dir != "" || waits == nil || waits.Status != session.StatusAwaitingApproval || at.Phase != session.PhaseAwaitingApproval || len(at.Open()) != 1 {
		t.Fatalf("it is %+v, %+v, %s", l, waits, at.Phase)
	}
	yes := func(at *session.State) {
		t.Helper()
		a := at.Open()[0]
		if err := j.Log.Append(t.Context(), session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: policy.Approved, By: "kim", ByID: 7})); err != nil {
			t.Fatal(err)
		}
	}
	yes(at)
	j.Confirm = func(context.Context, session.Asked, session.Resolved) (string, error) {
		return "the comment was edited", nil
	}
	if l, waits, at = s.run(j); l.dir != "" || waits == nil || len(at.Open()) != 1 || len(at.Requests) != 2 {
		t.Fatalf("with an edited comment: %+v, %+v, %d requests", l, waits, len(at.Requests))
	}
	yes(at)
	s.base = s.commit(map[string]string{"deps.lock": "two\n"})
	j.RulesAt, j.Confirm = s.base, nil
	if l, waits, at = s.run(j); l.dir != "" || waits == nil || len(at.Requests) != 3 || len(at.Granted()) > 0 || at.Requests[2].Digest == at.Requests[1].Digest {
		t.Fatalf("with another set-up, while a yes stands: %+v, %+v, %d requests", l, waits, len(at.Requests))
	}
}

// created reads a file in place of a devcontainer.json.
func created(ctx context.Context, files project.Files) (lines []string, from string, err error) {
	data, _, err := files.ReadAll(ctx, "created", 1000)
	switch {
	case err != nil:
		return nil, "", nil //nolint:nilerr // there is none
	case string(data) == "broken":
		return nil, "", errors.New("read created: it is broken")
	}
	return []string{string(data)}, "created", nil
}

// Where the configuration has no set-up, that of the development container of the base
// branch counts, and people are told where it comes from.
func TestSetUpOfDevcontainer(t *testing.T) {
	s := newSetUpTrial(t)
	s.base = s.commit(map[string]string{"created": "echo made >made"})
	if l, _, _ := s.run(s.job()); s.read(l, "tree/made") != "none" || s.read(l, "tree/deps/lock") != "one\n" || strings.Contains(s.people.asked[0].Display, "postCreateCommand") {
		t.Errorf("the configuration counts for nothing: %+v", s.people.asked)
	}
	s.rules.SetUp.Commands = nil
	j := s.job()
	j.Task.Base = s.commit(map[string]string{"created": "echo theirs >made"})
	if l, _, _ := s.run(j); s.read(l, "tree/made") != "made\n" || !strings.HasPrefix(s.people.asked[1].Display, "echo made >made\n\n# this is the postCreateCommand of created\n# network: none") {
		t.Errorf("made is %q, asked %+v", s.read(l, "tree/made"), s.people.asked)
	}
	s.base = s.commit(map[string]string{"created": "broken"})
	if l, _, at := s.run(s.job()); l.dir != "" || !strings.Contains(told(at)[0], "did not run: read created: it is broken.\n") {
		t.Errorf("of a broken one: %+v, %q", l, told(at))
	}
}

// A question or a review asks for no set-up, and has the layer where there is one.
func TestSetUpInOtherModes(t *testing.T) {
	s := newSetUpTrial(t)
	for _, there := range []bool{false, true} {
		for _, mode := range []string{"ask", "plan", "review"} {
			j := s.job()
			j.Task.Mode = mode
			at, err := stateOf(t.Context(), j.Log, j.Task)
			if err != nil {
				t.Fatal(err)
			}
			asked := len(s.people.asked)
			l, waits, err := s.engine().layerOf(t.Context(), j, at)
			if err != nil || waits != nil || (l.dir != "") != there || len(s.people.asked) != asked {
				t.Errorf("in mode %s, a layer there: %t: %+v, %+v, %v", mode, there, l, waits, err)
			}
		}
		s.run(s.job())
	}
}

// What is set up is the base branch, whatever the session works on.
func TestSetUpIsOfTheBase(t *testing.T) {
	s := newSetUpTrial(t)
	j := s.job()
	j.Task.Base = s.commit(map[string]string{"install.sh": "mkdir deps; echo theirs >deps/lock", "deps.lock": "theirs\n"})
	if l, _, _ := s.run(j); s.read(l, "tree/deps/lock") != "one\n" {
		t.Errorf("the layer has %q", s.read(l, "tree/deps/lock"))
	}
}

// A set-up that fails is told, without secrets, and leaves nothing. The session goes on
// without, and the next one tries again.
func TestSetUpFails(t *testing.T) {
	s := newSetUpTrial(t)
	s.base = s.commit(map[string]string{"install.sh": "mkdir deps; echo begun >deps/lock; echo token " + canary + " is refused; exit 3"})
	j := s.job()
	for range 2 {
		l, waits, at := s.run(j)
		if got := told(at); l.dir != "" || waits != nil || len(got) != 1 || !strings.Contains(got[0], "`sh ./install.sh` ended with 3.\ntoken") || strings.Contains(got[0], canary) {
			t.Fatalf("it is %+v, %+v, %q", l, waits, got)
		}
	}
	if list, err := os.ReadDir(s.kept.dir); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
	s.base = s.commit(map[string]string{"install.sh": installs})
	if l, _, _ := s.run(s.job()); l.dir == "" || len(s.people.asked) != 1 {
		t.Errorf("the next session has %+v, and people were asked %d times", l, len(s.people.asked))
	}
}
