package command

import (
	"strings"
	"testing"
)

// A command is carried out if GitHub's page has its line, too.
func TestCommandsAsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body, page string
		asks       bool
	}{
		{"hi\n\n/agent stop", "<p>hi</p>\n<p>/agent stop</p>", false},
		{"hi\n/agent stop", "<p>hi<br>\n/agent stop</p>", false},
		{"hi\n/agent stop", "", false}, // from a server that is too old
		{"@helper stop", `<p><a class="user-mention" href="/helper">@helper</a> stop</p>`, false},
		{"hi\n/agent stop", "<p>hi <em><br>\n/agent stop</em></p>", true},
		{"hi\n/agent stop", "<p>hi</p><ul><li>/agent stop</li></ul>", true},
		{"[x]: <?&lt;</p>\n/agent fix it", "&lt;\n/agent fix it", true}, // a definition for one parser only
		{"hi", "<p>hi</p>", false},
		{"hi", "<p>/agent stop</p>", true},
	} {
		err := AsShown(tt.body, tt.page, "helper")
		if (err != nil) != tt.asks || err != nil && !strings.Contains(err.Public, "shows differently") {
			t.Errorf("%q shown as %q: %v", tt.body, tt.page, err)
		}
	}
}

// The words of a command are those of GitHub's page.
func TestSeenOnThePage(t *testing.T) {
	t.Parallel()
	const body = "above\n\n/agent fix **this**\n\n/agent stop"
	show := Show{
		Page:  "<p>Above</p><p>/agent fix <strong>that</strong> <img alt=\"x\"></p><p>/agent stop</p>",
		Clean: func(_, page string) string { return strings.NewReplacer("<p>", "", "</p>", "\n").Replace(page) },
	}
	cmds, err := table.Parse(body)
	if err != nil || len(cmds) != 2 {
		t.Fatal(cmds, err)
	}
	if got, ok := table.ShownText(body, cmds[0], show); !ok || !strings.HasPrefix(got, "fix <strong>that") || strings.Contains(got, "stop") {
		t.Errorf("seen is %q, %t", got, ok)
	}
	if got := Above(body, show); got != "Above" {
		t.Errorf("above is %q", got)
	}
}
