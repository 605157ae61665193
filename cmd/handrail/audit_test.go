package main

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

// auditOf runs `audit verify` as somebody who has, or lacks, the key.
func auditOf(t *testing.T, s *story, key string, args ...string) (string, int) {
	t.Helper()
	t.Setenv("HANDRAIL_LOG_KEY", key)
	out, errs, code := atDoor(t, "", append([]string{"audit", "verify", "--data", s.cfg.Data}, args...)...)
	return out + errs, code
}

// replayWith prints the events of the story's session as somebody with the key, who has
// no other secret of the server.
func replayWith(t *testing.T, s *story, key string) string {
	t.Helper()
	id := s.events()[0]
	p, err := session.Decode[session.Opened](id)
	must(t, err)
	t.Setenv("HANDRAIL_LOG_KEY", key)
	out, errs, code := atDoor(t, "", "replay", "--events", p.Task.Session, "--data", s.cfg.Data)
	if code != exitDone {
		t.Fatalf("replay ends with %d: %s", code, errs)
	}
	return out
}

// forge changes one event of the database and makes the whole chain anew, as the
// database's owner can.
func forge(t *testing.T, s *story, old, forged string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.cfg.Data, "handrail.db"))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	events := s.events()
	list := make([]*session.Event, len(events))
	changed := 0
	for i := range events {
		changed += bytes.Count(events[i].Data, []byte(old))
		events[i].Data = bytes.ReplaceAll(events[i].Data, []byte(old), []byte(forged))
		list[i] = &events[i]
	}
	if changed == 0 {
		t.Fatalf("no event has %q", old)
	}
	session.Chain(0, "", list)
	dropTriggers(t, db, "events")
	for _, e := range list {
		_, err := db.ExecContext(t.Context(), `UPDATE events SET data = ?, prev = ?, hash = ? WHERE seq = ?`, []byte(e.Data), e.Prev, e.Hash, e.Seq)
		must(t, err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE heads SET hash = ?`, list[len(list)-1].Hash)
	must(t, err)
}

// dropTriggers takes away what keeps a table append-only for everybody but its owner.
func dropTriggers(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?`, table)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Err())
	for _, name := range names {
		_, err := db.ExecContext(t.Context(), `DROP TRIGGER `+name)
		must(t, err)
	}
}

// TestForgedChain: a chain that was made anew is found by the signature of its end,
// and where nothing can be told, it is said.
func TestForgedChain(t *testing.T) {
	longtest.Leave(t)
	const key = "a key that is not in the database"
	s := newStory(t, greeting, fixGreeting)
	s.stop()
	s.cfg.LogKey = secret.Value(key)
	s.start()
	s.say("you", "/agent fix the greeting")
	s.done()
	s.stop()
	if out, code := auditOf(t, s, key, "--signed"); code != exitDone || !strings.Contains(out, "events: ok, signed, sealed files: 1 (key ") {
		t.Fatalf("a true log: %d\n%s", code, out)
	}
	forge(t, s, "Hello", "Hallo")
	for _, c := range []struct {
		name, key string
		args      []string
		want      []string
		code      int
	}{
		{"with the key", key, nil, []string{"BROKEN: event", "is not the one that was signed: the log was made anew", "1 broken"}, exitFailed},
		{"without it", "", nil, []string{"events: ok, signed, but the key ", " is not here: set HANDRAIL_LOG_KEY", "0 broken, 1 signed with a key that is not here\n", "cannot be told whether the whole chain of a log was made anew"}, exitDone},
		{"with another", "another key", nil, []string{"events: ok, signed, but the key ", " is not here: the environment sets another one, ", "0 broken, 1 signed with a key that is not here\n"}, exitDone},
		{"signed is asked for", "", []string{"--signed"}, []string{"BROKEN: its signature cannot be checked: the key ", " is not here: set HANDRAIL_LOG_KEY", "1 broken\n"}, exitFailed},
		{"signed is asked for with another", "another key", []string{"--signed"}, []string{"BROKEN: its signature cannot be checked: the key ", "the environment sets another one"}, exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := auditOf(t, s, c.key, c.args...)
			for _, w := range c.want {
				if code != c.code || !strings.Contains(out, w) {
					t.Errorf("%d, no %q in\n%s", code, w, out)
				}
			}
		})
	}
}

// TestContentsAreSealed: what a log keeps of half-done files is encrypted, opens for a
// machine with the key, and without it the session goes on from its last commit.
func TestContentsAreSealed(t *testing.T) {
	longtest.Leave(t)
	for name, other := range map[string]secret.Value{"same key": "first", "other key": "second"} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, greeting, `
- calls:
  - {name: run_terminal_command, arguments: {command: "printf 'hid%s' den-words > made.txt"}}
  - {name: run_terminal_command, arguments: {command: rm -rf build}}
- {say: "Both are done. [TASK_COMPLETE]", repeat: true}
`)
			s.stop()
			s.cfg.LogKey = "first"
			s.start()
			s.say("you", "/agent make the file and clean the build")
			id := s.request()
			s.until("**awaiting approval**")
			s.stop()
			kept := 0
			for _, e := range s.events() {
				cp, err := session.Decode[session.Checkpoint](e)
				if e.Type != session.TypeCheckpoint || err != nil {
					continue
				}
				for _, f := range cp.Content {
					kept++
					if f.Sealed == "" || bytes.Contains(f.Data, []byte("hidden")) {
						t.Errorf("%s is kept as %q", f.Path, f.Data)
					}
				}
			}
			if kept == 0 {
				t.Fatal("nothing was kept")
			}
			hidden := base64.StdEncoding.EncodeToString([]byte("hidden-words"))
			for key, opens := range map[string]bool{"first": true, "second": false} {
				out := replayWith(t, s, key)
				if strings.Contains(out, hidden) != opens || strings.Contains(out, "Not shown: the content of sealed files: 1 (key ") == opens {
					t.Errorf("replay with the key %q:\n%s", key, out)
				}
			}
			s.cfg.LogKey = other
			s.loseWork()
			s.start()
			s.say("you", "/agent approve "+id)
			if name == "same key" {
				s.done()
				if got := s.file(s.pull().Pull.HeadRef, "made.txt"); got != "hidden-words" {
					t.Errorf("made.txt = %q", got)
				}
				return
			}
			s.until("**done**", "Reverted a change")
			if !strings.Contains(s.log.String(), "this server's key does not open") {
				t.Error("the operator is not told")
			}
		})
	}
}
