package speech

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// triageTool is the tool that ends the triage of an issue.
const triageTool = "triage_issue"

// triageLine matches a line of a triage in prose: its part, and the words behind it.
var triageLine = pattern.Lazy("(?i)^\\W*(?:suggested |possible |likely |missing |clarifying )?" +
	"(labels?|tags?|duplicates?(?: of)?|same as|questions?(?: (?:to|for) the author)?)" +
	"[*_`\"]*\\s*(?::|=|-|–|—)[*_`]*\\s*(.*)$")

// Triage reads a triage that was written as prose or as a bare object in place of a call. The
// result is the call of the tool, or none.
func Triage(text string, turn int) []session.Call {
	args := triageObject(text)
	if args == nil {
		args = triageLines(text)
	}
	if args == nil {
		return nil
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return []session.Call{{ID: callID(turn, 0), Name: triageTool, Arguments: data, Text: true}}
}

// triageParts are the arguments of the tool.
var triageParts = [...]string{"labels", "duplicates", "question"}

// triageObject returns the first JSON object of a text that has a part of a triage.
func triageObject(text string) map[string]any {
	const maxObjects = 20
	for range maxObjects {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			return nil
		}
		text = text[at:]
		var got map[string]any
		if json.NewDecoder(strings.NewReader(text)).Decode(&got) == nil {
			for name := range got {
				if !slices.Contains(triageParts[:], name) {
					delete(got, name)
				}
			}
			if len(got) > 0 {
				return got
			}
		}
		text = text[1:]
	}
	return nil
}

// triageLines returns the parts that lines name: "Labels: bug, docs". The lines of a list below
// such a line belong to it.
func triageLines(text string) map[string]any {
	parts := map[string][]string{}
	part := ""
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		if m := triageLine().FindStringSubmatch(line); m != nil {
			part = partOf(m[1])
			bare = m[2]
		} else if !strings.HasPrefix(bare, "- ") && !strings.HasPrefix(bare, "* ") && bare != "" {
			part = ""
		}
		bare = strings.Trim(strings.TrimLeft(bare, "-* "), " ")
		if part != "question" {
			bare = strings.Trim(bare, "[]().`*_\"' ")
			bare = strings.NewReplacer("`", "", "\"", "", "**", "").Replace(bare)
		}
		if part != "" && bare != "" && bare != completeMark {
			parts[part] = append(parts[part], bare)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	out := map[string]any{}
	for name, list := range parts {
		out[name] = strings.Join(list, "\n")
	}
	return out
}

func partOf(word string) string {
	switch word = strings.ToLower(word); {
	case strings.HasPrefix(word, "label"), strings.HasPrefix(word, "tag"):
		return "labels"
	case strings.HasPrefix(word, "question"):
		return "question"
	}
	return "duplicates"
}
