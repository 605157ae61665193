package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/typo"
)

// Tools is `tools:` in a configuration: rules for single tools, by name.
type Tools map[string]ToolRule

// ToolRule limits one tool. The zero value changes nothing.
type ToolRule struct {
	Off     bool     `yaml:"off,omitempty" json:"off,omitempty" jsonschema:"description=It is not offered\\, and calls of it are refused."`
	OffIn   []string `yaml:"off_in,omitempty" json:"off_in,omitempty" jsonschema:"description=The same\\, in these modes.,enum=code,enum=architect,enum=ask,enum=debug,enum=explore,enum=plan,enum=review,enum=security,enum=triage"`
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitzero" jsonschema:"description=Time limit of one call; of run_terminal_command the limit without an approval."`
}

// BrowserTool is the tool that shows pages of the workspace's own servers.
const BrowserTool = "browser_action"

// MergeSketch is the step in which a model is asked where the parts of an edit belong that do
// not say so themselves. It has rules like a tool.
const MergeSketch = "merge_sketch"

// toolNames are the tools that a session may have, besides those of MCP servers.
var toolNames = [...]string{
	"read_file", "write_file", "apply_diff", "edit_file", "insert_content", "search_and_replace", "delete_file", "put_file",
	"list_files", "find_files", "search_workspace", "codebase_search", "list_code_definition_names",
	"get_document_symbols", "find_definition", "find_references", "find_implementations", "find_symbol", "get_hover_info",
	"get_call_hierarchy", "get_type_hierarchy", "get_diagnostics", "code", "run_terminal_command", "read_output", BrowserTool,
	"update_todo_list", "ask_followup_question", "switch_mode", "condense", "fetch_instructions", "new_task",
	"report_finding", "find_tool", "use_mcp_tool", "access_mcp_resource", "github", "github_issue", "github_comments",
	"github_pull_request", "github_pull_request_diff", "github_review_threads", "github_checks", "github_job_log",
	"add_issue_comment", "add_labels", "triage_issue", "wait_for_checks", MergeSketch,
}

// hasTool reports whether a rule can be given for a tool. Without attempt_completion no
// session ends, so it has none. The tools of MCP servers are named server__tool.
func hasTool(name string) bool {
	return slices.Contains(toolNames[:], name) || strings.Contains(name, "__")
}

// minToolTime is the minimum time limit of a call.
const minToolTime = Duration(time.Second)

func (c Config) checkTools(p *problems) {
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		rule := c.Tools[name]
		if !hasTool(name) {
			text := fmt.Sprintf("there is no tool %q to be limited", name)
			if near := typo.Nearest(name, toolNames[:]); near != "" {
				text += fmt.Sprintf(", did you mean %q", near)
			}
			p.add(text, "tools", name)
		}
		for i, m := range rule.OffIn {
			p.requiredOneOf(m, modeNames(), "tools", name, "off_in", i)
		}
		if rule.Timeout != 0 && rule.Timeout < minToolTime {
			p.add("at least 1s, or leave it out", "tools", name, "timeout")
		}
	}
}

// mergeTools returns the rules of both: a tool is off if either says so, and has the
// shorter time.
func mergeTools(server, repo Tools) Tools {
	if len(server)+len(repo) == 0 {
		return nil
	}
	out := Tools{}
	for _, rules := range []Tools{server, repo} {
		for name, r := range rules {
			if had, ok := out[name]; ok { //control:tools-narrow
				r = ToolRule{had.Off || r.Off, union(had.OffIn, r.OffIn), minLimit(had.Timeout, r.Timeout)}
			}
			out[name] = r
		}
	}
	return out
}

// ToolOff reports whether a tool is switched off in a mode.
func (p *Policy) ToolOff(m Mode, tool string) bool {
	if p == nil { // such a policy denies everything
		return false
	}
	r := p.config.Tools[tool]
	return r.Off || slices.Contains(r.OffIn, m.Name)
}

// ToolTime returns the time limit of one call of a tool, 0 if there is none.
func (p *Policy) ToolTime(tool string) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(p.config.Tools[tool].Timeout)
}
