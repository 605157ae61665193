package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
)

// others are the commands of a story about repositories besides team/app.
var others = []scriptVerb{
	{"repository", "NAME [DIR]", 1, 2, (*stage).repository},
	{"visibility", "NAME public|private", 2, 2, (*stage).visibility},
	{"role", "USER NAME ROLE", 3, 3, (*stage).role},
	{"rename", "NAME TO", 2, 2, (*stage).rename},
}

func (s *stage) repository(ts *testscript.TestScript, args []string) (err error) {
	var src ghtest.Source
	if len(args) == 2 {
		if src.Files, err = storyFiles(ts, args[1]); err != nil {
			return err
		}
	}
	owner, name, _ := strings.Cut(args[0], "/")
	_, err = s.gh.AddRepo(owner, name, src)
	return err
}

func (s *stage) visibility(_ *testscript.TestScript, args []string) error {
	return s.gh.Hide(args[0], args[1] == "private")
}

func (s *stage) role(_ *testscript.TestScript, args []string) error {
	return s.gh.Grant(args[1], args[0], args[2])
}

func (s *stage) rename(_ *testscript.TestScript, args []string) error {
	return s.gh.Rename(args[0], args[1])
}
