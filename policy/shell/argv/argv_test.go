package argv

import (
	"slices"
	"testing"
)

func TestHas(t *testing.T) {
	for name, c := range map[string]struct {
		args   List
		option string
		want   bool
	}{
		"letter":          {Of("-r", "a"), "r", true},
		"in a cluster":    {Of("-rf", "a"), "f", true},
		"long":            {Of("--recursive"), "recursive", true},
		"shortened":       {Of("--recur"), "recursive", true},
		"too short":       {Of("--re"), "recursive", false},
		"with a value":    {Of("--mode=755"), "mode", true},
		"one dash":        {Of("-exec"), "exec", true},
		"behind the end":  {Of("--", "-r"), "r", false},
		"no letter":       {Of("--rf"), "r", false},
		"operand":         {Of("r"), "r", false},
		"nothing":         {nil, "r", false},
		"only the hyphen": {Of("-"), "r", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.args.Has(c.option); got != c.want {
				t.Errorf("%q has %s: %t", c.args.Texts(), c.option, got)
			}
		})
	}
}

func TestValue(t *testing.T) {
	for name, c := range map[string]struct {
		args   List
		option string
		want   string
		ok     bool
	}{
		"next":          {Of("-o", "a"), "o", "a", true},
		"joined":        {Of("-oa"), "o", "a", true},
		"long next":     {Of("--output", "a"), "output", "a", true},
		"long joined":   {Of("--output=a"), "output", "a", true},
		"one dash":      {Of("-output", "a"), "output", "a", true},
		"in a cluster":  {Of("-qO", "a"), "O", "a", true},
		"cluster value": {Of("-qO-"), "O", "-", true},
		"missing":       {Of("-o"), "o", "", false},
		"another":       {Of("-x", "a"), "o", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := c.args.Value(c.option); got != c.want || ok != c.ok {
				t.Errorf("the value of %s in %q is %q, %t", c.option, c.args.Texts(), got, ok)
			}
		})
	}
	if got := Of("-e", "a", "--expression=b", "-e").Values("-e", "--expression"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("values %q", got)
	}
}

func TestOperands(t *testing.T) {
	args := Of("-v", "-o", "out", "a", "--depth", "3", "-", "--", "-b")
	if got := args.OperandsAfter("o", "depth").Texts(); !slices.Equal(got, []string{"a", "-", "-b"}) {
		t.Errorf("operands %q", got)
	}
	for name, c := range map[string]struct {
		args List
		want int
	}{
		"behind options":   {Of("-n", "5", "-v", "ls", "-la"), 3},
		"behind the end":   {Of("-v", "--", "-x"), 2},
		"nothing":          {Of("-v", "-n", "5"), -1},
		"nothing follows":  {Of("--"), -1},
		"at the beginning": {Of("ls"), 0},
	} {
		if got := c.args.Command("n"); got != c.want {
			t.Errorf("%s: the command in %q begins at %d, want %d", name, c.args.Texts(), got, c.want)
		}
	}
}
