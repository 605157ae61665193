// Package prompt builds the system prompt from parts. The parts are files
// beside this code, so that changing a sentence is changing a file. It is
// pure: the same input gives the same prompt.
package prompt

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/mend"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

//go:embed parts/*.md
var parts embed.FS

// Builder holds what is the same for all turns of a session. The zero value
// works.
type Builder struct {
	Project string // what was found out about the project, see agent/project
	Runs    string // of that, what is of use only where commands can be run
	Network string // what the workspace reaches of the network, in a sentence; "" for nothing to say
	Example Example
	Charted string // its most used definitions; left out where the window is small
	Rules   string // instructions of the repository, from its base branch
}

// Example is a file of the repository, and a line in it, with which calls are shown.
// Models take what they are shown for what there is. The zero value stands for none:
// placeholders are shown then.
type Example struct{ Path, Line string }

// shown returns a part in which the example stands.
func (e Example) shown(part string) string {
	if e.Path == "" || e.Line == "" || marks.Break(e.Path+e.Line) != e.Path+e.Line || strings.ContainsAny(e.Path+e.Line, "<>\n\"\\") {
		return part
	}
	return strings.NewReplacer("PATH", e.Path, "LINE", e.Line).Replace(part) //control:example-of-this-project
}

// Input is what a session can do. Nothing in it changes from turn to turn: a server
// reuses what it computed for the turn before as far as the two begin alike.
type Input struct {
	Mode  string
	Form  llm.Form // of answering
	Long  bool     // a file in view is long: it is changed by blocks
	Tools []llm.ToolSpec

	Provided bool // the task came with code or posts
	Small    bool // the window or the model is: advice that a model can do without is left out
	Weak     bool // the model is small: of project and rules it gets less, too
	View     bool // files are in front of the model, in the files form
}

// Build returns the system prompt. What others wrote has its control marks broken.
func (b Builder) Build(in Input) string {
	if in.Form == llm.FormFiles {
		return b.files(in)
	}
	native := in.Form == llm.FormNative
	var out strings.Builder
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out.WriteString(s + "\n\n")
		}
	}
	offers := names(in.Tools)
	writes := offers["write_file"]
	sized := func(name string) string { // a part as there is room for it
		if in.Small {
			if short := part(name + "_small"); short != "" {
				return short
			}
		}
		return part(name)
	}
	reading := func(name string) string { // a part without a word of changes, where there are none
		if !writes {
			return part(name + "_reads") //control:nothing-of-changes
		}
		return part(name)
	}
	add(part("role"))
	add(OfMode(in.Mode))
	if !native {
		add(b.Example.shown(part("calls_text")))
		if offers["edit_file"] { //control:worked-edit
			add(b.Example.shown(part("calls_edit")))
		}
		add("These are the tools:\n\n" + describe(in.Tools, in.Small))
	}
	if offers["search_workspace"] && !in.Small {
		add(part("search"))
	}
	if !in.Small {
		add(reading("navigation"))
	}
	if writes {
		add(sized("edits"))
	}
	if in.Provided {
		add(part("provided"))
	}
	add(sized("untrusted"))
	if native {
		add(reading("finish"))
	} else {
		add(reading("finish_text"))
	}
	if about := b.about(offers["run_terminal_command"]); about != "" {
		add("# The project\n\n" + marks.Break(shorter(about, in.most(mostProject), "list_files shows what is there")))
	}
	if b.Charted != "" && !in.Small { //control:small-chart
		add("# Most used definitions\n\nBehind each, how many of the files that were looked at name it.\n\n" + marks.Break(b.Charted))
	}
	if b.Rules != "" {
		add("# Rules of this repository\n\n" + marks.Break(shorter(b.Rules, in.most(mostRules), "read AGENTS.md, or what this repository has of its kind")))
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// about is what is told of the project. What can be run, and what that reaches, is told
// only where commands are.
func (b Builder) about(runs bool) string {
	if !runs { //control:no-commands-to-read
		return b.Project
	}
	parts := []string{b.Runs, b.Network, b.Project}
	if parts[1] != "" {
		parts[1] = "- " + parts[1]
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

// files is the prompt for a model that calls no tools: a few lines.
func (b Builder) files(in Input) string {
	part1 := part("files_reads")
	if names(in.Tools)["write_file"] {
		part1 = part("files")
		if !in.Weak || !in.View {
			part1 += "\n" + part("files_look")
		}
		if in.Long {
			part1 += "\n" + part("files_long")
		}
	}
	if m := part("files_" + in.Mode); m != "" {
		part1 += "\n" + m
	}
	if b.Rules != "" {
		part1 += "\nRules of this repository:\n" + marks.Break(shorter(b.Rules, mostRules/4, "READ AGENTS.md"))
	}
	return strings.TrimSpace(part1) + "\n"
}

// What a small window has room for beside its work, in bytes: together some 1,200 tokens.
const (
	mostProject = 1200
	mostRules   = 3000
	mostWeak    = 600 // of each, for a small model
)

// most is how many bytes there is room for where a small window has room for n, 0 for any
// number.
func (in Input) most(n int) int {
	switch {
	case in.Weak:
		return mostWeak
	case in.Small:
		return n
	}
	return 0
}

// shorter cuts a text for a small window at the end of a line, and says where the rest is.
func shorter(text string, most int, rest string) string {
	if most == 0 || len(text) <= most { //control:small-rules
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
func describe(specs []llm.ToolSpec, small bool) string {
	var b strings.Builder
	for _, s := range specs {
		if small {
			fmt.Fprintf(&b, "## %s\n%s\n%s\n", s.Name, strings.TrimSpace(s.Description), arguments(s.Parameters))
			continue
		}
		args := strings.TrimPrefix(strings.ReplaceAll(string(s.Parameters), `"type":"string","description":`, `"description":`), `{"type":"object","properties":`)
		fmt.Fprintf(&b, "## %s\n%s\nArguments: %s\n\n", s.Name, strings.TrimSpace(s.Description), args)
	}
	return b.String()
}

// arguments writes those of a tool in a few words, one a line: "- lines: such as 1-50".
func arguments(schema json.RawMessage) string {
	var s struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return string(schema)
	}
	var b strings.Builder
	list, _ := mend.Fields(s.Properties)
	for _, f := range list {
		var p struct {
			Type, Description string
			Enum              []string
		}
		if json.Unmarshal(f.Value, &p) != nil {
			return string(schema)
		}
		var say []string
		if !slices.Contains(s.Required, f.Key) {
			say = append(say, "optional")
		}
		if p.Type != "string" && p.Type != "" {
			say = append(say, p.Type)
		}
		if len(p.Enum) > 0 {
			say = append(say, "one of "+strings.Join(p.Enum, ", "))
		}
		if len(say) > 0 {
			say = []string{"(" + strings.Join(say, ", ") + ")"}
		}
		fmt.Fprintf(&b, "- %s: %s\n", f.Key, strings.Join(append([]string{strings.TrimSuffix(p.Description, ".")}, say...), " "))
	}
	return b.String()
}
