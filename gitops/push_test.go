package gitops

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// checkpointOn commits one file on top of a parent.
func checkpointOn(t *testing.T, m *Mirror, parent, path, text string) string {
	t.Helper()
	c, err := m.Checkpoint(t.Context(), Checkpoint{Parent: parent, Changes: []Change{put(path, text)}, Meta: Meta{Message: "change " + path, Author: Signature{"Bot", "bot@example.com"}}})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func TestPush(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, bare, _ := seeded(t, map[string]string{"a": "1\n", "dir/b": "2\n"})
	one := checkpointOn(t, m, head, "dir/c", "3\n")
	two := checkpointOn(t, m, one, "dir/c", "4\n")
	other := checkpointOn(t, m, head, "x", "5\n")
	const ref = "refs/heads/agent/12-fix"
	steps := []struct {
		name string
		push Push
		kind error
		want string // the ref on the remote afterwards
	}{
		{"new branch", Push{Commit: one, Ref: ref, Create: true}, nil, one},
		{"the same again", Push{Commit: one, Ref: ref}, nil, one},
		{"create, though it would be a fast-forward", Push{Commit: two, Ref: ref, Create: true}, ErrRejected, one},
		{"fast-forward", Push{Commit: two, Ref: ref, Old: one}, nil, two},
		{"back", Push{Commit: one, Ref: ref}, ErrRejected, two},
		{"beside", Push{Commit: other, Ref: ref}, ErrRejected, two},
		{"beside, with the right old", Push{Commit: other, Ref: ref, Old: two}, ErrRejected, two},
		{"wrong old", Push{Commit: two, Ref: "refs/heads/y", Old: one}, ErrRejected, ""},
		{"create what exists", Push{Commit: other, Ref: ref, Create: true}, ErrRejected, two},
		{"force with a wrong old", Push{Commit: other, Ref: ref, Old: one, Force: true}, ErrRejected, two},
		{"force", Push{Commit: other, Ref: ref, Old: two, Force: true}, nil, other},
		{"delete", Push{Ref: ref, Old: other}, nil, ""},
		{"delete again", Push{Ref: ref, Old: other}, nil, ""},
	}
	for _, s := range steps {
		err := m.Push(t.Context(), s.push)
		if s.kind == nil && err != nil || s.kind != nil && !errors.Is(err, s.kind) {
			t.Errorf("%s: error %v, want %v", s.name, err, s.kind)
		}
		got, _ := gitTry(t, bare, "", "rev-parse", "-q", "--verify", s.push.Ref)
		if strings.TrimSpace(got) != s.want {
			t.Errorf("%s: the ref is at %q, want %q", s.name, strings.TrimSpace(got), s.want)
		}
		mine, _ := m.Resolve(t.Context(), s.push.Ref)
		if s.kind == nil && mine != s.want {
			t.Errorf("%s: the mirror has the ref at %q, want %q", s.name, mine, s.want)
		}
	}
	for _, p := range []Push{
		{Commit: one, Ref: "refs/heads/$(id)"}, {Commit: one, Ref: "main"}, {Commit: one, Ref: "refs/heads/-x"},
		{Commit: "main", Ref: ref}, {Commit: one, Ref: ref, Force: true}, {Ref: ref},
	} {
		if err := m.Push(t.Context(), p); err == nil {
			t.Errorf("push %+v succeeded", p)
		}
	}
	fsck(t, bare)
}

func TestPushSendsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, work := r.repo("one", many(2000))
	m := mirrorOf(t, url)
	head := must(m.Resolve(t.Context(), "main"))(t)
	// The remote moves on, as it does while an agent works.
	git(t, work, "reset", "-q", "--hard", "origin/main")
	commitFiles(t, work, "theirs", map[string]string{"theirs": "t\n"})
	git(t, work, "push", "-q", "origin", "main")
	must(0, m.Fetch(t.Context()))(t)
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tenChanges("y")}))(t)
	before := r.sent.Load()
	must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/x"}))(t)
	if sent := r.sent.Load() - before; sent > 16<<10 {
		t.Errorf("%d bytes were sent for ten small files", sent)
	}
	var list []objects.Packed
	err := m.pool.Use(t.Context(), func(o *objects.DB) (err error) {
		list, err = objects.Unsent(t.Context(), o, mustHash(c.ID), mustHash(""), remoteRefs(t, bare))
		return err
	})
	if err != nil || len(list) != 0 {
		t.Errorf("after the push %d objects are missing: %v", len(list), err)
	}
	fsck(t, bare)
}

func TestPushOverOneMiB(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, bare, _ := seeded(t, map[string]string{"a": "1\n"})
	var b strings.Builder
	for i := range 20_000 { // 1.3 MB that do not compress
		fmt.Fprintf(&b, "%x\n", sha256.Sum256([]byte(fmt.Sprint(i))))
	}
	id := checkpointOn(t, m, head, "big", b.String())
	must(0, m.Push(t.Context(), Push{Commit: id, Ref: "refs/heads/big"}))(t)
	if got := git(t, bare, "cat-file", "-s", "big:big"); got != fmt.Sprint(b.Len()) {
		t.Errorf("size on the remote: %s, want %d", got, b.Len())
	}
	fsck(t, bare)
}

func TestPushMergeAndFirstCommits(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, _, bare, work := seeded(t, map[string]string{"a": "1\n", "b": "1\n"})
	git(t, work, "checkout", "-q", "-b", "side")
	commitFiles(t, work, "side", map[string]string{"a": "side\n"})
	git(t, work, "checkout", "-q", "main")
	commitFiles(t, work, "main", map[string]string{"b": "main\n"})
	git(t, work, "merge", "-q", "--no-edit", "side")
	git(t, work, "push", "-q", "origin", "HEAD:refs/keep/merge") // not a head: not in the mirror
	must(0, m.Fetch(t.Context(), git(t, work, "rev-parse", "HEAD")))(t)
	git(t, bare, "update-ref", "-d", "refs/keep/merge")
	git(t, bare, "-c", "gc.pruneExpire=now", "gc", "-q")
	id := checkpointOn(t, m, git(t, work, "rev-parse", "HEAD"), "c", "c\n")
	must(0, m.Push(t.Context(), Push{Commit: id, Ref: "refs/heads/merged"}))(t)
	if got := git(t, bare, "rev-list", "--count", "main..merged"); got != "4" {
		t.Errorf("%s commits arrived, want 4", got)
	}
	root := checkpointOn(t, m, "", "r", "r\n")
	must(0, m.Push(t.Context(), Push{Commit: root, Ref: "refs/heads/orphan"}))(t)
	fsck(t, bare)
}

func TestDeclinedPushes(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, head, bare, _ := seeded(t, map[string]string{"a": "1\n"})
	id := checkpointOn(t, m, head, "a", "2\n")
	hooks := []struct {
		name, hook, script string
		kind               error
	}{
		{"protected branch", "pre-receive", `echo "GH006: Protected branch update failed"; exit 1`, errProtected},
		{"some hook", "pre-receive", `echo "sorry"; exit 1`, errProtected},
		{"workflow permission", "update", `echo 'refusing to allow a GitHub App to create or update workflow ".github/workflows/ci.yml" without ` + "`workflows`" + ` permission' >&2; exit 1`, ErrWorkflowScope},
	}
	for _, h := range hooks {
		t.Run(h.name, func(t *testing.T) {
			hookText(t, bare, "pre-receive", "exit 0")
			hookText(t, bare, "update", "exit 0")
			hookText(t, bare, h.hook, h.script)
			err := m.Push(t.Context(), Push{Commit: id, Ref: "refs/heads/main"})
			var declined *RemoteError
			if !errors.Is(err, h.kind) || !errors.As(err, &declined) || declined.Output == "" {
				t.Errorf("got %v (%+v), want %v with output", err, declined, h.kind)
			}
			if got := git(t, bare, "rev-parse", "main"); got != head {
				t.Errorf("main moved to %s", got)
			}
			if got, _ := m.Resolve(t.Context(), "main"); got != head {
				t.Errorf("the mirror thinks that main moved to %s", got)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, output string
		want           error
	}{
		{"protected branch hook declined", "error: GH006: Protected branch update failed for refs/heads/main.", errProtected},
		{"push declined due to repository rule violations", "error: GH013", errProtected},
		{"refusing to allow an OAuth App to create or update workflow `.github/workflows/x.yml` without `workflow` scope", "", ErrWorkflowScope},
		{"refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` without `workflows` permission", "", ErrWorkflowScope},
		{"non-fast-forward", "", ErrRejected},
		{"fetch first", "", ErrRejected},
		{"failed to update ref", "", ErrRejected},
		{"cannot lock ref 'refs/heads/x': is at 1 but expected 2", "", ErrRejected},
		{"something new", "", errProtected},
		{"permission denied", "", ErrAuth},
	}
	for _, tt := range tests {
		if got := classify(tt.reason, tt.output); !errors.Is(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.reason, got.Kind, tt.want)
		}
	}
}

// workflowHook refuses a branch with workflows that main has not just so.
const workflowHook = `while read old new ref; do
if git diff-tree -r --name-only $(git merge-base main $new) $new | grep -q '^.github/workflows/'; then
echo "refusing to allow a GitHub App to create or update workflow without ` + "\\`workflows\\`" + ` permission" >&2; exit 1; fi; done`

func TestPushSafe(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const ref = "refs/heads/agent/1-x"
	tests := []struct {
		name     string
		closed   bool
		work     map[string]string // ours, on top of the base
		theirs   map[string]string // pushed to the branch meanwhile
		hook     string
		how, ref string
		files    map[string]string // on the remote at ref, besides the base
		causes   []error
		patch    string
	}{
		{name: "plain", work: map[string]string{"n": "n\n"}, how: HowPushed, ref: ref, files: map[string]string{"n": "n"}},
		{name: "rebased", work: map[string]string{"n": "n\n"}, theirs: map[string]string{"t": "t\n"},
			how: howRebased, ref: ref, files: map[string]string{"n": "n", "t": "t"}, causes: []error{ErrRejected}},
		{name: "same file, other lines", work: map[string]string{"a": "1\n2\n3\n4\nFIVE\n"}, theirs: map[string]string{"a": "ONE\n2\n3\n4\n5\n"},
			how: howRebased, ref: ref, files: map[string]string{"a": "ONE\n2\n3\n4\nFIVE"}, causes: []error{ErrRejected}},
		{name: "conflict goes to a branch beside", work: map[string]string{"a": "ours\n"}, theirs: map[string]string{"a": "theirs\n"},
			how: howFallback, ref: ref + "-2", files: map[string]string{"a": "ours"}, causes: []error{ErrRejected, ErrConflict}},
		{name: "protected branch", work: map[string]string{"n": "n\n"}, hook: `while read o n r; do [ $r != ` + ref + ` ] || exit 1; done`,
			how: howFallback, ref: ref + "-2", files: map[string]string{"n": "n"}, causes: []error{errProtected}},
		{name: "closed branch", closed: true, work: map[string]string{"n": "n\n"}, how: howFallback, ref: ref + "-2", files: map[string]string{"n": "n"}, causes: []error{ErrClosed}},
		{name: "nothing may be pushed", work: map[string]string{"n": "n\n"}, hook: `exit 1`,
			how: HowPatch, causes: []error{errProtected, errProtected}, patch: "+n\n"},
		{name: "workflows are split out", work: map[string]string{"n": "n\n", ".github/workflows/ci.yml": "on: push\n"}, hook: workflowHook,
			how: HowPushed, ref: ref, files: map[string]string{"n": "n"}, causes: []error{ErrWorkflowScope}},
		{name: "only workflows", work: map[string]string{".github/workflows/ci.yml": "on: push\n"}, hook: workflowHook,
			how: howLeftOut, causes: []error{ErrWorkflowScope}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := map[string]string{"a": "1\n2\n3\n4\n5\n"}
			m, head, bare, work := seeded(t, base)
			git(t, work, "push", "-q", "origin", "main:"+ref)
			id := head
			for _, path := range sorted(tt.work) {
				id = checkpointOn(t, m, id, path, tt.work[path])
			}
			if tt.theirs != nil {
				commitFiles(t, work, "theirs", tt.theirs)
				git(t, work, "push", "-q", "origin", "HEAD:"+ref)
			}
			if tt.hook != "" {
				hookText(t, bare, "pre-receive", tt.hook)
			}
			got, err := m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: ref, Closed: tt.closed})
			if err != nil || got.How != tt.how || got.Ref != tt.ref || len(got.Causes) < len(tt.causes) {
				t.Fatalf("got %+v, %v", got, err)
			}
			for i, want := range tt.causes {
				if !errors.Is(got.Causes[i], want) {
					t.Errorf("cause %d is %v, want %v", i, got.Causes[i], want)
				}
			}
			if !strings.Contains(got.Patch, tt.patch) || (tt.patch == "") != (got.Patch == "") {
				t.Errorf("patch: %q", got.Patch)
			}
			if held := tt.work[".github/workflows/ci.yml"] != ""; held != (len(got.Workflows) == 1) || held != strings.Contains(got.Split, "+on: push") {
				t.Errorf("held: %+v %q", got.Workflows, got.Split)
			}
			if tt.ref != "" {
				checkRemote(t, bare, got, tt.files)
			}
			fsck(t, bare)
		})
	}
}

// checkRemote compares what arrived at the remote.
func checkRemote(t *testing.T, bare string, got Pushed, files map[string]string) {
	t.Helper()
	if at := git(t, bare, "rev-parse", got.Ref); at != got.Commit {
		t.Errorf("the remote has %s, the result says %s", at, got.Commit)
	}
	tree := lsTree(t, bare, got.Ref)
	delete(tree, "t")
	for path, text := range files {
		if have := git(t, bare, "cat-file", "blob", got.Ref+":"+path); have != text {
			t.Errorf("%s on the remote is %q, want %q", path, have, text)
		}
	}
	if _, ok := tree[".github/workflows/ci.yml"]; ok {
		t.Error("the workflow file was pushed")
	}
}

// TestBranchInTheWay: where another branch is in the way of a name, the work goes to one that git keeps,
// and the cause is named.
func TestBranchInTheWay(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, tt := range map[string]struct {
		there []string // branches of the remote
		ref   string
	}{
		"above":           {[]string{"agent"}, "refs/heads/agent-1-x"},
		"above, and flat": {[]string{"agent", "agent-1-x"}, "refs/heads/agent-1-x-2"},
		"below":           {[]string{"agent/1-x/sub"}, "refs/heads/agent-1-x"},
		"beside":          {[]string{"agents", "agent/1", "agent/1-y"}, "refs/heads/agent/1-x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, head, _, work := seeded(t, map[string]string{"a": "1\n"})
			for _, branch := range tt.there {
				git(t, work, "push", "-q", "origin", "main:refs/heads/"+branch)
			}
			id := checkpointOn(t, m, head, "n", "n\n")
			got, err := m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: "refs/heads/agent/1-x"})
			if err != nil || got.Ref != tt.ref {
				t.Fatalf("got %+v, %v; want %s", got, err, tt.ref)
			}
			if named := len(got.Causes) > 0 && errors.Is(got.Causes[0], errInTheWay); named != (name != "beside") {
				t.Errorf("causes: %v", got.Causes)
			}
		})
	}
}

func TestPushSafeWithoutAServer(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url, _, _ := r.repo("one", map[string]string{"a": "1\n"})
	s := newStore(t, nil)
	m := must(s.Mirror(t.Context(), url))(t)
	_, head, _ := m.Default(t.Context())
	id := checkpointOn(t, m, head, "a", "2\n")
	s.wire.HTTP = down{}
	got, err := m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: "refs/heads/x"})
	if !errors.Is(err, ErrUnavailable) || got.Commit != id || got.Ref != "" {
		t.Errorf("no server: %+v %v, want an error that says so", got, err)
	}
	s.wire.HTTP = nil
	if got, err = m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: "refs/heads/x"}); err != nil || got.Ref != "refs/heads/x" {
		t.Errorf("the server is back: %+v %v", got, err)
	}
}

func sorted(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestPushSafeAfterARewrite: somebody rewrote the branch, and the session's
// earlier commits are not in it any more.
func TestPushSafeAfterARewrite(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const ref = "refs/heads/agent/1-x"
	for name, tt := range map[string]struct {
		theirs map[string]string // in place of what was on the branch
		own    bool              // the session's first commit is in it, under another id
		how    string
		files  map[string]string
	}{
		"dropped":    {theirs: map[string]string{"t": "t\n"}, how: howRebased, files: map[string]string{"one": "1", "two": "2", "t": "t"}},
		"rebased":    {theirs: map[string]string{"t": "t\n"}, own: true, how: howRebased, files: map[string]string{"one": "1", "two": "2", "t": "t"}},
		"other":      {theirs: map[string]string{"one": "theirs\n"}, how: howRebased, files: map[string]string{"one": "theirs", "two": "2"}},
		"conflicted": {theirs: map[string]string{"two": "theirs\n"}, how: howFallback, files: map[string]string{"one": "1", "two": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, head, bare, work := seeded(t, map[string]string{"a": "1\n"})
			first := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("one", "1\n")},
				Meta: Meta{Message: "one", Trailers: []Trailer{{TrailerSession, "s1"}}}}))(t)
			must(0, m.Push(t.Context(), Push{Commit: first.ID, Ref: ref}))(t)
			second := must(m.Checkpoint(t.Context(), Checkpoint{Parent: first.ID, Changes: []Change{put("two", "2\n")},
				Meta: Meta{Message: "two", Trailers: []Trailer{{TrailerSession, "s1"}}}}))(t)
			if tt.own {
				commitFiles(t, work, "one", map[string]string{"one": "1\n"})
			}
			commitFiles(t, work, "theirs", tt.theirs)
			git(t, work, "push", "-q", "--force", "origin", "HEAD:"+ref)
			got, err := m.PushSafe(t.Context(), SafePush{Commit: second.ID, Base: first.ID, Ref: ref, Origin: head, Session: "s1"})
			if err != nil || got.How != tt.how {
				t.Fatalf("%+v, %v, want %s", got, err, tt.how)
			}
			checkRemote(t, bare, got, tt.files)
			if n := git(t, bare, "log", "--oneline", "--grep", "^one", got.Ref, "--", "one"); len(strings.Split(n, "\n")) != 1 {
				t.Errorf("the first commit is there more than once:\n%s", n)
			}
		})
	}
}

// TestPushSafeGuards: files that people answer for reach the branch as they are,
// once, or not at all.
func TestPushSafeGuards(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const ref = "refs/heads/agent/1-x"
	lines := "1\n2\n3\n4\n5\n"
	for name, tt := range map[string]struct {
		theirs func(t *testing.T, work string, first string) // on the branch, after the first commit
		cut    bool                                          // the second commit was pushed before that, and nobody heard of it
		first  []Change                                      // nil for two new files
		second []Change
		how    string
		files  map[string]string
		said   string
	}{
		"other lines of the same file": {theirs: func(t *testing.T, work, _ string) {
			commitFiles(t, work, "theirs", map[string]string{"g/a": "ONE\n2\n3\n4\n5\n"})
		},
			second: []Change{put("g/a", "1\n2\n3\n4\nFIVE\n")}, how: howFallback, files: map[string]string{"g/a": "1\n2\n3\n4\nFIVE"}},
		"another file": {theirs: func(t *testing.T, work, _ string) { commitFiles(t, work, "theirs", map[string]string{"t": "t\n"}) },
			second: []Change{put("g/a", "new\n")}, how: howRebased, files: map[string]string{"g/a": "new", "t": "t"}},
		"reverted after a push that was cut off": {theirs: func(t *testing.T, work, _ string) { git(t, work, "revert", "--no-edit", "HEAD") },
			cut: true, second: []Change{put("g/a", "new\n")}, how: HowPushed, files: map[string]string{"g/a": "1\n2\n3\n4\n5", "g/one": "1"}},
		"dropped by a rewrite": {theirs: func(t *testing.T, work, first string) {
			git(t, work, "reset", "-q", "--hard", first+"^")
			commitFiles(t, work, "theirs", map[string]string{"t": "t\n"})
		}, second: []Change{put("two", "2\n")}, how: howRebased, files: map[string]string{"two": "2", "t": "t", "one": "1", "g/one": ""}, said: "its lost changes of g/one stay off it"},
		"taken back": {theirs: func(t *testing.T, work, first string) { git(t, work, "reset", "-q", "--hard", first+"^") },
			second: []Change{put("two", "2\n")}, how: howRebased, files: map[string]string{"two": "2", "one": "1", "g/one": ""}, said: "its lost changes of g/one stay off it"},
		"with its directory": {theirs: func(t *testing.T, work, first string) { git(t, work, "reset", "-q", "--hard", first+"^") },
			first: []Change{{Path: "g/a", Delete: true}, put("one", "1\n")}, second: []Change{put("two", "2\n")}, how: howRebased,
			files: map[string]string{"two": "2", "one": "1", "g/a": "1\n2\n3\n4\n5"}, said: "its lost changes of g/a stay off it"},
		"dropped, and changed anew": {theirs: func(t *testing.T, work, first string) { git(t, work, "reset", "-q", "--hard", first+"^") },
			second: []Change{put("g/one", "2\n")}, how: howFallback, files: map[string]string{"g/one": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, head, bare, work := seeded(t, map[string]string{"g/a": lines})
			meta := Meta{Message: "x", Trailers: []Trailer{{TrailerSession, "s1"}}, When: time.Unix(1_700_000_000, 0)}
			if tt.first == nil {
				tt.first = []Change{put("g/one", "1\n"), put("one", "1\n")}
			}
			first := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: tt.first, Meta: meta}))(t)
			must(0, m.Push(t.Context(), Push{Commit: first.ID, Ref: ref}))(t)
			second := must(m.Checkpoint(t.Context(), Checkpoint{Parent: first.ID, Changes: tt.second, Meta: meta}))(t)
			if tt.cut {
				must(0, m.Push(t.Context(), Push{Commit: second.ID, Ref: ref}))(t)
			}
			git(t, work, "fetch", "-q", "origin", ref)
			git(t, work, "reset", "-q", "--hard", "FETCH_HEAD")
			tt.theirs(t, work, first.ID)
			git(t, work, "push", "-q", "--force", "origin", "HEAD:"+ref)
			got, err := m.PushSafe(t.Context(), SafePush{Commit: second.ID, Base: first.ID, Ref: ref, Origin: head, Session: "s1",
				Guarded: func(p string) bool { return strings.HasPrefix(p, "g/") }})
			if err != nil || got.How != tt.how {
				t.Fatalf("%+v, %v, want %s", got, err, tt.how)
			}
			for path, want := range tt.files {
				text := ""
				if git(t, bare, "ls-tree", got.Ref, path) != "" {
					text = git(t, bare, "show", got.Ref+":"+path)
				}
				if text != want {
					t.Errorf("%s is %q on the branch, want %q", path, text, want)
				}
			}
			if said := fmt.Sprint(got.Causes); !strings.Contains(said, tt.said) {
				t.Errorf("said %s, want %s", said, tt.said)
			}
		})
	}
}

// TestBinaryPatch: a patch with opt.Binary holds all that changed.
func TestBinaryPatch(t *testing.T) {
	t.Parallel()
	m, head, _, work := seeded(t, map[string]string{"gone.bin": "\x00old", "changed.bin": "\x00old\x01"})
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Meta: Meta{Message: "x"}, Changes: []Change{
		{Path: "gone.bin", Delete: true}, put("changed.bin", "\x00new"+strings.Repeat("\x02\x03\xff", 400)), put("empty", ""), put("new.bin", "\x00"+strings.Repeat("z", 70)),
	}}))(t)
	text, _, err := m.Diff(t.Context(), head, c.ID, DiffOptions{Binary: true})
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, work, text, "apply", "--index", "-")
	if got, want := git(t, work, "write-tree"), c.Tree; got != want {
		t.Errorf("the patch makes %s, want %s:\n%s", got, want, text)
	}
}

// TestCredentialsForWorkflows: credentials that may change workflow files are asked
// for only when a push needs them, and then the push is whole.
func TestCredentialsForWorkflows(t *testing.T) {
	t.Parallel()
	url, bare, work := newRemote(t).repo("one", map[string]string{"a": "1\n"})
	head := git(t, work, "rev-parse", "HEAD")
	granted := filepath.Join(t.TempDir(), "granted")
	var asked []Access
	store := newStore(t, func(c *Config) {
		c.Auth = func(_ context.Context, _ string, a Access) (string, string, error) {
			asked = append(asked, a)
			if a == AccessWorkflows {
				return testUser, testToken, os.WriteFile(granted, nil, 0o600)
			}
			return testUser, testToken, nil
		}
	})
	m, err := store.Mirror(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	hookText(t, bare, "pre-receive", `[ -e `+granted+` ] || while read old new ref; do
if git diff-tree -r --name-only `+head+` $new | grep -q '^.github/workflows/'; then
echo "refusing to allow a GitHub App to create or update workflow without `+"\\`workflows\\`"+` permission" >&2; exit 1; fi; done`)
	const ci = ".github/workflows/ci.yml"
	for _, step := range []struct {
		ref, path string
		asked     []Access
	}{
		{"refs/heads/plain", "b", []Access{AccessPush}},
		{"refs/heads/ci", ci, []Access{AccessPush, AccessWorkflows}},
	} {
		asked = nil
		id := checkpointOn(t, m, head, step.path, "on: push\n")
		got, err := m.PushSafe(t.Context(), SafePush{Commit: id, Base: head, Ref: step.ref})
		if err != nil || got.How != HowPushed || got.Split != "" || git(t, bare, "rev-parse", step.ref) != id {
			t.Errorf("%s: %+v, %v", step.path, got, err)
		}
		if !slices.Equal(asked, step.asked) {
			t.Errorf("%s: credentials were asked for %v, want %v", step.path, asked, step.asked)
		}
	}
}
