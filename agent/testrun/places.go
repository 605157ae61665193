package testrun

import (
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Place is a line of a file that a program's output names.
type Place struct {
	Path string
	Line int // from 1
}

// place matches "add_test.go:8", `File "/workspace/test_a.py", line 12` and
// "file:///workspace/a.test.js:3:5".
var place = pattern.Lazy(`(?:^|[\s("'\[/])((?:/|\./)?[\w@+.-]+(?:/[\w@+.-]+)*\.[A-Za-z]\w*)(?::|", line )(\d{1,6})\b`)

// Places returns the lines of files that output names, in its order, each once.
func Places(output string) (out []Place) {
	for _, m := range place().FindAllStringSubmatch(output, -1) {
		n, err := strconv.Atoi(m[2])
		p := Place{m[1], n}
		if err == nil && n > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// foreignFrame matches a frame of a stack in code of the runtime or of a dependency.
var foreignFrame = pattern.Lazy(`\(?\bnode:[\w/]+:\d+|/node_modules/\S+:\d+|/site-packages/\S+|/usr/(?:local/)?lib/\S+:\d+`)

// Own returns output without the frames of stacks that are in code of the runtime or of a
// dependency: a model can change neither.
func Own(output string) string {
	var out strings.Builder
	for line := range strings.Lines(output) {
		if !foreignFrame().MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}
