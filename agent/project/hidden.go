package project

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy/ignore"
)

// IgnoreName is the name of the files that hide others from the agent.
const IgnoreName = ".agentignore"

// maxIgnore is the maximum number of bytes to read from an ignore file.
const maxIgnore = 1 << 20

// Hidden is the set of paths that .agentignore files hide from the agent. The zero
// value hides nothing.
type Hidden struct {
	rules []map[string]ignore.Rules // per tree, by directory
	Key   string                    // equal for equal rules; "" if there are none
}

// HiddenBy returns the union of the paths that the rules of trees hide.
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
			data, _, err := tree.ReadAll(ctx, e.Path, maxIgnore)
			if err != nil {
				return h, fmt.Errorf("read %s: %w", e.Path, err)
			}
			text, _ := tools.Decode(data)
			if found := ignore.Parse(text); len(found) > 0 {
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

// Hides reports whether a path, or a directory above it, is hidden. The name of a
// directory ends with a slash.
func (h Hidden) Hides(name string) bool {
	name, dir := strings.CutSuffix(name, "/")
	return slices.ContainsFunc(h.rules, func(rules map[string]ignore.Rules) bool {
		return ignore.Match(name, dir, func(at string) ignore.Rules { return rules[at] })
	})
}
