package tools

import (
	"strings"
	"unicode"
)

// Canonical returns the name of the tool that name means: spelling
// (readFile, read-file), prefixes that some models put in front
// (functions.read_file) and aliases (create_file) are evened out. A name that
// means no known tool comes back as it is, without such a prefix.
func Canonical(name string) string {
	if c, ok := known(name); ok {
		return c
	}
	bare := strings.TrimSpace(name)
	for _, p := range [...]string{"functions.", "function.", "functions:", "default_api.", "default_api:", "tools.", "tool.", "namespace."} {
		if rest, ok := strings.CutPrefix(bare, p); ok && rest != "" {
			bare = rest
			break
		}
	}
	bare = strings.TrimSuffix(bare, "()")
	if c, ok := known(snake(bare)); ok {
		return c
	}
	return bare
}

// snake turns readFile, ReadFile, read-file and "Read File" into read_file.
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r == '-' || r == ' ' || r == '.' || r == '_':
			if b.Len() > 0 {
				b.WriteByte('_')
			}
			lower = false
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
			lower = false
		default:
			b.WriteRune(r)
			lower = true
		}
	}
	return b.String()
}

// known maps canonical names and aliases in snake case to canonical names.
func known(name string) (string, bool) {
	switch name {
	case "read_file", "write_file", "apply_diff", "edit_file", "insert_content", "search_and_replace", "delete_file",
		"list_files", "search_workspace", "run_terminal_command",
		"update_todo_list", "attempt_completion", "ask_followup_question", "switch_mode", "fetch_instructions",
		"codebase_search", "list_code_definition_names", "get_diagnostics", "get_document_symbols", "find_definition",
		"find_references", "find_implementations", "find_symbol", "get_hover_info", "get_call_hierarchy",
		"get_type_hierarchy", "new_task", "condense", "use_mcp_tool", "access_mcp_resource", "browser_action",
		"wait_for_checks":
		return name, true
	case "readfile", "read", "view_file", "open_file", "cat_file", "read_files", "read_many_files", "get_file_contents", "cat", "view", "file_read":
		return "read_file", true
	case "writefile", "create_file", "createfile", "write_to_file", "writetofile", "create_new_file", "save_file", "write", "overwrite_file", "file_write":
		return "write_file", true
	case "applydiff", "apply_patch", "applypatch", "multi_apply_diff", "patch", "patch_file", "replace_in_file", "search_replace":
		return "apply_diff", true
	case "editfile", "edit", "edit_existing_file", "str_replace", "string_replace", "replace_string_in_file", "replace", "multi_edit", "multiedit":
		return "edit_file", true
	case "insertcontent", "insert", "insert_lines", "insert_code", "insert_at_line", "append_to_file":
		return "insert_content", true
	case "searchandreplace", "find_and_replace":
		return "search_and_replace", true
	case "deletefile", "remove_file", "delete", "rm_file":
		return "delete_file", true
	case "listfiles", "list_dir", "listdir", "list_directory", "ls", "list_folder":
		return "list_files", true
	case "searchworkspace", "search_files", "searchfiles", "grep", "grep_search", "search_file_content", "search_code", "ripgrep", "search",
		"search_in_files", "find_in_files", "search_text":
		return "search_workspace", true
	}
	return alias(name)
}

func alias(name string) (string, bool) {
	switch name {
	case "runterminalcommand", "execute_command", "executecommand", "run_command", "run_in_terminal", "run_terminal_cmd", "bash", "shell",
		"terminal", "run_shell_command", "exec_command", "run_bash_command",
		"execute_bash", "bash_tool", "shell_exec", "container_exec", "terminal_run", "run_shell", "run_cmd", "execute_shell", "execute_shell_command":
		return "run_terminal_command", true
	case "updatetodolist", "todo_write", "todowrite", "update_todos", "todo_list", "manage_todo_list", "write_todos", "update_todo":
		return "update_todo_list", true
	case "attemptcompletion", "complete_task", "task_complete", "finish", "finish_task", "task_done":
		return "attempt_completion", true
	case "askfollowupquestion", "ask_question", "ask_user", "ask_followup", "ask_follow_up_question", "ask_user_question":
		return "ask_followup_question", true
	case "switchmode", "change_mode", "set_mode":
		return "switch_mode", true
	case "fetchinstructions", "get_instructions":
		return "fetch_instructions", true
	case "semantic_search", "search_codebase":
		return "codebase_search", true
	case "list_code_definitions", "list_definitions":
		return "list_code_definition_names", true
	case "diagnostics", "get_errors", "read_diagnostics":
		return "get_diagnostics", true
	case "goto_definition", "go_to_definition", "get_definition":
		return "find_definition", true
	case "get_references", "find_usages", "list_code_usages":
		return "find_references", true
	case "document_symbols", "get_file_outline":
		return "get_document_symbols", true
	case "goto_implementation", "get_implementations":
		return "find_implementations", true
	case "workspace_symbol", "search_symbols", "find_symbols":
		return "find_symbol", true
	case "hover", "get_hover":
		return "get_hover_info", true
	case "call_hierarchy":
		return "get_call_hierarchy", true
	case "type_hierarchy":
		return "get_type_hierarchy", true
	}
	return "", false
}
