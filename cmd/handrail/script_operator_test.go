package main

import (
	"fmt"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// operators are what whoever runs the server does at its side.
var operators = []scriptVerb{
	{"operator", "ARGUMENT...", 1, 99, (*stage).operator},
}

// operator runs handrail with the environment of the server, and prints what it says.
func (s *stage) operator(ts *testscript.TestScript, args []string) error {
	cmd := exec.Command("handrail", args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "OLLAMA_HOST", "HANDRAIL_MODEL", "COLUMNS"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(cmd.Env, s.env...)
	out, err := cmd.CombinedOutput()
	fmt.Fprint(ts.Stdout(), s.names.stable(string(out)))
	return err
}
