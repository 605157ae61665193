package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

// outages are the commands of a story for what a server can do without for a
// while.
var outages = []scriptVerb{
	{"setting", "NAME=VALUE", 1, 1, (*stage).setting},
	{"model-down", "", 0, 0, (*stage).modelDown},
	{"model-up", "", 0, 0, (*stage).modelUp},
	{"delete", "USER NUMBER COMMENT", 3, 3, (*stage).remove},
	{"unreachable", "", 0, 0, (*stage).beyondReach},
	{"server-down", "", 0, 0, (*stage).serverDown},
	{"server-up", "", 0, 0, func(s *stage, ts *testscript.TestScript, _ []string) error { return s.start(ts) }},
	{"uninstall", "yes|no", 1, 1, (*stage).uninstall},
	{"lock", "NUMBER", 1, 1, (*stage).lock},
	{"suspend", "yes|no", 1, 1, (*stage).suspend},
	{"ready", "PATTERN", 1, 1, (*stage).ready},
	{"fails", "REQUEST", 1, 1, (*stage).fails},
	{"works", "", 0, 0, (*stage).works},
	{"logged", "PATTERN", 1, 1, (*stage).logged},
	{"held", "PATTERN", 1, 1, (*stage).held},
}

// front is where a model's server is reached: it can be away, and come back at
// the same address.
type front struct {
	handler http.Handler
	addr    string
	server  *http.Server

	stalled, release, served func(context.Context) error // of a model, see [llmtest.Server]
	refused                  func() int
	wrong                    func() error
}

func newFront(t *testing.T, ts *testscript.TestScript, h http.Handler) *front {
	f := &front{handler: h, addr: steadyAddress(t)}
	for f.up() != nil { // another program took the port meanwhile
		f.addr = steadyAddress(t)
	}
	ts.Defer(f.down)
	return f
}

func (f *front) up() error {
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	f.server = &http.Server{Handler: f.handler, ReadHeaderTimeout: patience}
	go func() { _ = f.server.Serve(l) }() // down ends it
	return nil
}

func (f *front) down() { _ = f.server.Close() }

func (s *stage) modelDown(*testscript.TestScript, []string) error {
	s.model.down()
	return nil
}

func (s *stage) modelUp(*testscript.TestScript, []string) error { return s.model.up() }

// setting changes what the server finds in its environment. APP is the number of the
// App, API the address of GitHub, MODEL that of the model.
func (s *stage) setting(_ *testscript.TestScript, args []string) error {
	name, value, ok := strings.Cut(args[0], "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", args[0])
	}
	value = strings.NewReplacer("APP", fmt.Sprint(s.gh.App().ID), "API", s.gh.URL(), "MODEL", "http://"+s.model.addr).Replace(value)
	s.env = slices.DeleteFunc(s.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	s.env = append(s.env, name+"="+value)
	return nil
}

// fails has GitHub answer 502 to what matches REQUEST, "METHOD PATH" as a pattern: its API,
// and the code there. Works ends that.
func (s *stage) fails(_ *testscript.TestScript, args []string) error {
	re, err := regexp.Compile(args[0])
	if err == nil {
		s.gh.SetFaults(ghcheck.Faults{BadGateway: 1, Git: true, Match: func(r *http.Request) bool {
			return re.MatchString(r.Method + " " + r.URL.Path + " " + r.Header.Get("Accept"))
		}})
	}
	return err
}

func (s *stage) works(*testscript.TestScript, []string) error {
	if s.gh.FaultsInjected() == 0 {
		return errors.New("nothing failed")
	}
	s.gh.SetFaults(ghcheck.Faults{})
	return nil
}

func (s *stage) lock(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[0])
	if err != nil {
		return err
	}
	return s.gh.Lock(at, true)
}

func (s *stage) suspend(_ *testscript.TestScript, args []string) error {
	s.gh.Suspend(s.installation, args[0] == "yes")
	return nil
}

// beyondReach puts the server where GitHub does not reach it. The server has no secret
// of a webhook either.
func (s *stage) beyondReach(*testscript.TestScript, []string) error {
	s.unreachable = true
	s.env = slices.DeleteFunc(s.env, func(v string) bool { return strings.HasPrefix(v, "HANDRAIL_WEBHOOK_SECRET=") })
	s.env = append(s.env, "HANDRAIL_LOG_KEY=as long and as random as it should be")
	s.gh.SetWebhook(nobody)
	return nil
}

// nobody is an address where nobody answers.
const nobody = "http://127.0.0.1:1/webhook"

// serverDown ends the server. What happens before it is up again is not delivered.
func (s *stage) serverDown(*testscript.TestScript, []string) error {
	err := s.end(syscall.SIGTERM)
	if !s.unreachable {
		s.gh.SetWebhook("")
	}
	return err
}

// uninstall takes the App off the repository, of which GitHub tells it, and lets it
// in again.
func (s *stage) uninstall(_ *testscript.TestScript, args []string) error {
	owner, name, _ := strings.Cut(scriptRepository, "/")
	if err := s.gh.Uninstall(scriptRepository, args[0] == "yes"); err != nil || args[0] != "yes" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.gh.Deliver(ctx, "installation_repositories", fmt.Appendf(nil, `{"action": "removed", "installation": {"id": %d, "account": {"login": %q, "id": 1}},
		"repository_selection": "selected", "repositories_added": [], "repositories_removed": [{"id": 1, "name": %q, "full_name": %q, "private": false}],
		"sender": {"login": "sam", "id": 2, "type": "User"}}`, s.installation, owner, name, scriptRepository))
	return err
}

// remove deletes a comment, counted as the thread shows them.
func (s *stage) remove(_ *testscript.TestScript, args []string) error {
	at, err := s.ref(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[2])
	if list := s.gh.Thread(at).Comments; err == nil && n > 0 && n <= len(list) {
		return s.gh.DeleteComment(at, list[n-1].ID, args[0])
	}
	return fmt.Errorf("%s has no comment %s", at, args[2])
}

// ready waits until /readyz answers a line that matches.
func (s *stage) ready(ts *testscript.TestScript, args []string) error {
	return s.untilThere(ts, args[0], func() (string, error) {
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, text), err
	})
}

// logged waits until the server's log has a line that matches.
func (s *stage) logged(ts *testscript.TestScript, args []string) error {
	return s.untilThere(ts, args[0], func() (string, error) { return ts.ReadFile("server.log"), nil })
}

// held has another connection hold the database, as a process does that was suspended in a
// transaction, until the server's log has a further line that matches.
func (s *stage) held(ts *testscript.TestScript, args []string) error {
	re, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.data, "handrail.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	ctx, stop := s.waiting()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		stop()
		return errors.Join(err, db.Close())
	}
	before, freed := len(ts.ReadFile("server.log")), make(chan struct{})
	go func() {
		defer close(freed)
		for ctx.Err() == nil && !re.MatchString(ts.ReadFile("server.log")[before:]) {
			pause(20 * time.Millisecond)
		}
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			s.t.Error(err)
		}
	}()
	ts.Defer(func() {
		stop()
		<-freed
	})
	return nil
}

func (s *stage) untilThere(ts *testscript.TestScript, pattern string, read func() (string, error)) error {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return err
	}
	ctx, stop := s.waiting()
	defer stop()
	for ; ; pause(20 * time.Millisecond) {
		text, err := read()
		if err != nil {
			return err
		}
		if re.MatchString(text) {
			fmt.Fprint(ts.Stdout(), text)
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("there is no %q: %w\n%s", pattern, context.Cause(ctx), text)
		}
	}
}
