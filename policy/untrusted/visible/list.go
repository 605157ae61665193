package visible

import (
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// listParser is the library's, but for an item that is empty at an empty line: what
// comes behind it is not in it.
type listParser struct{ parser.BlockParser }

func (p listParser) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	line, _ := reader.PeekLine()
	item, ok := node.LastChild().(*ast.ListItem)
	if ok && item.ChildCount() == 0 && util.IsBlank(line) {
		if width, _ := util.IndentWidth(line, reader.LineOffset()); width < item.Offset {
			return parser.Close
		}
	}
	return p.BlockParser.Continue(node, reader, pc)
}

// taskAttribute stands in the HTML of an item for the quotes that a box has there.
const taskAttribute = "data-task"

// taskMark is the box of a task, and taskItem what stands before one.
var (
	taskMark = pattern.Lazy(`^\[[ xX]\][ \t\n]+`)
	taskItem = pattern.Lazy(`^[ \t]*(?:[-+*]|\d+.)[ \t]+$`)
)

// task returns how long the box is that a paragraph begins with, when that begins a
// list item. GitHub reads what is behind it as a paragraph of its own.
func task(node *ast.Paragraph, src []byte) int {
	if _, ok := node.Parent().(*ast.ListItem); !ok || node.PreviousSibling() != nil {
		return 0
	}
	first := node.Lines().At(0)
	begin := first.Start
	for begin > 0 && src[begin-1] != '\n' {
		begin--
	}
	if !taskItem().Match(src[begin:first.Start]) {
		return 0
	}
	return len(taskMark().Find(first.Value(src)))
}
