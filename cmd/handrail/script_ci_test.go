package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

// ci has a job of the repository's CI end at the head of a branch.
func (s *stage) ci(ts *testscript.TestScript, args []string) error {
	branch, err := s.oneBranch(scriptRepository, args[0])
	if err != nil {
		return err
	}
	job, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	_, err = s.gh.RunCheck(scriptRepository, s.gh.Branch(scriptRepository, branch),
		ghcheck.Result{ID: job, Name: args[2], Conclusion: args[3], Log: ts.ReadFile(args[4])})
	return err
}
