package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// callKey is what makes two calls the same: name and canonical arguments.
type callKey struct {
	id, name, args string
}

func keyOf(c session.Call) callKey {
	var v any
	d := json.NewDecoder(bytes.NewReader(c.Arguments))
	d.UseNumber()
	args := string(c.Arguments)
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil { // sorts keys, drops white space
			args = string(b)
		}
	}
	return callKey{id: c.ID, name: c.Name, args: args}
}

// sameInARow is how many equal calls in a row are one too many. Tools whose
// repetition is their use have a limit of their own.
const sameInARow = 3

var sameLimits = [...]struct {
	name string
	most int
}{{"browser_action", 20}, {"wait_for_checks", 50}}

// repeated counts how often the model made this very call in a row and, at
// the limit, gives the words to send it back with.
func (r *run) repeated(c *call) (string, bool) {
	if c.asked != nil {
		return "", false // it was let through once and waited since
	}
	limit := sameInARow
	for _, l := range sameLimits {
		if l.name == c.Name {
			limit = l.most
		}
	}
	n, at := 0, -1
	for i, k := range r.state.keys {
		if k.id == c.ID {
			at = i
		}
	}
	if at < 0 {
		return "", false
	}
	me := r.state.keys[at]
	for i := at; i >= 0 && r.state.keys[i].name == me.name && r.state.keys[i].args == me.args; i-- {
		n++
	}
	if n < limit {
		return "", false
	}
	return fmt.Sprintf("You made this same call %d times in a row, so it was not run again. Its result will not change. "+
		"Read the results above and do something else: another tool, other arguments, or finish.", n), true
}

// editTools are those whose failures call for the current text.
var editTools = [...]string{"apply_diff", "edit_file", "search_and_replace", "insert_content"}

// mostRegion bounds the text that is shown again after failed edits.
const mostRegion = 6000

// withRegion adds, from the second failed edit of one file on, the text that
// the file has now: the model edits from a stale or invented memory of it.
func (r *run) withRegion(ctx context.Context, c *call, text string) string {
	path := editPath(c.Call)
	if path == "" || r.failedEdits(path) == 0 {
		return text
	}
	read := r.tool("read_file")
	if read == nil {
		return text
	}
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return text
	}
	res, err := read.Run(ctx, session.Call{ID: c.ID, Name: "read_file", Arguments: args}, func(string) {})
	if err != nil {
		return text
	}
	now := res.Content
	if len(now) > mostRegion {
		now = now[:mostRegion] + "\n[cut]"
	}
	return fmt.Sprintf("%s\n\nThis is what %s contains now:\n%s", text, path, now)
}

// failedEdits counts failed edits of path since the last one that worked.
func (r *run) failedEdits(path string) int {
	n := 0
	for _, e := range r.state.entries {
		for _, c := range e.calls {
			if c.result == nil || editPath(c.Call) != path {
				continue
			}
			if n++; c.result.OK {
				n = 0
			}
		}
	}
	return n
}

func editPath(c session.Call) string {
	for _, name := range editTools {
		if c.Name == name {
			return pathArgument(c.Arguments)
		}
	}
	return ""
}

// remind adds to a result what the model should not forget now.
func (r *run) remind(ctx context.Context, c *call) error {
	if c != r.state.calls[len(r.state.calls)-1] || c.reminder != "" {
		return nil // once a turn, with the last result
	}
	var say []string
	left := r.turnLimit() - (r.state.turn - r.state.turnsFrom)
	if left == 3 || left == 1 {
		say = append(say, fmt.Sprintf("Only %d more turns are left. Bring the work to an end.", left))
	}
	if open := openTodo(r.state.todo); open > 0 && c.result.Complete {
		say = append(say, fmt.Sprintf("The todo list still has %d open items.", open))
	}
	if len(say) == 0 {
		return nil
	}
	note := session.Note{Kind: noteReminder, Call: c.ID, Text: "[Reminder: " + strings.Join(say, " ") + "]"}
	return r.record(ctx, session.NewEvent(session.TypeNote, c.turn, note))
}

func openTodo(list []session.Todo) int {
	n := 0
	for _, t := range list {
		if t.Status != "done" {
			n++
		}
	}
	return n
}
