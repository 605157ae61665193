package speech

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// reportTool is the tool by which a reviewer reports a finding.
const reportTool = "report_finding"

// findingHead matches the first line of a finding in prose: the lines of a file, alone or
// with the claim behind them.
var findingHead = pattern.Lazy(
	"^\\s*(?:[-*+] |\\d+[.)] |(#{1,6} ))?\\s*(\\*\\*|__)?`?([\\w@+-][\\w./@+-]*\\.[A-Za-z]\\w*):(\\d+)(?:[-–](\\d+))?" +
		"[*_`:]*\\s*(?:[-–—:]+\\s*)?(.*)$",
)

// Findings reads the findings that a reviewer wrote as prose in place of calls: each begins
// with the lines of a file, and may have a block with a suggestion. The result are calls of
// the tool that reports findings. reported lists the findings that are recorded already.
func Findings(text string, turn int, reported []session.Reported) (calls []session.Call) {
	var f *proseFinding
	flush := func() {
		if f != nil && !f.among(reported) {
			calls = append(calls, session.Call{
				ID: callID(turn, len(calls)), Name: reportTool, Arguments: f.arguments(), Text: true,
			})
		}
		f = nil
	}
	fence, info := "", ""
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		switch {
		case fence != "" && strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "":
			fence = ""
		case fence != "" && f != nil && info == "suggestion":
			f.code = append(f.code, line)
		case fence != "":
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			info = strings.ToLower(strings.TrimLeft(bare, bare[:1]))
			fence = bare[:len(bare)-len(info)]
			if f != nil && info == "suggestion" {
				f.suggests = true
			}
		default:
			if m := findingHead().FindStringSubmatch(line); m != nil {
				flush()
				f = &proseFinding{path: m[3], stands: m[1]+m[2] != ""}
				f.line, _ = strconv.Atoi(m[4]) // the pattern matches digits only
				f.end, _ = strconv.Atoi(m[5])
				bare = m[6]
			}
			if f != nil && bare != "" && bare != completeMark {
				f.words = append(f.words, bare)
			}
		}
	}
	flush()
	return calls
}

type proseFinding struct {
	path      string
	line, end int
	words     []string
	code      []string
	suggests  bool
	stands    bool // the place stands out, as that of a finding does; a list of files that were read is none
}

// among reports whether these lines are no finding, or have one already.
func (f *proseFinding) among(list []session.Reported) bool {
	if len(f.words) == 0 || !f.stands && !f.suggests {
		return true
	}
	for _, have := range list {
		if have.Path == f.path && have.Line <= max(f.line, f.end) && f.line <= have.Last() {
			return true
		}
	}
	return false
}

func (f *proseFinding) arguments() json.RawMessage {
	args := map[string]any{
		"path": f.path, "line": f.line, "severity": string(session.Medium), "claim": f.words[0], "why": strings.Join(f.words, "\n"),
	}
	if f.end > f.line {
		args["end_line"] = f.end
	}
	if f.suggests {
		args["suggestion"] = strings.Join(f.code, "\n")
	}
	data, err := json.Marshal(args)
	if err != nil {
		panic("speech: marshal finding: " + err.Error()) // cannot fail: strings and numbers only
	}
	return data
}
