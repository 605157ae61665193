package work

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/gitops"
)

// TestPatchHasItsReason: work that ends as a patch names why, also if only the branch moved again and again.
func TestPatchHasItsReason(t *testing.T) {
	moved := fmt.Errorf("push refs/heads/b: %w", &gitops.RemoteError{Kind: gitops.ErrRejected, Reason: "cannot lock ref"})
	for name, tt := range map[string]struct {
		done gitops.Pushed
		want string
	}{
		"moved":             {gitops.Pushed{How: gitops.HowPatch, Causes: []error{moved, moved}}, "cannot lock ref"},
		"moved, then rules": {gitops.Pushed{How: gitops.HowPatch, Causes: []error{moved, errors.New("a rule")}}, "a rule"},
		"conflicts":         {gitops.Pushed{How: gitops.HowPatch, Causes: []error{moved}, Conflicts: []string{"a"}}, ""},
		"pushed in the end": {gitops.Pushed{How: "rebased", Causes: []error{moved}}, ""},
	} {
		got := strings.Join(pushReport(tt.done, "b").Said, "\n")
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
