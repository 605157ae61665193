package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/gitops"
)

// TestInWords: what people in a thread are told of an error is a sentence, and no
// part of the program's own words stands in it but as a detail.
func TestInWords(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"for people", fmt.Errorf("find start: %w", UserError{".github/agent.yml: line 3: there is no key \"moodel\""}), "I could not start: .github/agent.yml: line 3: there is no key \"moodel\""},
		{"an empty repository", fmt.Errorf("read default branch: %w", gitops.ErrEmpty), "I could not start: the repository is empty: push a first commit to it"},
		{"no access", fmt.Errorf("fetch https://h/o/r: git-upload-pack: %w", gitops.ErrAuth), "I could not start: I have no access to the code of this repository. Install the App on it, with the permission Contents: read and write"},
		{"gone", &ghapp.Error{Op: "read issue", Kind: ghapp.Permanent, Status: 404, Err: errors.New("GET https://api/… 404")}, "I could not start: something no longer exists on GitHub (read issue)"},
		{"refused", &ghapp.Error{Op: "create comment", Kind: ghapp.Permanent, Status: 403, Err: errors.New("Resource not accessible\nby integration")}, "I could not start: GitHub refused it (create comment: `Resource not accessible …`)"},
		{"a permission", fmt.Errorf("open pull request: %w", &ghapp.Error{Op: "open pull request", Status: 403, MissingPermission: "pull_requests=write", Err: errors.New("POST https://api/… 403")}),
			"I could not start: I lack the permission *Pull requests: read and write*. The owner of the GitHub App grants it"},
		{"the server's own", errors.New("open mirror: repository address \"\": want https://host/owner/name"),
			"I could not start: my server has a problem, and its operator finds more in the log (`open mirror: repository address \"\": want https://host/owner/name`)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render.CouldNotStart(InWords(c.err)); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
