package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shadowed are programs that later commands of the same shell trust to be
// what they are called.
const shadowed = "git gh ssh scp sudo curl wget npm npx pnpm yarn node pip python python3 go cargo make docker kubectl terraform ls cat grep rm cp mv cd echo printf test env sh bash find sed awk tar source eval exec"

// shadowAlias rates an alias that has the name of a program and runs another.
func (m *machine) shadowAlias(name, text string) {
	if !hasWord(shadowed, name) {
		return
	}
	words := strings.Fields(text)
	if len(words) > 0 && !namesProgram(words, name) {
		m.r.hit("shadow", name+"="+text)
	}
}

// namesProgram reports whether one of the words is the program of that name
// where the system keeps it.
func namesProgram(words []string, name string) bool {
	for _, w := range words {
		if strings.TrimLeft(w, `\`) == name || programName(w) == name && strings.HasPrefix(w, "/usr/") {
			return true
		}
	}
	return false
}

// shadowFunction rates a function that has the name of a program and does
// not come to run it.
func (m *machine) shadowFunction(name string, body *syntax.Stmt) {
	if !hasWord(shadowed, name) || body == nil {
		return
	}
	own := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && namesProgram([]string{w.Lit()}, name) {
			own = true
		}
		return !own
	})
	if !own {
		m.r.hit("shadow", name)
	}
}
