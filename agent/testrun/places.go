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
// dependency: a model can change neither. Beside a test that failed, those that passed are left out with
// their headings: the output is cut to its end, and the failure may be above them.
func Own(output string) string {
	fails := slices.ContainsFunc(strings.Split(output, "\n"), oneFailed().MatchString)
	var out strings.Builder
	heading := ""
	for line := range strings.Lines(output) {
		text := strings.TrimRight(line, "\r\n")
		switch {
		case foreignFrame().MatchString(text):
		case fails && strings.HasPrefix(text, "# "): // of TAP: the tests below it
			heading = line
		case fails && onePassed().MatchString(text): //control:passed-tests-are-left-out
			heading = ""
		default:
			out.WriteString(heading + line)
			heading = ""
		}
	}
	return out.String() + heading
}
