package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/webflow"
)

// signatures prints what git, with gpg and ssh-keygen, says of the commits of a
// branch.
func (s *stage) signatures(ts *testscript.TestScript, args []string) error {
	name, err := s.oneBranch(args[0])
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
	key, err := webflow.PublicKey()
	if err != nil {
		return err
	}
	if _, err := git(key, "gpg", "--batch", "--quiet", "--import"); err != nil {
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
