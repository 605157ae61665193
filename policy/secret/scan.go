package secret

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/viper"
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
	exempt   []*config.Allowlist
	redactor *Redactor
}

// rule is one of gitleaks' rules. A text without its keywords, in lower case, has nothing
// for it; without keywords it is for each text.
type rule struct {
	keywords []string
	compiled func() (*config.Rule, error)
}

// NewScanner returns a scanner with gitleaks' rules, the given values, and the token
// shapes of [Redactor].
func NewScanner(values ...Value) (*Scanner, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, fmt.Errorf("read scanner rules: %w", err)
	}
	var raw config.ViperConfig
	if err := v.Unmarshal(&raw); err != nil {
		return nil, fmt.Errorf("decode scanner rules: %w", err)
	}
	rest := raw
	rest.Rules = nil
	cfg, err := rest.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile scanner exceptions: %w", err)
	}
	s := &Scanner{exempt: cfg.Allowlists, redactor: NewRedactor(values...)}
	for i, r := range raw.Rules {
		if r.Regex == "" || r.Path != "" || len(r.Required) > 0 || r.SkipReport {
			continue
		}
		one := rule{compiled: sync.OnceValues(func() (*config.Rule, error) {
			cfg, err := (&config.ViperConfig{Rules: raw.Rules[i : i+1]}).Translate()
			if err != nil {
				return nil, fmt.Errorf("compile scanner rule: %w", err)
			}
			r := cfg.Rules[r.ID]
			return &r, nil
		})}
		for _, k := range r.Keywords {
			one.keywords = append(one.keywords, strings.ToLower(k))
		}
		s.rules = append(s.rules, one)
	}
	return s, nil
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
		r, err := one.compiled()
		if err != nil {
			panic(err) // the rules are part of the program, and a test compiles all
		}
		for _, m := range r.Regex.FindAllStringSubmatchIndex(text, -1) {
			if s.isCredential(r, text, m) {
				out = append(out, hit{secretSpan(r, m), Finding{Rule: r.RuleID, Text: r.Description}})
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
func (s *Scanner) isCredential(r *config.Rule, text string, m []int) bool {
	sp := secretSpan(r, m)
	secret := text[sp.start:sp.end]
	if r.Entropy != 0 && entropy(secret) <= r.Entropy {
		return false
	}
	start := strings.LastIndexByte(text[:m[0]], '\n') + 1
	end := len(text)
	if k := strings.IndexByte(text[m[1]:], '\n'); k >= 0 {
		end = m[1] + k
	}
	for _, list := range [][]*config.Allowlist{s.exempt, r.Allowlists} {
		for _, a := range list {
			if isExcepted(a, secret, text[m[0]:m[1]], text[start:end]) {
				return false
			}
		}
	}
	return true
}

// secretSpan returns the part of a match that is the credential.
func secretSpan(r *config.Rule, m []int) span {
	for g := 1; 2*g+1 < len(m); g++ {
		if (r.SecretGroup == 0 || r.SecretGroup == g) && m[2*g] >= 0 && m[2*g] < m[2*g+1] {
			return span{m[2*g], m[2*g+1]}
		}
	}
	return span{m[0], m[1]}
}

// isExcepted reports whether an allowlist covers a match. Exceptions by path or commit are
// ignored, because neither is known here.
func isExcepted(a *config.Allowlist, secret, match, line string) bool {
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	byRegex := len(a.Regexes) > 0 && a.RegexAllowed(target)
	byWord := false
	if len(a.StopWords) > 0 {
		byWord, _ = a.ContainsStopWord(secret)
	}
	if a.MatchCondition == config.AllowlistMatchOr {
		return byRegex || byWord
	}
	return len(a.Paths) == 0 && len(a.Commits) == 0 && (len(a.Regexes) == 0 || byRegex) &&
		(len(a.StopWords) == 0 || byWord)
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
