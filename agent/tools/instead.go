package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/typo"
)

// verbs maps words in foreign tool names to the tools that may be meant, likeliest
// first.
var verbs = map[string][]string{
	"read": {"read_file"}, "view": {"read_file"}, "show": {"read_file"}, "open": {"read_file"}, "cat": {"read_file"},
	"load": {"read_file"}, "print": {"read_file"}, "display": {"read_file"}, "head": {"read_file"},
	"tail":  {"read_file"},
	"write": {"write_file"}, "create": {"write_file"}, "save": {"write_file"}, "new": {"write_file"},
	"add": {"write_file"}, "make": {"write_file"},
	"edit": editTools, "replace": editTools, "modify": editTools, "update": editTools, "change": editTools,
	"fix": editTools, "substitute": editTools,
	"patch":  {"apply_diff", "edit_file"},
	"diff":   {"apply_diff"},
	"insert": {"insert_content", "edit_file"}, "append": {"insert_content", "edit_file"},
	"delete": {"delete_file"}, "remove": {"delete_file"}, "unlink": {"delete_file"},
	"search": {"search_workspace"}, "grep": {"search_workspace"}, "rg": {"search_workspace"},
	"find": {"find_files", "search_workspace"}, "glob": {"find_files", "search_workspace"},
	"locate": {"find_files", "search_workspace"},
	"list":   {"list_files"}, "ls": {"list_files"}, "dir": {"list_files"}, "tree": {"list_files"},
	"run": {shellTool}, "exec": {shellTool}, "execute": {shellTool}, "command": {shellTool}, "shell": {shellTool},
	"bash": {shellTool}, "sh": {shellTool}, "terminal": {shellTool}, "console": {shellTool}, "cmd": {shellTool},
	"powershell": {shellTool}, "subprocess": {shellTool}, "system": {shellTool}, "script": {shellTool},
	"done": {endTool}, "finish": {endTool}, "finished": {endTool}, "complete": {endTool}, "completed": {endTool},
	"submit": {endTool}, "end": {endTool}, "final": {endTool}, "answer": {endTool}, "conclude": {endTool},
	"respond": {endTool},
	"ask":     {"ask_followup_question"}, "question": {"ask_followup_question"}, "clarify": {"ask_followup_question"},
	"todo": {"update_todo_list"}, "todos": {"update_todo_list"}, "plan": {"update_todo_list"},
}

const (
	shellTool = "run_terminal_command"
	endTool   = "attempt_completion"
)

var editTools = []string{"edit_file", "apply_diff", "search_and_replace", "write_file"}

// programs are commands that models call as if they were tools.
var programs = [...]string{
	"npm", "npx", "yarn", "go", "python", "python3", "node", "cargo", "make", "pip", "mkdir", "touch", "mv", "cp",
	"rm", "sed", "awk", "wc", "curl", "echo", "pwd", "ruby", "sleep", "which", "env",
}

// elsewhere are words in tool names for things outside the workspace.
var elsewhere = [...]string{
	"git", "github", "gitlab", "gh", "web", "http", "https", "url", "browser", "page", "fetch", "image", "memory",
	"db", "sql", "email", "branch", "issue", "pr", "pull", "directory", "folder",
}

// nameWords returns the words of a tool's name.
func nameWords(name string) []string {
	return strings.FieldsFunc(
		snake(strings.TrimSpace(name)),
		func(r rune) bool { return r == '_' || r == ':' || r == '/' },
	)
}

// Means returns the tool meant by an unknown name, or "" if that is not certain. The
// name must say the action, and the arguments must be complete and all known.
func (r *Registry) Means(name string, arguments json.RawMessage) string {
	words := nameWords(name)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(elsewhere[:], w) }) {
		return ""
	}
	for _, w := range words {
		for _, tool := range verbs[w] {
			if s := r.sheet(tool); s != nil && s.fits(arguments) {
				return tool
			}
		}
	}
	return ""
}

// sheet returns the sheet of the tool with this name, or nil.
func (r *Registry) sheet(name string) *Sheet {
	at, ok := r.names[name]
	if !ok || r.specs[at].Name != name {
		return nil
	}
	own, ok := r.tools[at].(*tool)
	if !ok {
		return nil
	}
	return &own.Sheet
}

// fits reports whether arguments are complete and all known.
func (s *Sheet) fits(arguments json.RawMessage) bool {
	a, err := s.parse(arguments)
	if err != nil || len(a.Values) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.Params, func(p Param) bool { return (p.Required || p.Asked) && !a.Has(p.Name) })
}

// maxNamed is the maximum number of tools to list if none in particular is meant.
const maxNamed = 8

// Instead returns advice on a tool that does not exist: the equivalent tool, with a
// call to copy. offered are the tools that may be called.
func (r *Registry) Instead(name string, arguments json.RawMessage, offered []string) string {
	none := fmt.Sprintf("There is no tool %q. ", Shorten(name, 60))
	words := nameWords(name)
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	shell := r.sheet(shellTool)
	if shell == nil || !slices.Contains(offered, shellTool) {
		shell = nil
	}
	command := func(line string) string { return call(shellTool, `{"command":`+quote(line)+`}`) }
	switch git := has("git", "commit", "commits", "push", "stage"); {
	case git && !has("diff", "status", "log", "show", "blame", "checkout", "stash", "reset", "clone"):
		say := none + "Handrail commits and pushes what you change by itself: do not commit."
		if s := r.sheet(endTool); s != nil {
			say += " When the change is made, finish: " + call(endTool, s.Example)
		}
		return say
	case git && shell != nil:
		return none + "Git is a command: " + command(strings.Join(words, " "))
	case has("test", "tests", "pytest", "jest", "unittest") && shell != nil:
		say := none + "Tests are run by a command: "
		if shell.Tests == "" {
			return say + command("COMMAND")
		}
		return say + command(shell.Tests)
	case has("directory", "folder", "mkdir") && has("create", "make", "new", "mkdir", "add"):
		return none + "write_file makes the directories of a new file: " + call(
			"write_file",
			`{"path":"PATH","content":"TEXT"}`,
		)
	case len(words) > 0 && slices.Contains(programs[:], words[0]) && shell != nil:
		return none + "It is a command: " + command(words[0])
	}
	for _, w := range words {
		for _, tool := range verbs[w] {
			if s := r.sheet(tool); s != nil && slices.Contains(offered, tool) {
				return none + "Do you mean this? " + call(tool, s.filled(arguments))
			}
		}
	}
	for _, tool := range offered {
		if s := r.sheet(tool); s != nil && typo.Errors(FoldKey(name), FoldKey(tool)) <= 2 {
			return none + "Do you mean this? " + call(tool, s.filled(arguments))
		}
	}
	shown := slices.DeleteFunc(
		slices.Clone(offered),
		func(n string) bool { return len(offered) > maxNamed && !r.Spec(n).Essential },
	)
	return none + "The tools that you need are: " + strings.Join(shown, ", ") + "."
}

func call(tool, arguments string) string {
	return `{"name":` + quote(tool) + `,"arguments":` + arguments + `}`
}

// filled returns arguments to copy, including those of the given ones that the tool
// knows.
func (s *Sheet) filled(arguments json.RawMessage) string {
	fields, _ := Fields(arguments)
	given := map[string]json.RawMessage{}
	for key, v := range fields {
		if name, ok := s.lookup[key]; ok && len(v) > 0 && !isZero(v) {
			given[name] = v
		}
	}
	return s.template(given, "")
}
