// Package prompt builds the system prompt from parts. The parts are files next to
// this code, so that wording is changed without code. It is pure: equal input gives
// an equal prompt.
package prompt

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/mend"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

//go:embed parts/*.md
var parts embed.FS

// Builder holds the input that is constant for a session. The zero value works.
type Builder struct {
	Project string // facts about the project, see agent/project
	Runs    string // facts that are of use only if commands can be run
	Network string // the workspace's network access, in a sentence; "" omits it
	Example Example
	Charted string // most used definitions; omitted if the window is small
	Rules   string // instructions of the repository, from its base branch
}

// Example is a file of the repository and a line in it, used in sample calls. Models
// take samples for facts. The zero value means that placeholders are shown.
type Example struct{ Path, Line string }

// fill returns a part with the example filled in.
func (e Example) fill(part string) string {
	if e.Path == "" || e.Line == "" || untrusted.BreakMarks(e.Path+e.Line) != e.Path+e.Line ||
		strings.ContainsAny(e.Path, "\"\\") || strings.ContainsAny(e.Path+e.Line, "<>\n") {
		return part
	}
	return strings.NewReplacer("PATH", e.Path, "LINE", e.Line).Replace(part) //control:example-of-this-project
}

// Input describes the capabilities of a session. It is constant over the turns, since
// a server reuses its computation for the common prefix of successive prompts.
type Input struct {
	Mode  string
	Form  llm.Form // of the answers
	Long  bool     // a file in view is long and is changed by blocks
	Parts bool     // files in view are changed by definitions of them
	Tools []llm.ToolSpec

	Provided bool // the task includes code or posts
	Small    bool // the window or the model is small: dispensable advice is omitted
	Weak     bool // the model is small: project and rules are shortened too
	View     bool // the prompt includes files, in the files form
}

// Build returns the system prompt. Control marks in quoted text are broken.
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
	sized := func(name string) string { // the short form if room is limited
		if in.Small {
			if short := part(name + "_small"); short != "" {
				return short
			}
		}
		return part(name)
	}
	reading := func(name string) string { // the form without edits if files cannot be changed
		if !writes {
			return part(name + "_reads") //control:nothing-of-changes
		}
		return part(name)
	}
	add(part("role"))
	add(OfMode(in.Mode))
	if !native {
		add(b.Example.fill(part("calls_text")))
		if offers["edit_file"] { //control:worked-edit
			add(b.Example.fill(part("calls_edit")))
		}
		add("These are the tools:\n\n" + describe(in.Tools, in.Small))
	}
	if offers["search_workspace"] && !in.Small {
		add(part("search"))
	}
	if offers["find_definition"] && !in.Small {
		add(part("code"))
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
		add("# The project\n\n" + untrusted.BreakMarks(shorter(about, in.limit(maxProject), "list_files shows what is there")))
	}
	if b.Charted != "" && !in.Small { //control:small-chart
		add(
			"# Most used definitions\n\nBehind each, how many of the files that were looked at name it.\n\n" + untrusted.BreakMarks(
				b.Charted,
			),
		)
	}
	if b.Rules != "" {
		add(
			"# Rules of this repository\n\n" + untrusted.BreakMarks(
				shorter(b.Rules, in.limit(maxRules), "read AGENTS.md, or what this repository has of its kind"),
			),
		)
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// about returns the description of the project. Commands and network access are
// included only if commands can be run.
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

// files returns the short prompt for a model that calls no tools.
func (b Builder) files(in Input) string {
	part1 := part("files_reads")
	if names(in.Tools)["write_file"] {
		part1 = part("files")
		if in.Parts {
			part1 = part("files_parts")
		}
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
		part1 += "\nRules of this repository:\n" + untrusted.BreakMarks(shorter(b.Rules, maxRules/4, "READ AGENTS.md"))
	}
	return strings.TrimSpace(part1) + "\n"
}

// Limits in bytes of prompt parts for a small window: together some 1,200 tokens.
const (
	maxProject = 1200
	maxRules   = 3000
	maxWeak    = 600 // per part, for a small model
)

// limit returns the limit in bytes of a part whose limit for a small window is n; 0
// means no limit.
func (in Input) limit(n int) int {
	switch {
	case in.Weak:
		return maxWeak
	case in.Small:
		return n
	}
	return 0
}

// shorter cuts a text at a line end for a small window, and refers to the rest.
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

// OfMode returns the instructions of a mode.
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

// describe formats the tools for a model that knows them only from the prompt. An
// argument without a type is a string.
func describe(specs []llm.ToolSpec, small bool) string {
	var b strings.Builder
	for _, s := range specs {
		if small {
			fmt.Fprintf(&b, "## %s\n%s\n%s\n", s.Name, strings.TrimSpace(s.Description), arguments(s.Parameters))
			continue
		}
		args := strings.TrimPrefix(
			strings.ReplaceAll(string(s.Parameters), `"type":"string","description":`, `"description":`),
			`{"type":"object","properties":`,
		)
		fmt.Fprintf(&b, "## %s\n%s\nArguments: %s\n\n", s.Name, strings.TrimSpace(s.Description), args)
	}
	return b.String()
}

// arguments formats a tool's arguments briefly, one per line: "- lines: such as
// 1-50".
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
		fmt.Fprintf(
			&b,
			"- %s: %s\n",
			f.Key,
			strings.Join(append([]string{strings.TrimSuffix(p.Description, ".")}, say...), " "),
		)
	}
	return b.String()
}
