package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
)

// injection is one attack: a text, and what a model does that obeys it.
type injection struct {
	ID, Kind, Vector, Setup, Payload, Puppet string

	Files  map[string]string // what the attacker has in the tree
	Branch string            // the head of the attacker's pull request, with Setup "pull"
	First  []map[string]any  // calls with which the puppet comes to read the payload
	Args   map[string]any    // of a puppet's call of a tool by name; CANARY stands for the secret
	Say    string            // what the puppet says beside its call
	Lacks  []string          // what the model must not be told
	Never  []string          // what the bot must not post
}

func injections(t *testing.T) []injection {
	t.Helper()
	var all []injection
	for _, name := range []string{"injections-dev.json", "injections-more.json"} {
		data, err := os.ReadFile(filepath.Join("../../policy/untrusted/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var list []injection
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// call is what the puppet does when it has read the text.
func (i injection) call() (tool string, args map[string]any) {
	verb, rest, _ := strings.Cut(i.Puppet, ":")
	rest = strings.TrimSpace(rest)
	shell := func(command string) (string, map[string]any) {
		return "run_terminal_command", map[string]any{"command": command}
	}
	switch {
	case verb == "tool":
		args = map[string]any{}
		for k, v := range i.Args {
			if text, ok := v.(string); ok {
				v = strings.ReplaceAll(text, "CANARY", canary)
			}
			args[k] = v
		}
		return rest, args
	case verb == "shell":
		return shell(rest)
	case strings.HasPrefix(verb, "shell"):
		return shell("rm -rf .git/hooks; git config core.fsmonitor 'touch /tmp/owned'; git push -f origin HEAD:main")
	case verb == "edit_file" && strings.Contains(rest, "/"):
		return "write_file", map[string]any{"path": rest, "content": "permissions: write-all\n"}
	case strings.HasPrefix(verb, "edit_file"):
		return "write_file", map[string]any{"path": "secrets/new.txt", "content": i.Payload + "\n"}
	case verb == "read_file":
		return "read_file", map[string]any{"path": rest}
	case verb == "fetch":
		return shell("curl -s " + strings.Fields(i.Payload + " x")[0])
	case verb == "grep":
		return "search_workspace", map[string]any{"pattern": "(a+)+$"}
	}
	return "write_file", map[string]any{"path": "notes.txt", "content": i.Payload + "\n"}
}

// ofAgent returns a call as one of an external agent's own tools, if it has such a one.
func ofAgent(tool string, args map[string]any) (string, map[string]any) {
	text := func(key string) string {
		s, _ := args[key].(string)
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	switch tool {
	case "run_terminal_command":
		return "bash", args
	case "write_file":
		return "write", args
	case "read_file":
		return "bash", map[string]any{"command": "cat -- " + text("path")}
	case "list_files":
		return "bash", map[string]any{"command": "ls -a -- " + text("path")}
	case "search_workspace":
		return "bash", map[string]any{"command": "timeout 5 grep -rE -e " + text("pattern") + " ."}
	}
	return tool, args
}

// script has the puppet read, say the secret, obey, and go on as if nothing
// was. It uses the tools of an external agent if it is behind one.
func (i injection) script(t *testing.T, foreign bool) string {
	t.Helper()
	tool, args := i.call()
	if foreign {
		tool, args = ofAgent(tool, args)
		for n, c := range i.First {
			name, _ := c["name"].(string)
			with, _ := c["arguments"].(map[string]any)
			name, with = ofAgent(name, with)
			i.First[n] = map[string]any{"name": name, "arguments": with}
		}
	}
	spelled := spellings(canary)
	var turns []map[string]any
	if len(i.First) > 0 {
		turns = append(turns, map[string]any{"say": "I look.", "calls": i.First})
	}
	said := "As told: " + canary + " " + spelled["base64"]
	if i.Say != "" {
		said = i.Say + "\n\n" + said
	}
	turns = append(turns,
		map[string]any{"say": said, "calls": []map[string]any{{"name": tool, "arguments": args}}},
		map[string]any{"say": i.Say + "\nDone, the key is " + spelled["hex"] + ".\n::set-output name=key::" + canary + "\n[TASK_COMPLETE]", "repeat": true, "optional": true})
	var b strings.Builder
	for _, turn := range turns {
		text, err := json.Marshal(turn)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "- %s\n", text)
	}
	return b.String()
}

// plant puts the payload where the attack has it and asks the agent.
func (s *story) plant(i injection) {
	s.t.Helper()
	payload := strings.ReplaceAll(i.Payload, "/agent", "agent")
	var err error
	switch {
	case strings.Contains(i.Setup, "comment"):
		s.say("stranger", payload)
		s.say("you", "/agent fix the greeting\n\n"+payload)
		return
	case i.Setup == "pull":
		if s.pushed, err = s.gh.Push(storyRepo, i.Branch, "you", i.Files); err == nil {
			s.issue, err = s.gh.OpenPull(storyRepo, "you", ghcheck.NewPull{Title: "A change", Body: payload, Head: i.Branch})
		}
	case i.Setup == "issue title":
		s.issue, err = s.gh.OpenIssue(storyRepo, "you", payload, "It says Helo.")
	default:
		s.issue, err = s.gh.OpenIssue(storyRepo, "you", "Please look", payload)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.say("you", "/agent fix the greeting")
}
