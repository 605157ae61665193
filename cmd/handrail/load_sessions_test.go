package main

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
)

var (
	manySessions = flag.Int("load.sessions", 8, "sessions that are asked for at once in TestManySessions")
	filesMany    = flag.Int("load.files", 500, "files of the repository in TestManyFiles")
	manyParked   = flag.Int("load.parked", 8, "sessions that wait for a person in TestManyParked")
	manyCopies   = flag.Int("load.copies", 100, "copies of one of them in the database")
)

// manyAtOnce is how many of them run at the same time.
const manyAtOnce = 8

// clockedModel is a model that answers at once and knows when it was first asked
// about each thread: what people asked for names the thread.
type clockedModel struct {
	url   string
	mu    sync.Mutex
	first map[string]time.Time
}

// threadNamed finds what a request says of its thread.
var threadNamed = regexp.MustCompile(`number-(\d+)\.`)

func newClockedModel(t *testing.T, script string) *clockedModel {
	t.Helper()
	parsed, err := llmtest.ParseScript([]byte(script))
	must(t, err)
	model, err := llmtest.New(parsed, llmcheck.Dialect)
	must(t, err)
	m := &clockedModel{first: map[string]time.Time{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the server ended
		}
		if all := threadNamed.FindAllSubmatch(body, -1); all != nil && strings.HasSuffix(r.URL.Path, "/chat") {
			m.asked(string(all[len(all)-1][1]))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *clockedModel) asked(number string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.first[number]; !known {
		m.first[number] = time.Now()
	}
}

// since is how long the model was first asked about a thread after that time.
func (m *clockedModel) since(ref thread.Ref, began time.Time) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.first[strconv.Itoa(ref.Number)]
	return at.Sub(began), ok
}

// oneRead is a model that reads one file and answers.
const oneRead = `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {turn: 0}, repeat: true, optional: true, calls: [{name: read_file, arguments: {path: greet.sh}}]}
- {when: {tool_result_contains: greet}, repeat: true, optional: true, say: "It greets. [TASK_COMPLETE]"}
`

// busyWorld is a server with work for many sessions, another process.
func busyWorld(t *testing.T, engine, script string) (*crashWorld, *clockedModel) {
	t.Helper()
	return busyWorldWith(t, engine, script, 20*time.Second)
}

// busyWorldWith is busyWorld with leases of another length.
func busyWorldWith(t *testing.T, engine, script string, ttl time.Duration) (*crashWorld, *clockedModel) {
	t.Helper()
	stage := newScriptedStage(t, "model: {name: m}\nturns: [{say: nothing, repeat: true, optional: true}]\n")
	stage.dir = t.TempDir() // on the disk, as a server's is
	w := stage.world(t, ghcheck.Faults{})
	w.gh.AddUser("me", "write")
	model := newClockedModel(t, script)
	w.child.Model, w.child.Workspace = model.url, engine
	w.child.TTL = ttl
	w.child.Sessions = config.Sessions{AtOnce: manyAtOnce, PerUser: manyAtOnce * 3 / 4}
	w.child.Quotas = config.Quotas{Sender: -1, Thread: -1, Repository: -1, Installation: -1, Lookups: -1, WritesPerMinute: 1e6, WritesPerHour: 1e6}
	w.start(t, 0)
	return w, model
}

// fewAt is the place in each five requests of the one by the second person: in the middle,
// so that the median of that person's is no later by itself.
const fewAt = 2

// askAll writes the same request in n new issues, most of them by one person.
func (w *crashWorld) askAll(t *testing.T, n int, request string) (refs []thread.Ref, began []time.Time) {
	t.Helper()
	for range n {
		ref, err := w.gh.OpenIssue(w.repo, "you", "A question", "It is short.")
		must(t, err)
		refs = append(refs, ref)
	}
	for i, ref := range refs {
		who := "you"
		if i%5 == fewAt {
			who = "me"
		}
		began = append(began, time.Now())
		_, err := w.gh.Comment(ref, who, fmt.Sprintf("/agent %s number-%d.", request, ref.Number))
		must(t, err)
	}
	return refs, began
}

// printedError waits until the bot's words in each thread hold all of words.
func (w *crashWorld) said(t *testing.T, refs []thread.Ref, words ...string) {
	t.Helper()
	left := slices.Clone(refs)
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Duration(len(refs))*time.Second)
	defer cancel()
	err := w.gh.Wait(ctx, func(gh *ghtest.Server) bool {
		left = slices.DeleteFunc(left, func(ref thread.Ref) bool {
			return slices.ContainsFunc(gh.Thread(ref).Comments, func(c ghtest.Comment) bool {
				return c.Author == gh.App().Login && containsAllOf(c.Body, words)
			})
		})
		return len(left) == 0
	})
	if err != nil {
		w.issue = left[0]
		t.Fatalf("%d threads do not say %q: %v\n%s\n%s", len(left), words, err, w.thread(), w.log.String())
	}
}

// measured prints figures in the form of a benchmark, for the table of `make bench`.
func measured(name string, figures ...any) {
	line := "Benchmark" + name + "\t1"
	for i := 0; i+1 < len(figures); i += 2 {
		value := figures[i]
		if d, ok := value.(time.Duration); ok {
			value = float64(d.Microseconds()) / 1000
		}
		line += fmt.Sprintf("\t%v %s", value, figures[i+1])
	}
	fmt.Println(line)
}

// TestManySessions: sessions that are asked for at once by two people are all
// answered, each once, and nobody's wait for the other's to end.
func TestManySessions(t *testing.T) {
	longtest.Leave(t)
	w, model := busyWorld(t, "local", oneRead)
	idle := residentMiB(t, w.cmd.Process.Pid)
	begin := time.Now()
	refs, began := w.askAll(t, *manySessions, "ask what does it do?")
	most := idle
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.said(t, refs, "It greets.")
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-tick.C:
			most = max(most, residentMiB(t, w.cmd.Process.Pid))
		}
	}
	took := time.Since(begin)
	var firsts, few, many []time.Duration
	for i, ref := range refs {
		d, ok := model.since(ref, began[i])
		if !ok {
			t.Errorf("the model was never asked about %s", ref.Key())
		}
		firsts = append(firsts, d)
		if i%5 == fewAt {
			few = append(few, d)
		} else {
			many = append(many, d)
		}
	}
	answers := 0
	for _, ref := range refs {
		for _, c := range w.gh.Thread(ref).Comments {
			if c.Author == w.gh.App().Login && strings.Contains(c.Body, "It greets.") && !strings.Contains(c.Body, "⏳") {
				answers++
			}
		}
	}
	slices.Sort(firsts)
	slices.Sort(few)
	slices.Sort(many)
	if len(few) == 0 || len(many) == 0 || answers < len(refs) {
		t.Fatalf("%d and %d sessions, %d answers", len(few), len(many), answers)
	}
	measured("ManySessions", took/time.Duration(len(refs)), "ms/session", firsts[0], "first-ms", firsts[len(firsts)/2], "median-first-ms", firsts[len(firsts)-1], "last-first-ms",
		few[len(few)/2], "few-first-ms", many[len(many)/2], "many-first-ms", idle, "idle-MiB", most, "peak-MiB", most-idle, "more-MiB")
}

// TestManyParked: a server that has many sessions which wait for a person starts
// as fast as one without, and each of them goes on when it is answered.
func TestManyParked(t *testing.T) {
	longtest.Leave(t)
	w, model := busyWorld(t, "local", `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {turn: 0}, repeat: true, optional: true, calls: [{name: ask_followup_question, arguments: {question: "Which one?", choices: ["the first", "the second"]}}]}
- {when: {contains: the first}, repeat: true, optional: true, say: "The first it is. [TASK_COMPLETE]"}
`)
	began := time.Now()
	refs, _ := w.askAll(t, *manyParked, "ask which one?")
	w.said(t, refs, "Which one?")
	parking := time.Since(began)
	w.said(t, refs, "**awaiting answer**")
	busy := residentMiB(t, w.cmd.Process.Pid)
	if !w.stop(t) {
		t.Fatalf("the server does not end:\n%s", w.log.String())
	}
	copyParked(t, filepath.Join(w.child.Data, "handrail.db"), refs[0].Key(), *manyCopies)
	began = time.Now()
	w.start(t, 0)
	started := time.Since(began)
	resting, own := residentMiB(t, w.cmd.Process.Pid), ownMiB(t, w.cmd.Process.Pid)
	last := refs[len(refs)/2]
	model.mu.Lock()
	delete(model.first, strconv.Itoa(last.Number))
	model.mu.Unlock()
	began = time.Now()
	_, err := w.gh.Comment(last, "you", "/agent the first")
	must(t, err)
	w.said(t, []thread.Ref{last}, "The first it is.")
	woken := time.Since(began)
	asked, _ := model.since(last, began)
	measured("ManyParked", parking/time.Duration(len(refs)), "ms/session", started, "start-ms", asked, "wake-ms", woken, "answer-ms", busy, "busy-MiB", resting, "resting-MiB", own, "own-MiB")
}

// copyParked adds n copies of a thread's session with its log, each in a thread of its own.
func copyParked(t *testing.T, path, thread string, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	const copies = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?1),
		one AS (SELECT * FROM sessions WHERE thread = ?2) `
	for _, stmt := range []string{
		`INSERT INTO sessions (id, thread, repo, requester, state, pull, branch, created, version, doc) ` + copies + `
			SELECT id || '-' || i, thread || i, repo, requester, state, pull, branch, created, version, CAST(
				replace(replace(CAST(doc AS TEXT), '"' || id || '"', '"' || id || '-' || i || '"'), '"' || thread || '"', '"' || thread || i || '"')
				AS BLOB) FROM one, c`,
		`INSERT INTO leases (key, owner, epoch, until, not_before, attempts, wanted) ` + copies + `
			SELECT one.id || '-' || i, l.owner, l.epoch, l.until, l.not_before, l.attempts, l.wanted FROM one JOIN leases l ON l.key = one.id, c`,
		`INSERT INTO events (session, seq, time, turn, type, v, data, prev, hash) ` + copies + `
			SELECT one.id || '-' || i, e.seq, e.time, e.turn, e.type, e.v, e.data, e.prev, e.hash FROM one JOIN events e ON e.session = one.id, c`,
		`INSERT INTO heads (session, seq, hash) ` + copies + `
			SELECT one.id || '-' || i, h.seq, h.hash FROM one JOIN heads h ON h.session = one.id, c`,
	} {
		_, err := db.ExecContext(t.Context(), stmt, n, thread)
		must(t, err)
	}
	var found int
	must(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM sessions WHERE state = 'awaiting answer'`).Scan(&found))
	must(t, db.Close())
	if found < n {
		t.Fatalf("%d sessions wait in the database, want %d more than were asked for", found, n)
	}
}

// TestManyFiles: in a repository of many files, how long somebody waits for the
// first request to the model, and from an approval to the end.
func TestManyFiles(t *testing.T) {
	longtest.Leave(t)
	for _, engine := range []string{"bwrap", "docker"}[:form(1, 2)] {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			w, model := busyWorld(t, engine, `
model: {name: m, tools: true, context: 32768}
select: by-conditions
forget: true
turns:
- {when: {turn: 0}, repeat: true, optional: true, calls: [{name: edit_file, arguments: {path: d00/e00/f0.go, old_string: "= 0", new_string: "= 1"}}]}
- {when: {tool_result_contains: d00/e00/f0.go}, repeat: true, optional: true, calls: [{name: run_terminal_command, arguments: {command: "rm -rf d01/e00"}}]}
- {when: {contains: rm -rf d01}, repeat: true, optional: true, say: "It is one now. [TASK_COMPLETE]"}
`)
			many := manyFilesAnd(t, *filesMany, ".github/agent.yml", "commands: {ask: [rm]}\n") // behind a wall only critical ones ask
			_, err := w.gh.AddRepo("team", "large", ghtest.Source{Path: many})
			must(t, err)
			w.repo = "team/large"
			for _, kind := range []string{"First", "Known"} {
				refs, began := w.askAll(t, 1, "make it one.")
				w.said(t, refs, "Approval `")
				first, ok := model.since(refs[0], began[0])
				if !ok {
					t.Fatal("the model was not asked")
				}
				w.said(t, refs, "**awaiting approval**")
				answered := time.Now()
				_, err := w.gh.Comment(refs[0], "you", "/agent approve")
				must(t, err)
				w.said(t, refs, "**done**", "Pull request: #")
				measured("ManyFiles"+kind+"/"+engine, first, "first-request-ms", time.Since(answered), "approved-to-done-ms")
			}
		})
	}
}
