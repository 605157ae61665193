package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/webflow"
)

// signing are the commands of a story for commits and who signs them.
var signing = []scriptVerb{
	{"refs", "", 0, 0, (*stage).refs},
	{"signatures", "BRANCH [ALLOWED]", 1, 2, (*stage).signatures},
	{"head", "BRANCH", 1, 1, (*stage).head},
	{"dies-at", "REQUEST", 1, 1, (*stage).diesAt},
	{"revive", "", 0, 0, (*stage).revive},
}

// head gives the commit at the end of a branch its short name.
func (s *stage) head(ts *testscript.TestScript, args []string) error {
	name, err := s.oneBranch(scriptRepository, args[0])
	fmt.Fprintln(ts.Stdout(), s.names.stable(s.gh.Branch(scriptRepository, name)))
	return err
}

// diesAt has the server die at a request to GitHub, "METHOD PATH" as a pattern: GitHub
// does what it is asked for, and nobody hears of it.
func (s *stage) diesAt(_ *testscript.TestScript, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	server := s.server
	var once sync.Once
	s.gh.SetFaults(ghcheck.Faults{Lost: 1, Match: func(r *http.Request) (here bool) {
		if re.MatchString(r.Method + " " + r.URL.Path) {
			once.Do(func() { here = server.Process.Kill() == nil })
		}
		return here
	}})
	return nil
}

// revive waits until the server has died, and starts it again.
func (s *stage) revive(ts *testscript.TestScript, _ []string) error {
	select {
	case <-s.ended:
	case <-time.After(patience):
		return errors.New("the server does not die")
	}
	if s.gh.FaultsInjected() == 0 {
		return errors.New("the server died somewhere else")
	}
	s.server = nil
	s.gh.SetFaults(ghcheck.Faults{})
	if err := s.letGo(); err != nil {
		return err
	}
	return s.start(ts)
}

// gpgKey makes a key for signing, in the file NAME; git knows it when it looks at
// signatures.
func gpgKey(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "NAME")
	home := ts.MkAbs(".keys")
	ts.Check(os.MkdirAll(home, 0o700))
	gpg := func(args ...string) {
		cmd := exec.Command("gpg", append([]string{"--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
		cmd.Env = append(os.Environ(), "GNUPGHOME="+home, "HOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("gpg: %v\n%s", err, out)
		}
	}
	gpg("--quick-gen-key", "Handrail <handrail@example.com>", "ed25519", "sign", "never")
	gpg("--output", ts.MkAbs(args[0]), "--armor", "--export-secret-keys")
	ts.Defer(func() {
		stop := exec.Command("gpgconf", "--kill", "all")
		stop.Env = append(os.Environ(), "GNUPGHOME="+home, "HOME="+home)
		_ = stop.Run()
	})
}

// signatures prints what git, with gpg and ssh-keygen, says of the commits of a
// branch.
func (s *stage) signatures(ts *testscript.TestScript, args []string) error {
	name, err := s.oneBranch(scriptRepository, args[0])
	if err != nil {
		return err
	}
	home := ts.MkAbs(".keys")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	git := func(in, program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Env, cmd.Stdin = append(os.Environ(), "GNUPGHOME="+home, "HOME="+home, "GIT_CONFIG_NOSYSTEM=1"), strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", program, err, out)
		}
		return string(out), err
	}
	signer, err := webflow.Key()
	if err != nil {
		return err
	}
	var key strings.Builder
	if err := signer.Serialize(&key); err != nil {
		return err
	}
	if _, err := git(key.String(), "gpg", "--batch", "--quiet", "--import"); err != nil {
		return err
	}
	allowed := "/dev/null"
	if len(args) == 2 {
		allowed = ts.MkAbs(args[1])
	}
	dir, err := s.gh.Dir(scriptRepository)
	if err != nil {
		return err
	}
	out, err := git("", "git", "-C", dir, "-c", "gpg.ssh.allowedSignersFile="+allowed, "log", "--format=%G? %an <%ae> %cn <%ce> %s", name)
	for _, account := range []string{s.gh.App().Login, "kim", "sam", "stranger"} { // their numbers are different in every run
		if id := s.gh.UserID(account); id != 0 {
			out = strings.ReplaceAll(out, strconv.FormatInt(id, 10)+"+"+account, "ID+"+account)
		}
	}
	fmt.Fprint(ts.Stdout(), out)
	return err
}

// sshKey makes a key for signing.
func sshKey(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, "NAME")
	name := ts.MkAbs(args[0])
	if out, err := exec.Command("ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", name).CombinedOutput(); err != nil {
		ts.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(name + ".pub")
	ts.Check(err)
	ts.Check(os.WriteFile(name+".allowed", append([]byte("* "), public...), 0o600))
}

// refs prints the names of the repository's refs.
func (s *stage) refs(ts *testscript.TestScript, _ []string) error {
	dir, err := s.gh.Dir(scriptRepository)
	if err != nil {
		return err
	}
	out, err := exec.Command("git", "-C", dir, "for-each-ref", "--format=%(refname)").Output()
	fmt.Fprint(ts.Stdout(), string(out))
	return err
}
