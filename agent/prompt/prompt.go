// Package prompt builds the system prompt from parts. The parts are files
// beside this code, so that changing a sentence is changing a file. It is
// pure: the same input gives the same prompt.
package prompt

import (
	"embed"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

//go:embed parts/*.md
var parts embed.FS

// Builder holds what is the same for all turns of a session. The zero value
// works.
type Builder struct {
	Project string // what was found out about the project, see agent/project
	Charted string // its most used definitions; left out where the window is small
	Rules   string // instructions of the repository, from its base branch
}

// Input is what a session can do. Nothing in it changes from turn to turn: a server
// reuses what it computed for the turn before as far as the two begin alike.
type Input struct {
	Mode   string
	Native bool // calls travel natively; otherwise the prompt describes them
	Tools  []llm.ToolSpec

	Provided bool // the task came with code or posts
	Small    bool // the window is: advice that a model can do without is left out
}

// Build returns the system prompt. What others wrote has its control marks broken.
func (b Builder) Build(in Input) string {
	var out strings.Builder
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out.WriteString(s + "\n\n")
		}
	}
	add(part("role"))
	add(OfMode(in.Mode))
	offers := names(in.Tools)
	if !in.Native {
		add(part("calls_text"))
		if offers["edit_file"] { //control:worked-edit
			add(part("calls_edit"))
		}
		add("These are the tools:\n\n" + describe(in.Tools))
	}
	if offers["search_workspace"] && !in.Small {
		add(part("search"))
	}
	if !in.Small {
		add(part("navigation"))
	}
	if offers["write_file"] {
		add(part("edits"))
	}
	if in.Provided {
		add(part("provided"))
	}
	add(part("untrusted"))
	if in.Native {
		add(part("finish"))
	} else {
		add(part("finish_text"))
	}
	if b.Project != "" {
		add("# The project\n\n" + marks.Break(shorter(b.Project, in.Small, mostProject, "list_files shows what is there")))
	}
	if b.Charted != "" && !in.Small { //control:small-chart
		add("# Most used definitions\n\nBehind each, how many of the files that were looked at name it.\n\n" + marks.Break(b.Charted))
	}
	if b.Rules != "" {
		add("# Rules of this repository\n\n" + marks.Break(shorter(b.Rules, in.Small, mostRules, "read AGENTS.md, or what this repository has of its kind")))
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// What a small window has room for beside its work, in bytes: together some 1,200 tokens.
const (
	mostProject = 1200
	mostRules   = 3000
)

// shorter cuts a text for a small window at the end of a line, and says where the rest is.
func shorter(text string, small bool, most int, rest string) string {
	if !small || len(text) <= most { //control:small-rules
		return text
	}
	kept := strings.ToValidUTF8(text[:most], "")
	if i := strings.LastIndexByte(kept, '\n'); i > most/2 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[%d bytes more are left out here: %s]", kept, len(text)-len(kept), rest)
}

// OfMode returns what a mode asks of the model.
func OfMode(name string) string { return strings.TrimSpace(part("mode_" + name)) }

func part(name string) string {
	data, err := parts.ReadFile("parts/" + name + ".md")
	if err != nil {
		return ""
	}
	return string(data)
}

func names(specs []llm.ToolSpec) map[string]bool {
	out := make(map[string]bool, len(specs))
	for _, s := range specs {
		out[s.Name] = true
	}
	return out
}

// describe writes the tools for a model that knows them only from here. An argument of
// which nothing else is said is a string.
func describe(specs []llm.ToolSpec) string {
	var b strings.Builder
	for _, s := range specs {
		args := strings.TrimPrefix(strings.ReplaceAll(string(s.Parameters), `"type":"string","description":`, `"description":`), `{"type":"object","properties":`)
		fmt.Fprintf(&b, "## %s\n%s\nArguments: %s\n\n", s.Name, strings.TrimSpace(s.Description), args)
	}
	return b.String()
}
