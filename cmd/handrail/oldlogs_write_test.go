package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/cmd/sessions"
	"github.com/handrail-bot/handrail/policy/secret"
)

var writeOldLogs = flag.String("oldlogs.write", "", "write what this version leaves behind to a new folder of this name in testdata/oldlogs")

// writeOld makes a folder with what this version leaves behind. One that is
// there stays as it is: it came from another version.
func writeOld(t *testing.T, dir string) {
	must(t, os.Mkdir(dir, 0o755))
	var ids []string
	sqlite := &oldWriter{dir: dir, kind: "sqlite"}
	sqlite.tell(t, "", func(db *sql.DB) {
		copied := filepath.Join(t.TempDir(), "copy.db")
		_, err := db.ExecContext(t.Context(), "VACUUM INTO ?", copied)
		must(t, err)
		data, err := os.ReadFile(copied)
		must(t, err)
		zipTo(t, filepath.Join(dir, "handrail.db.gz"), data)
		for i, old := range oldSessions {
			row, err := sqlite.db.Sessions.ByThread(t.Context(), oldThread(i).Key())
			must(t, err)
			ids = append(ids, row.ID)
			ok(t, "sessions", "export", row.ID, "--database", copied, "-o", filepath.Join(dir, old.name+".jsonl"))
		}
		writeRefs(t, dir, ids, copied)
	})
	server := storetest.StartPostgres(t, false)
	url := server.Database(t)
	postgres := &oldWriter{dir: dir, kind: "postgres"}
	postgres.tell(t, url, func(*sql.DB) {
		path := filepath.Join(t.TempDir(), "dump.sql")
		server.Dump(t, url, path)
		data, err := os.ReadFile(path)
		must(t, err)
		zipTo(t, filepath.Join(dir, "handrail.sql.gz"), data)
	})
	writeRun(t, dir)
}

func zipTo(t *testing.T, path string, data []byte) {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(t, err)
	_, err = zip.Write(data)
	must(t, errors.Join(err, zip.Close(), os.WriteFile(path, out.Bytes(), 0o644))) //nolint:gosec // it goes into the repository
}

// oldWriter tells the sessions to a server on one kind of database.
type oldWriter struct {
	dir, kind string
	db        store.Store
	stuck     chan struct{} // closed when the session that crashes is inside its call
}

// tell plays all sessions to where this version leaves them, and saves what
// is there at that moment.
func (w *oldWriter) tell(t *testing.T, database string, save func(*sql.DB)) {
	t.Helper()
	s := &story{t: t, log: &syncBuffer{}, ghDir: t.TempDir(), model: oldScript(t, true)}
	var err error
	s.gh, err = ghcheck.New(ghtest.Config{Dir: s.ghDir})
	must(t, err)
	must(t, s.gh.Start())
	defer func() { must(t, s.gh.Close()) }()
	oldRepo(t, s.gh, ghtest.Source{Files: greeting})
	for _, old := range oldSessions {
		_, err := s.gh.OpenIssue(storyRepo, "you", "The wish "+old.name, "")
		must(t, err)
	}
	takeIDs(s.gh, s.gh.UserID("you")+100) // room for pull requests, which are opened before the comments when all is restored
	app := s.gh.App()
	s.cfg = config.Server{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Workspace: "local", Database: database,
		GitHub: config.GitHub{API: s.gh.URL(), AppID: app.ID, Key: app.Key, WebhookSecret: secret.Value(app.WebhookSecret)},
		Model:  config.Model{Name: "m", Ollama: s.model.URL()},
	}
	w.stuck = make(chan struct{})
	s.startWith(serverOptions{spacing: -1, settle: 100 * time.Millisecond, every: 50 * time.Millisecond, wrap: func(db store.Store) store.Store {
		w.db = db
		db.Logs = stuckLogs{db.Logs, w}
		return db
	}})
	defer s.stop()
	for i, old := range oldSessions {
		s.issue = oldThread(i)
		s.say("you", old.wish)
		switch old.name {
		case "crash":
			<-w.stuck
		case "done":
			s.done()
		case "stopped":
			s.until("**awaiting approval**")
			s.say("you", "/agent stop")
		}
		s.until("**" + old.state + "**")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, settledOld(ctx, s.srv.store.Store))
	must(t, s.gh.Flush(ctx))
	file, err := sql.Open("sqlite", filepath.Join(s.cfg.Data, "handrail.db"))
	must(t, err)
	save(file)
	must(t, file.Close())
	bundle, err := filepath.Abs(filepath.Join(w.dir, "repo-"+w.kind+".bundle"))
	must(t, err)
	gitRun(t, "-C", filepath.Join(s.ghDir, "repos", "team", "app.git"), "bundle", "create", "--quiet", bundle, "HEAD", "--branches")
	text, err := json.MarshalIndent(s.gh.Threads(storyRepo), "", " ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.dir, "threads-"+w.kind+".json"), append(text, '\n'), 0o644)) //nolint:gosec // it goes into the repository
}

// stuckLogs never takes the result of a command of the session that crashes.
type stuckLogs struct {
	store.Logs
	w *oldWriter
}

// Log implements [store.Logs].
func (l stuckLogs) Log(f store.Fence) session.Log { return stuckLog{l.Logs.Log(f), l.w} }

type stuckLog struct {
	session.Log
	w *oldWriter
}

// Append implements [session.Log].
func (l stuckLog) Append(ctx context.Context, events ...*session.Event) error {
	if slices.ContainsFunc(events, func(e *session.Event) bool { return e.Type == session.TypeResult }) {
		all, err := l.Events(ctx, 0)
		if err != nil {
			return err
		}
		if strings.Contains(string(all[0].Data), "The wish crash") {
			close(l.w.stuck)
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return l.Log.Append(ctx, events...)
}

// writeRefs puts the logs into refs.
func writeRefs(t *testing.T, dir string, ids []string, database string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.git")
	gitRun(t, "init", "--quiet", "--bare", path)
	db, err := records.Open(t.Context(), config.Server{Database: database}, logger(os.Stderr, "error"))
	must(t, err)
	must(t, sessions.WithRepository(t.Context(), &door.Console{Log: logger(os.Stderr, "error")}, threadref.GitAddress+path, func(r *threadref.Repository) error {
		for _, id := range ids {
			events, err := db.Logs.Log(store.Fence{Key: id}).Events(t.Context(), 0)
			must(t, err)
			must(t, threadref.Import(t.Context(), r, id, events))
		}
		return nil
	}))
	must(t, db.Close())
	bundle, err := filepath.Abs(filepath.Join(dir, "refs.bundle"))
	must(t, err)
	gitRun(t, "-C", path, "bundle", "create", "--quiet", bundle, "--glob=refs/agent/*")
}

// writeRun keeps the log of a session of the command line up to its first
// call, as a kill inside the call leaves it.
func writeRun(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	clone := filepath.Join(t.TempDir(), "clone")
	gitRun(t, "clone", "--quiet", "--branch", "main", filepath.Join(dir, "repo-sqlite.bundle"), clone)
	t.Setenv("OLLAMA_HOST", oldScript(t, false).URL())
	ok(t, "run", "--repo", clone, "--task", "The wish crash: note it", "--workspace", "local", "--model", "m")
	sessions, err := local.Dir()
	must(t, err)
	list, err := filepath.Glob(filepath.Join(sessions, "*.jsonl"))
	must(t, err)
	data, err := os.ReadFile(list[0])
	must(t, err)
	var kept []string
	for line := range strings.Lines(string(data)) {
		kept = append(kept, line)
		if strings.Contains(line, fmt.Sprintf(`"type":%q`, session.TypeStarted)) {
			break
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "run.jsonl"), []byte(strings.Join(kept, "")), 0o644)) //nolint:gosec // it goes into the repository
}

// settledOld waits until the server has nothing to write and nobody works,
// but on the session that crashes.
func settledOld(ctx context.Context, db store.Store) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		busy := false
		for i, old := range oldSessions {
			row, err := db.Sessions.ByThread(ctx, oldThread(i).Key())
			if err != nil {
				return err
			}
			open, err := db.Intents.Open(ctx, row.ID)
			if err != nil {
				return err
			}
			l, err := db.Leases.Lease(ctx, row.Thread)
			if err != nil {
				return err
			}
			busy = busy || old.name != "crash" && (len(open) > 0 || l.Owner != "")
		}
		if !busy {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(errors.New("the sessions do not come to rest"), ctx.Err())
		}
	}
}

func stateOf(ctx context.Context, logs store.Logs, id string) (*session.State, error) {
	events, err := logs.Log(store.Fence{Key: id}).Events(ctx, 0)
	if err != nil {
		return nil, err
	}
	return session.Fold(events)
}
