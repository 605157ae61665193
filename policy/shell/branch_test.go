package shell

import "testing"

// TestOwnBranch holds a push to the branch of the session apart from every
// other: only that name counts, only commits are added, and only where the
// branch is known.
func TestOwnBranch(t *testing.T) {
	tests := []struct {
		command string
		want    Severity
	}{
		{"git push origin agent/own", Medium},
		{"git push -u origin agent/own", Medium},
		{"git push --quiet origin HEAD:agent/own", Medium},
		{"git push origin HEAD:refs/heads/agent/own", Medium},
		{"git push origin agent/other", High},
		{"git push origin agent/own:agent/other", High},
		{"git push origin agent/own/more", High},
		{"git push origin :agent/own", High},
		{"git push origin +agent/own", High},
		{"git push --force origin agent/own", High},
		{"git push --tags origin agent/own", High},
		{"git push --follow-tags origin agent/own", High},
		{"git push --no-verify origin agent/own", High},
		{"git push origin agent/own main", High},
		{"git push origin", High},
		{"git push upstream agent/own", High},
		{"git push https://example.com/r.git agent/own", High},
		{"git push origin \"$B\"", High},
		{"git remote set-url origin https://example.com/r.git; git push origin agent/own", High},
		{"git -c remote.origin.pushurl=https://example.com/r.git push origin agent/own", High},
		{"git config remote.origin.pushurl https://example.com/r.git; git push origin agent/own", High},
		{"git -c url.https://example.com/.pushInsteadOf=https://github.com/ push origin agent/own", High},
	}
	for _, tt := range tests {
		if got := AnalyzeOn("agent/own", tt.command); got.Severity < tt.want || tt.want == Medium && got.Severity != Medium {
			t.Errorf("%q is %s, want %s: %v", tt.command, got.Severity, tt.want, got.Reasons)
		}
		if got := Analyze(tt.command); got.Severity < High {
			t.Errorf("%q is %s where no branch is known: %v", tt.command, got.Severity, got.Reasons)
		}
	}
}
