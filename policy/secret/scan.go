package secret

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
)

// Finding is a credential found in a text. It does not contain the credential.
type Finding struct {
	Rule string `json:"rule"` // short name of the rule
	Text string `json:"text"` // description
	Line int    `json:"line"` // line in the text, starting at 1
}

// Scanner finds credentials with gitleaks' rules. A rule is compiled when a text first has
// one of its keywords, and kept, so one scanner should serve all. A scanner reads a few
// megabytes per second, so scan only the added lines of a diff. It is safe for concurrent
// use.
type Scanner struct {
	rules    []rule
	exempt   func() exception
	redactor *Redactor
}

// NewScanner returns a scanner with gitleaks' rules, the given values, and the token
// shapes of [Redactor].
func NewScanner(values ...Value) (*Scanner, error) {
	rules, exempt, err := readRules(config.DefaultConfig)
	if err != nil {
		return nil, err
	}
	return &Scanner{rules: rules, exempt: exempt, redactor: NewRedactor(values...)}, nil
}

// hit is a credential in a text.
type hit struct {
	span
	Finding
}

// hits returns the credentials in text, unsorted.
func (s *Scanner) hits(text string) []hit {
	var out []hit
	for _, sp := range s.redactor.find(text) {
		out = append(out, hit{sp, Finding{Rule: "known-secret", Text: "a known secret or a token of a well-known shape"}})
	}
	lower := strings.ToLower(text)
	for _, one := range s.rules {
		if len(one.keywords) > 0 &&
			!slices.ContainsFunc(one.keywords, func(k string) bool { return strings.Contains(lower, k) }) {
			continue
		}
		for _, m := range one.regex().FindAllStringSubmatchIndex(text, -1) {
			if s.isCredential(one, text, m) {
				out = append(out, hit{secretSpan(one, m), Finding{Rule: one.id, Text: one.text}})
			}
		}
	}
	return out
}

// ScanDiff returns the credentials in added text, at most one per line, sorted by line.
// Comments that tell scanners to skip a line have no effect.
func (s *Scanner) ScanDiff(added string) []Finding {
	var out []Finding
	for _, h := range s.hits(added) {
		h.Line = lineOf(added, h.start)
		out = append(out, h.Finding)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return slices.CompactFunc(out, func(a, b Finding) bool { return a.Line == b.Line })
}

// Redact replaces every credential in text with [Redacted].
func (s *Scanner) Redact(text string) string {
	var found []span
	for _, h := range s.hits(text) {
		found = append(found, h.span)
	}
	text, _ = replaceSpans(text, found)
	return text
}

// AddedLines returns the lines added by a unified diff of one file, and their line
// numbers in the new file.
func AddedLines(diff string) (added string, lines []int) {
	var b strings.Builder
	n, inHunk := 0, false
	for line := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "@@ "):
			_, rest, _ := strings.Cut(line, " +")
			count, _, _ := strings.Cut(rest, " ")
			count, _, _ = strings.Cut(count, ",")
			n, _ = strconv.Atoi(count)
			inHunk = true
		case strings.HasPrefix(line, "diff --git "):
			inHunk = false
		case !inHunk:
		case strings.HasPrefix(line, "+"):
			b.WriteString(line[1:] + "\n")
			lines = append(lines, n)
			n++
		case strings.HasPrefix(line, " "):
			n++
		}
	}
	return b.String(), lines
}

func lineOf(s string, i int) int { return 1 + strings.Count(s[:i], "\n") }

// isCredential reports whether a match is a credential: random enough and not excepted.
func (s *Scanner) isCredential(r rule, text string, m []int) bool {
	sp := secretSpan(r, m)
	secret := text[sp.start:sp.end]
	if r.entropy != 0 && entropy(secret) <= r.entropy {
		return false
	}
	start := strings.LastIndexByte(text[:m[0]], '\n') + 1
	end := len(text)
	if k := strings.IndexByte(text[m[1]:], '\n'); k >= 0 {
		end = m[1] + k
	}
	match, line := text[m[0]:m[1]], text[start:end]
	return !s.exempt().covers(secret, match, line) &&
		!slices.ContainsFunc(r.exempt(), func(e exception) bool { return e.covers(secret, match, line) })
}

// secretSpan returns the part of a match that is the credential.
func secretSpan(r rule, m []int) span {
	for g := 1; 2*g+1 < len(m); g++ {
		if (r.group == 0 || r.group == g) && m[2*g] >= 0 && m[2*g] < m[2*g+1] {
			return span{m[2*g], m[2*g+1]}
		}
	}
	return span{m[0], m[1]}
}

// entropy returns the Shannon entropy of s in bits per character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	total := 0
	for _, r := range s {
		counts[r]++
		total++
	}
	sum := 0.0
	for _, n := range counts {
		p := float64(n) / float64(total)
		sum -= p * math.Log2(p)
	}
	return sum
}
