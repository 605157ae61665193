package work

import (
	"context"
	"errors"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Secrets finds secret values, and tokens by their form. Scanner creates its result
// once, because that takes some 50 ms.
type Secrets struct {
	Redactor *secret.Redactor
	Scanner  func() (*secret.Scanner, error)
	// Contents seals the files kept in a log. If it is nil, a log keeps none, and another
	// machine continues from the last commit on the branch.
	Contents *secret.Key
}

// seal encrypts a file for the log. place is authenticated with it.
func (s Secrets) seal(data []byte, place string) ([]byte, error) {
	return s.Contents.Seal(data, place) //control:sealed-contents
}

// commitScan scans the commits of one repository.
type commitScan struct {
	Secrets
	repo *gitops.Mirror
}

// maxScanned is the maximum size in bytes of a scanned binary file.
const maxScanned = 32 << 20

// Scan implements agent.SecretScanner. A file that cannot be scanned is itself a
// finding, so the user decides.
func (c commitScan) Scan(ctx context.Context, from, to string, paths []string) ([]agent.Leak, error) {
	scanner, err := c.Scanner()
	if err != nil {
		return nil, err
	}
	var out []agent.Leak
	opt := gitops.DiffOptions{Paths: paths, Context: -1}
	err = c.repo.EachDiff(ctx, from, to, opt, func(diff string, st gitops.FileStat) error {
		for _, f := range scanner.ScanDiff(st.Path) {
			out = append(out, agent.Leak{Path: st.Path, Finding: f})
		}
		added, lines := secret.AddedLines(diff)
		for _, f := range scanner.ScanDiff(added) { //control:scan-each-file
			f.Line = lines[min(f.Line, len(lines))-1]
			out = append(out, agent.Leak{Path: st.Path, Finding: f})
		}
		if st.Binary && st.Kind != gitops.KindDelete {
			if f, found := c.whole(ctx, to, st.Path); found {
				out = append(out, agent.Leak{Path: st.Path, Finding: f})
			}
		}
		return nil
	})
	return out, err
}

// wholeChanges scans a binary file for known values and tokens.
func (c commitScan) whole(ctx context.Context, commit, path string) (secret.Finding, bool) {
	data, err := c.repo.ReadFile(ctx, commit, path, maxScanned)
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return secret.Finding{}, false
	case err != nil:
		return secret.Finding{Rule: "not-scanned", Text: "the file is too large to be looked at", Line: 1}, true
	}
	return secret.Finding{Rule: "known-secret", Text: "a known secret or a token of a well-known shape", Line: 1}, c.Redactor.Contains(string(data)) //control:scan-binary
}

// Hide implements agent.SecretScanner.
func (c commitScan) Hide(text string) string {
	scanner, err := c.Scanner()
	if err != nil {
		text, _ = c.Redactor.Redact(text)
		return text
	}
	return scanner.Redact(text)
}
