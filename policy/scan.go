package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
)

// Finding is a credential in a text. It does not hold the credential.
type Finding struct {
	Rule string `json:"rule"` // short name of the rule
	Text string `json:"text"` // what was found, in words
	Line int    `json:"line"` // line of the text, from 1
}

// Scanner finds credentials by gitleaks' rules. Making one compiles all of
// them, and scanning goes at some megabytes a second: make one at start and
// scan only what a diff adds. It is safe for concurrent use.
type Scanner struct {
	rules    []config.Rule
	exempt   []*config.Allowlist
	redactor *Redactor
}

// NewScanner returns a scanner with gitleaks' rules that also knows the given
// values and the shapes that [Redactor] knows.
func NewScanner(values ...Secret) (*Scanner, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, fmt.Errorf("read scanner rules: %w", err)
	}
	var raw config.ViperConfig
	if err := v.Unmarshal(&raw); err != nil {
		return nil, fmt.Errorf("decode scanner rules: %w", err)
	}
	cfg, err := raw.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile scanner rules: %w", err)
	}
	s := &Scanner{exempt: cfg.Allowlists, redactor: NewRedactor(values...)}
	for _, r := range cfg.GetOrderedRules() {
		if r.Regex != nil && r.Path == nil && len(r.RequiredRules) == 0 && !r.SkipReport {
			s.rules = append(s.rules, r)
		}
	}
	return s, nil
}

// ScanDiff returns the credentials in the text that a change adds, one for a
// line, in order of lines. Comments that tell scanners to look away are not
// obeyed.
func (s *Scanner) ScanDiff(added string) []Finding {
	var out []Finding
	for _, sp := range s.redactor.find(added, 0) {
		out = append(out, Finding{Rule: "known-secret", Text: "a known secret or a token of a well-known shape", Line: lineOf(added, sp.start)})
	}
	lower := strings.ToLower(added)
	for i := range s.rules {
		r := &s.rules[i]
		if len(r.Keywords) > 0 && !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(lower, k) }) {
			continue
		}
		for _, m := range r.Regex.FindAllStringSubmatchIndex(added, -1) {
			if s.counts(r, added, m) {
				out = append(out, Finding{Rule: r.RuleID, Text: r.Description, Line: lineOf(added, m[0])})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return slices.CompactFunc(out, func(a, b Finding) bool { return a.Line == b.Line })
}

func lineOf(s string, i int) int { return 1 + strings.Count(s[:i], "\n") }

// counts reports whether a match is a credential: random enough and not on a
// list of exceptions.
func (s *Scanner) counts(r *config.Rule, text string, m []int) bool {
	secret := text[m[0]:m[1]]
	for g := 1; 2*g+1 < len(m); g++ {
		if (r.SecretGroup == 0 || r.SecretGroup == g) && m[2*g] >= 0 && m[2*g] < m[2*g+1] {
			secret = text[m[2*g]:m[2*g+1]]
			break
		}
	}
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
			if excepted(a, secret, text[m[0]:m[1]], text[start:end]) {
				return false
			}
		}
	}
	return true
}

// excepted reports whether a list of exceptions covers a match. What it says
// about paths and commits is not known here and excepts nothing.
func excepted(a *config.Allowlist, secret, match, line string) bool {
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
	return len(a.Paths) == 0 && len(a.Commits) == 0 && (len(a.Regexes) == 0 || byRegex) && (len(a.StopWords) == 0 || byWord)
}

// entropy is the Shannon entropy of s in bits a character.
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
