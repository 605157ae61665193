package shell

import (
	"slices"
	"testing"
)

func TestOptionsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		args   list
		option string
		want   bool
	}{
		"letter":          {argsOf("-r", "a"), "r", true},
		"in a cluster":    {argsOf("-rf", "a"), "f", true},
		"long":            {argsOf("--recursive"), "recursive", true},
		"shortened":       {argsOf("--recur"), "recursive", true},
		"too short":       {argsOf("--re"), "recursive", false},
		"with a value":    {argsOf("--mode=755"), "mode", true},
		"one dash":        {argsOf("-exec"), "exec", true},
		"behind the end":  {argsOf("--", "-r"), "r", false},
		"no letter":       {argsOf("--rf"), "r", false},
		"operand":         {argsOf("r"), "r", false},
		"nothing":         {nil, "r", false},
		"only the hyphen": {argsOf("-"), "r", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.args.has(c.option); got != c.want {
				t.Errorf("%q has %s: %t", c.args.words(), c.option, got)
			}
		})
	}
}

func TestValue(t *testing.T) {
	for name, c := range map[string]struct {
		args   list
		option string
		want   string
		ok     bool
	}{
		"next":          {argsOf("-o", "a"), "o", "a", true},
		"joined":        {argsOf("-oa"), "o", "a", true},
		"long next":     {argsOf("--output", "a"), "output", "a", true},
		"long joined":   {argsOf("--output=a"), "output", "a", true},
		"one dash":      {argsOf("-output", "a"), "output", "a", true},
		"in a cluster":  {argsOf("-qO", "a"), "O", "a", true},
		"cluster value": {argsOf("-qO-"), "O", "-", true},
		"missing":       {argsOf("-o"), "o", "", false},
		"another":       {argsOf("-x", "a"), "o", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := c.args.option(c.option); got != c.want || ok != c.ok {
				t.Errorf("the value of %s in %q is %q, %t", c.option, c.args.words(), got, ok)
			}
		})
	}
	if got := argsOf("-e", "a", "--expression=b", "-e").options("e", "expression"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("values %q", got)
	}
}

func TestOperands(t *testing.T) {
	args := argsOf("-v", "-o", "out", "a", "--depth", "3", "-", "--", "-b")
	if got := args.operandsAfter("o", "depth").words(); !slices.Equal(got, []string{"a", "-", "-b"}) {
		t.Errorf("operands %q", got)
	}
	for name, c := range map[string]struct {
		args list
		want int
	}{
		"behind options":   {argsOf("-n", "5", "-v", "ls", "-la"), 3},
		"behind the end":   {argsOf("-v", "--", "-x"), 2},
		"nothing":          {argsOf("-v", "-n", "5"), -1},
		"nothing follows":  {argsOf("--"), -1},
		"at the beginning": {argsOf("ls"), 0},
	} {
		if got := c.args.command("n"); got != c.want {
			t.Errorf("%s: the command in %q begins at %d, want %d", name, c.args.words(), got, c.want)
		}
	}
}

func TestMarks(t *testing.T) {
	for name, c := range map[string]struct{ in, marks, bare, opaque, shown string }{
		"known":   {"rm", "", "rm", unknown, "rm"},
		"unknown": {"rm " + unknown, unknown, "rm ", unknown, "rm …"},
		"secret":  {secret, secret, "", unknown + secret, "…"},
		"twice":   {remote + "a" + remote, remote, "a", unknown + remote, "…a…"},
		"all":     {filed + hidden + remote + secret + unknown, all, "", all, "……………"},
		"nothing": {"", "", "", unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if of(c.in) != c.marks || isKnown(c.in) != (c.marks == "") || strip(c.in) != c.bare || opaqueMarks(c.in) != c.opaque || show(c.in) != c.shown {
				t.Errorf("%q: %q, %t, %q, %q, %q", c.in, of(c.in), isKnown(c.in), strip(c.in), opaqueMarks(c.in), show(c.in))
			}
		})
	}
}

func TestMetadataAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"http://169.254.169.254/latest": true, "http://2852039166/": true, "0xA9FEA9FE": true, "http://0251.0376.0251.0376:80/": true, "169.254.43518": true,
		"http://[::ffff:169.254.169.254]/": true, "http://[fd00:ec2::254]/x": true, "http://u@metadata.google.internal./": true, "http://100.100.100.200": true,
		"http://localhost:8080": false, "https://example.com/169.254.169.254": false, "http://127.0.0.1": false, "": false, "http://1.2.3.4.5": false, "http://256": false,
	} {
		if got := metadata(address); got != want {
			t.Errorf("%q: %t, want %t", address, got, want)
		}
	}
}
