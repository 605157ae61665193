package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
	"github.com/handrail-bot/handrail/policy/shell"
)

// elsewhere matches an absolute path that is none of a test's own.
var elsewhere = regexp.MustCompile(`(?:^|[\s'"=:(])/(?:[\s*;&|]|$|[a-su-z]|t[a-ln-z])`)

// harmless returns an error for a model's script whose commands could destroy
// something of this machine. People in stories say yes to what is asked, many
// workspaces have no wall, and a gate that is broken is what the stories look for:
// what is critical is shown with ~, which is a directory of the test.
func harmless(script llmtest.Script) error {
	for _, turn := range script.Turns {
		for _, call := range turn.Calls {
			raw, err := json.Marshal(call.Arguments)
			if err != nil {
				return err
			}
			var args map[string]any
			if json.Unmarshal(raw, &args) != nil {
				continue // a text that is no object is no command
			}
			line := fmt.Sprint(args["command"])
			if v := shell.Analyze(line); v.Severity >= shell.High && elsewhere.MatchString(line) {
				return fmt.Errorf("%q is %s here and names a place of this machine: say it with ~", line, v.Severity)
			}
		}
	}
	return nil
}

// TestHarmless: what could destroy something of this machine is in no story.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for command, ok := range map[string]bool{
		"rm -rf /": false, "rm -rf /etc": false, "cd /; rm -rf *": false, "dd if=/dev/zero of=/dev/sda": false, "rm -rf /usr/lib x": false,
		"rm -rf ~": true, "rm -rf build": true, "rm -rf /tmp/x": true, "cat /etc/hostname": true,
	} {
		err := harmless(llmtest.Script{Turns: []llmtest.Turn{{Calls: []llmtest.Call{{Name: "run_terminal_command", Arguments: map[string]any{"command": command}}}}}})
		if (err == nil) != ok {
			t.Errorf("%s: %v", command, err)
		}
	}
}
