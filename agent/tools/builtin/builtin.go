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
	own := supported(file.Tools(k), edit.Tools(k), search.Tools(k), code.Tools(k), shell.Tools(k))
	return slices.Concat(own, others(k))
}

// Beside returns the tools that cfg supports for an agent that reads, edits, searches and runs
// commands with tools of its own.
func Beside(cfg tools.Config) []tools.Tool {
	k := tools.NewKit(cfg)
	return slices.Concat(supported(code.Tools(k), shell.Outputs(k)), others(k))
}

func others(k *tools.Kit) []tools.Tool {
	return supported(page.Tools(k), talk.Tools(k), report.Tools(k), served.Tools(k))
}

func supported(families ...[]tools.Tool) []tools.Tool {
	return slices.DeleteFunc(slices.Concat(families...), func(t tools.Tool) bool { return t == nil })
}
