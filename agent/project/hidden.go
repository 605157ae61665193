package project

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/ignore"
)

// IgnoreName is the file that hides others from the agent.
const IgnoreName = ".agentignore"

// mostIgnore is how much of one is read, in bytes.
const mostIgnore = 1 << 20

// Hidden is what files named .agentignore hide from the agent. The zero value hides
// nothing.
type Hidden struct {
	rules []map[string]ignore.Rules // by directory, of each tree
	Key   string                    // the same for the same rules, "" for none
}

// HiddenBy returns what the rules of trees hide. What one of them hides is hidden.
func HiddenBy(ctx context.Context, trees ...Files) (Hidden, error) {
	var h Hidden
	sum := fnv.New128a()
	for _, tree := range trees {
		list, err := tree.List(ctx, ".", true, math.MaxInt)
		if err != nil {
			return h, fmt.Errorf("list rules of %s: %w", IgnoreName, err)
		}
		rules := map[string]ignore.Rules{}
		for _, e := range list.Entries {
			if path.Base(e.Path) != IgnoreName || strings.HasSuffix(e.Path, "/") {
				continue
			}
			text, _, err := tree.ReadAll(ctx, e.Path, mostIgnore)
			if err != nil {
				return h, fmt.Errorf("read %s: %w", e.Path, err)
			}
			if found := ignore.Parse(string(text)); len(found) > 0 {
				rules[path.Dir(e.Path)] = found
				fmt.Fprintf(sum, "%q %q\n", e.Path, text)
			}
		}
		if len(rules) > 0 {
			h.rules = append(h.rules, rules)
			fmt.Fprintln(sum)
		}
	}
	if len(h.rules) > 0 {
		h.Key = fmt.Sprintf("%x", sum.Sum(nil))
	}
	return h, nil
}

// Hides reports whether a path, or a directory that it is in, is hidden. A directory
// ends in a slash.
func (h Hidden) Hides(name string) bool {
	name, dir := strings.CutSuffix(name, "/")
	return slices.ContainsFunc(h.rules, func(rules map[string]ignore.Rules) bool {
		return ignore.Match(name, dir, func(at string) ignore.Rules { return rules[at] })
	})
}
