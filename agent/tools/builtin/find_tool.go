package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Limits of one answer of find_tool.
const (
	maxServed  = 5
	maxFoundIn = 8 << 10 // bytes
	maxURIs    = 10
)

// find returns the tool that finds the definitions of tools by words.
func (f family) find() tools.Tool {
	s := tools.Sheet{
		Name: "find_tool", Kind: policy.Read, Essential: true, Served: tools.ByName,
		Aliases: []string{"search_tools", "tool_search", "find_mcp_tool"},
		Doc:     "Find tools of the MCP servers by words in their names and descriptions, with their arguments.",
		Params: []tools.Param{
			{
				Name:     "query",
				Required: true,
				Doc:      "Words, or a tool's name.",
				Aliases:  []string{"words", "name", "search", "q"},
			},
		},
		Example: `{"query":"create ticket"}`,
	}
	return tools.New(s,
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			q, err := a.Need("query")
			return policy.Action{
				Kind:    policy.Read,
				Display: "Finding tools for " + tools.Shorten(untrusted.EscapeLine(q), 60),
			}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			q, err := a.Need("query")
			return tools.Result{
				Content: f.found(q),
				Title:   "Found tools for " + tools.Shorten(untrusted.EscapeLine(q), 60),
			}, err
		})
}

type hit struct {
	name, text string
	score      int
}

// found returns the definitions that fit the words best.
func (f family) found(query string) string {
	words := strings.Fields(strings.ToLower(query))
	var hits []hit
	var uris []string
	for _, s := range f.servers {
		for _, t := range s.Tools {
			text := fmt.Sprintf(
				"%s of %s: %s\nuse_mcp_tool %s\narguments: %s\n",
				t.Name,
				s.Name,
				t.Description,
				byName(s.Name, t.Name, "{…}"),
				t.Schema,
			)
			n := 10*score(
				words,
				strings.ToLower(t.Name),
			) + 3*score(
				words,
				strings.ToLower(s.Name),
			) + score(
				words,
				strings.ToLower(t.Description),
			)
			if n > 0 {
				hits = append(hits, hit{s.Name + " " + t.Name, text, n})
			}
		}
		for _, uri := range s.Resources {
			if score(words, strings.ToLower(uri)) > 0 && len(uris) < maxURIs {
				how := ""
				if strings.Contains(uri, "{") {
					how = " (fill in the parts in braces)"
				}
				uris = append(uris, fmt.Sprintf("resource of %s: %s%s", s.Name, uri, how))
			}
		}
	}
	if len(hits)+len(uris) == 0 {
		return fmt.Sprintf("No tool has the words %q. There are: %s", tools.Shorten(query, 60), f.names(maxNames))
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var b strings.Builder
	shown := 0
	for _, h := range hits {
		if shown == maxServed || shown > 0 && b.Len()+len(h.text) > maxFoundIn {
			break
		}
		b.WriteString(h.text + "\n")
		shown++
	}
	b.WriteString(strings.Join(uris, "\n"))
	out := untrusted.Fence(f.Nonce, "definitions of MCP servers", strings.TrimSpace(b.String()))
	if left := len(hits) - shown; left > 0 {
		out += fmt.Sprintf("\n[%d more have these words: ask for others.]", left)
	}
	return out
}

func score(words []string, in string) (n int) {
	for _, w := range words {
		if strings.Contains(in, w) {
			n++
		}
	}
	return n
}
