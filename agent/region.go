package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// How much is shown again after failed edits: lines on both sides of what was
// meant, and bytes in all.
const (
	regionAround = 12
	mostRegion   = 6000
)

// withRegion adds, from the second failed edit of one file on, the text that
// the file has now where the edit should have fitted: the model edits from a
// stale or invented memory of it.
func (r *callRunner) withRegion(ctx context.Context, c *session.CallState, text string) string {
	path := pathArgument(c.Arguments)
	if path == "" || !r.gate.tools.Spec(c.Name).Edits || r.habits.WrongAt(path) == 0 {
		return text
	}
	now, ok := r.reread(ctx, c, path)
	if !ok {
		return text
	}
	lines := strings.Split(now, "\n")
	from, to := region(lines, wantedLines(c.Arguments))
	shown := strings.Join(lines[from:to], "\n")
	if len(shown) > mostRegion {
		shown = strings.ToValidUTF8(shown[:mostRegion], "") + "\n[cut]"
	}
	return fmt.Sprintf("%s\n\nThis is what %s contains there now; copy from it exactly, without the line numbers:\n%s", text, path, shown)
}

// reread reads a file for the model, through the gate, as the model may read
// it itself.
func (r *callRunner) reread(ctx context.Context, c *session.CallState, path string) (string, bool) {
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return "", false
	}
	again := session.Call{ID: c.ID, Name: "read_file", Arguments: args}
	ru, err := r.gate.rule(ctx, &session.CallState{Call: again, Turn: c.Turn})
	if err != nil || ru.decision.Verdict != policy.Allow || ru.action.Kind != policy.Read {
		return "", false
	}
	res, err := r.gate.carryOut(ctx, again, ru)
	return res.Content, err == nil
}

// wantedLines are the lines of text in a call's arguments, without the marks
// of diffs, and the line numbers that it names.
func wantedLines(raw json.RawMessage) map[string]bool {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	out := map[string]bool{}
	for key, v := range args {
		switch v := v.(type) {
		case string:
			if key == "path" || key == "file_path" {
				continue
			}
			for line := range strings.Lines(v) {
				line = strings.TrimSpace(line)
				out[line] = true
				out[strings.TrimSpace(strings.TrimLeft(line, "+-"))] = true
			}
		case float64:
			out[lineMark(int(v))] = true
		}
	}
	return out
}

// lineMark stands for a line number among wanted lines.
func lineMark(n int) string { return "\x00" + strconv.Itoa(n) }

// region finds the span of numbered lines ("12 | text") in which most of the
// wanted lines stand; without any, it is the beginning.
func region(lines []string, wanted map[string]bool) (from, to int) {
	hits := make([]int, len(lines)+1) // hits before each line
	for i, l := range lines {
		hits[i+1] = hits[i]
		number, text, ok := strings.Cut(l, " | ")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		text = strings.TrimSpace(text)
		if err == nil && (len(text) > 2 && wanted[text] || wanted[lineMark(n)]) {
			hits[i+1]++
		}
	}
	const size = 2*regionAround + 1
	best := -1
	for i := range lines {
		lo, hi := max(0, i-regionAround), min(len(lines), i+regionAround+1)
		if n := hits[hi] - hits[lo]; n > best {
			best, from, to = n, lo, hi
		}
	}
	if best <= 0 {
		return 0, min(len(lines), 4*size)
	}
	// Of several windows with as many hits the first was taken: center it.
	first, last := from, to-1
	for first < last && hits[first+1] == hits[from] {
		first++
	}
	for last > first && hits[last] == hits[to] {
		last--
	}
	return max(0, first-regionAround), min(len(lines), last+regionAround+1)
}
