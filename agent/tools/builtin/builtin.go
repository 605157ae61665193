// Package builtin joins the tools of all families.
package builtin

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/code"
	"github.com/handrail-bot/handrail/agent/tools/edit"
	"github.com/handrail-bot/handrail/agent/tools/file"
	"github.com/handrail-bot/handrail/agent/tools/page"
	"github.com/handrail-bot/handrail/agent/tools/report"
	"github.com/handrail-bot/handrail/agent/tools/search"
	"github.com/handrail-bot/handrail/agent/tools/served"
	"github.com/handrail-bot/handrail/agent/tools/shell"
	"github.com/handrail-bot/handrail/agent/tools/talk"
)

// Tools returns the tools that cfg supports, in the order in which they are offered.
func Tools(cfg tools.Config) []tools.Tool {
	k := tools.NewKit(cfg)
	all := slices.Concat(file.Tools(k), edit.Tools(k), search.Tools(k), code.Tools(k), shell.Tools(k), page.Tools(k),
		talk.Tools(k), report.Tools(k), served.Tools(k))
	return slices.DeleteFunc(all, func(t tools.Tool) bool { return t == nil })
}
