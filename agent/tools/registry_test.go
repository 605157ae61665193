package tools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

func sheet(name string, kind policy.Kind, aliases ...string) tools.Tool {
	return tools.New(tools.Sheet{Name: name, Kind: kind, Aliases: aliases, Example: "{}"}, intent, run)
}

func intent(context.Context, tools.Args) (policy.Action, error) { return policy.Action{}, nil }

func run(context.Context, tools.Args, tools.Progress) (tools.Result, error) {
	return tools.Result{}, nil
}

// A tool that does not say what it is, or that another one is called like, is
// an error at start.
func TestRegistryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		list []tools.Tool
		want string
	}{
		"no name":            {[]tools.Tool{sheet("", policy.Read)}, "needs a name"},
		"no kind":            {[]tools.Tool{sheet("look", 0)}, "needs a name and a kind"},
		"no intent":          {[]tools.Tool{tools.New(tools.Sheet{Name: "look", Kind: policy.Read}, nil, run)}, "needs a function for its intent"},
		"nothing to run":     {[]tools.Tool{tools.New(tools.Sheet{Name: "look", Kind: policy.Read}, intent, nil)}, "one that runs it"},
		"same name":          {[]tools.Tool{sheet("look", policy.Read), sheet("look", policy.Read)}, "look is a name of look"},
		"alias of another":   {[]tools.Tool{sheet("look_up", policy.Read), sheet("find", policy.Read, "look_up")}, "look_up is a name of look_up"},
		"spelled as another": {[]tools.Tool{sheet("look_up", policy.Read), sheet("lookup", policy.Read)}, "lookup is a name of look_up"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tools.NewRegistry(c.list...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	r, err := tools.NewRegistry(sheet("look_up", policy.Read, "peek"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"look_up", "lookUp", "lookup", "peek", "functions.look_up"} {
		if _, ok := r.Find(name); !ok {
			t.Errorf("%s is not found", name)
		}
	}
	if _, ok := r.Find("look"); ok {
		t.Error("look is found")
	}
}
