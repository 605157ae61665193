package main

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// forks are the commands of a story for people who work on a repository of their own.
var forks = []scriptVerb{
	{"fork", "USER", 1, 1, (*stage).fork},
	{"push-fork", "USER BRANCH FILE...", 3, 99, (*stage).pushFork},
	{"fork-head", "USER BRANCH", 2, 2, (*stage).forkHead},
}

func (s *stage) fork(_ *testscript.TestScript, args []string) error {
	return s.gh.Fork(scriptRepository, args[0])
}

// pushFork commits files to a branch of a person's fork.
func (s *stage) pushFork(ts *testscript.TestScript, args []string) error {
	files := map[string]string{}
	for _, name := range args[2:] {
		files[forkPath(name)] = ts.ReadFile(name)
	}
	_, err := s.gh.Push(args[0]+"/app", args[1], args[0], files)
	return err
}

// forkPath is where a file of the story goes: one of the directory fork, to its root.
func forkPath(name string) string {
	if rest, ok := strings.CutPrefix(name, "fork/"); ok {
		return rest
	}
	return name
}

// forkHead gives the commit at the end of a fork's branch its short name.
func (s *stage) forkHead(ts *testscript.TestScript, args []string) error {
	sha := s.gh.Branch(args[0]+"/app", args[1])
	if sha == "" {
		return fmt.Errorf("%s has no branch %s", args[0], args[1])
	}
	fmt.Fprintln(ts.Stdout(), s.names.stable(sha))
	return nil
}
