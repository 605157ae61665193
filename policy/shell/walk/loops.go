package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// while follows a loop: as long as the condition is known to hold, or the
// input has lines left, and twice otherwise.
func (w *Walk) while(c *syntax.WhileClause) string {
	var b strings.Builder
	goes, ends := succeeded, failed
	if c.Until {
		goes, ends = ends, goes
	}
	for round := range maxLoop {
		w.status = unsure
		left := len(w.Waiting())
		b.WriteString(w.stmts(c.Cond))
		cond := w.status
		if cond == goes && round == 0 && !calls(c.Do, leavesLoop) {
			w.endless++
			defer func() { w.endless-- }()
			restless(w, c.Do)
		}
		if cond == ends && round > 0 {
			break
		}
		b.WriteString(w.maybe(func() string { return w.stmts(c.Do) }))
		if cond == ends || cond != goes && round > 0 && len(w.Waiting()) >= left {
			break
		}
		if cond == goes && round > 2 && w.endless > 0 && alwaysTrue(c) {
			break
		}
		if b.Len() > maxText {
			w.Found.Exhaust()
		}
	}
	w.status = unsure
	return b.String()
}

// alwaysTrue reports whether a loop's condition is a constant.
func alwaysTrue(c *syntax.WhileClause) bool {
	if len(c.Cond) != 1 {
		return false
	}
	switch x := c.Cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		return len(x.Args) > 0 && len(x.Args) < 3
	case *syntax.ArithmCmd:
		return true
	}
	return false
}

// Commands that leave a loop, and commands that make it wait.
var (
	leavesLoop = []string{"break", "exit", "return", "wait"}
	pausesLoop = []string{"sleep", "usleep", "read", "wait", "inotifywait", "fswatch", "select", "timeout"}
)

// calls reports whether a loop's body runs one of the commands.
func calls(list []*syntax.Stmt, names []string) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				found = found || OneOf(c.Args[0].Lit(), names...)
			}
			return !found
		})
	}
	return found
}

// restless looks for a loop without an end and without a pause whose body
// makes a file or a variable longer each time.
func restless(w *Walk, list []*syntax.Stmt) {
	if calls(list, pausesLoop) {
		return
	}
	if !slices.ContainsFunc(list, func(s *syntax.Stmt) bool {
		c, ok := s.Cmd.(*syntax.CallExpr)
		return !ok || len(c.Args) != 1 || !OneOf(c.Args[0].Lit(), ":", "true")
	}) {
		w.Found.Hit("exhaust", "a loop that does nothing and never ends")
	}
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Redirect:
				if n.Op == syntax.AppOut || n.Op == syntax.AppAll {
					if p := w.Resolve(w.subshell(func() string { return word.Text(w, n.Word) })); zone.Of(p) != zone.Nowhere {
						w.Found.Hit("exhaust", p)
					}
				}
			case *syntax.Assign:
				if n.Name != nil && n.Value != nil && (n.Append || mentions(n.Value, n.Name.Value) > 1) {
					w.Found.Hit("exhaust", n.Name.Value)
				}
			}
			return true
		})
	}
}

// mentions counts how often a word expands a variable.
func mentions(word *syntax.Word, name string) int {
	n := 0
	syntax.Walk(word, func(x syntax.Node) bool {
		if p, ok := x.(*syntax.ParamExp); ok && p.Param != nil && p.Param.Value == name {
			n++
		}
		return true
	})
	return n
}

func (w *Walk) forClause(c *syntax.ForClause) string {
	var b strings.Builder
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		items := word.Fields(w, loop.Items...).Texts()
		if !loop.InPos.IsValid() {
			items = w.pos
		}
		for _, item := range items {
			w.set(loop.Name.Value, item)
			b.WriteString(w.maybe(func() string { return w.stmts(c.Do) }))
		}
		if len(items) == 0 {
			b.WriteString(w.maybe(func() string { return w.stmts(c.Do) }))
		}
	case *syntax.CStyleLoop:
		countingLoop(w, loop, c, &b)
	}
	return b.String()
}

func countingLoop(w *Walk, loop *syntax.CStyleLoop, c *syntax.ForClause, b *strings.Builder) {
	if loop.Init != nil {
		word.Number(w, loop.Init)
	}
	if loop.Cond == nil && !calls(c.Do, leavesLoop) {
		w.endless++
		defer func() { w.endless-- }()
		restless(w, c.Do)
	}
	for round := range maxLoop {
		n, ok := int64(1), true
		if loop.Cond != nil {
			n, ok = word.Number(w, loop.Cond)
		}
		if round > 0 && (!ok || n == 0 || loop.Cond == nil) {
			break
		}
		b.WriteString(w.stmts(c.Do))
		if loop.Post != nil {
			word.Number(w, loop.Post)
		}
	}
}
