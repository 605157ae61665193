package ghapp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// ungranted answers writes as GitHub does when the App lacks the permission.
type ungranted struct {
	next  http.RoundTripper
	on    bool
	names string // the permission that the answer names, "" for none
}

func (u *ungranted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !u.on || r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/access_tokens") || strings.HasSuffix(r.URL.Path, "/graphql") {
		return u.next.RoundTrip(r)
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if u.names != "" {
		h.Set("X-Accepted-GitHub-Permissions", u.names)
	}
	return &http.Response{StatusCode: http.StatusForbidden, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(`{"message":"Resource not accessible by integration"}`))}, nil
}

// TestPermissionThatIsLacking: whatever is written, the error names the permission that
// was not granted, as GitHub does or by the address.
func TestPermissionThatIsLacking(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	refuse := &ungranted{}
	w := newWorld(t, func(_ *ghtest.Config, ac *ghapp.Config) {
		refuse.next = ac.Transport
		ac.Transport = refuse
	})
	wants := map[ghapp.WriteKind]string{
		ghapp.WriteComment: "issues=write", ghapp.WriteEditComment: "issues=write", ghapp.WriteIssue: "issues=write", ghapp.WriteEditIssue: "issues=write", ghapp.WriteLabels: "issues=write",
		ghapp.WriteReply: "pull_requests=write", ghapp.WritePull: "pull_requests=write", ghapp.WriteEditPull: "pull_requests=write", ghapp.WriteReviewers: "pull_requests=write",
		ghapp.WriteReview: "pull_requests=write", ghapp.WriteClosePull: "pull_requests=write",
		ghapp.WriteCheck: "checks=write", ghapp.WriteEditCheck: "checks=write", ghapp.WriteBranchGone: "contents=write",
	}
	list := w.writes(t)
	refuse.on = true
	for _, refuse.names = range []string{"", "issues=write; pull_requests=write"} {
		for i, wr := range list {
			if wr.Kind == ghapp.WriteReady { // GraphQL refuses inside of an answer
				continue
			}
			want := wants[wr.Kind]
			if wr.Kind == ghapp.WriteReaction && wr.Target.Diff {
				want = "pull_requests=write"
			} else if wr.Kind == ghapp.WriteReaction {
				want = "issues=write"
			}
			if refuse.names != "" {
				want = refuse.names
			}
			wr.Key, wr.Since = fmt.Sprintf("s-2/%d", i), time.Now()
			_, err := w.client.Perform(t.Context(), wr)
			var e *ghapp.Error
			if !errors.As(err, &e) || e.MissingPermission != want || e.Kind != ghapp.Permanent {
				t.Errorf("%s: %v, want one that lacks %s", wr.Kind, err, want)
			}
		}
	}
}
