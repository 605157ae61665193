package secret

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// rule is one of gitleaks' rules. A text without its keywords, in lower case, has nothing
// for it; without keywords it is for each text. group is the group of the regular
// expression that is the credential; 0 means the first one that is not empty.
type rule struct {
	id, text string
	keywords []string
	group    int
	entropy  float64
	regex    func() *regexp.Regexp
	exempt   func() []exception
}

// writtenRules is the part of gitleaks' file of rules that counts here, and the names of
// the rest. An unknown name is an error, so that no new condition is ignored.
type writtenRules struct {
	Title, MinVersion string
	Allowlist         writtenException
	Rules             []struct {
		ID, Description, Path, Regex string
		SecretGroup                  int
		Entropy                      float64
		Keywords, Tags               []string
		Allowlists                   []writtenException
	}
}

type writtenException struct {
	Description, Condition, RegexTarget string
	Commits, Paths, Regexes, StopWords  []string
}

// readRules reads gitleaks' file of rules. It leaves out rules for names of files, and
// compiles regular expressions on first use.
func readRules(file string) (rules []rule, exempt func() exception, err error) {
	var in writtenRules
	d := toml.NewDecoder(strings.NewReader(file)).DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, nil, fmt.Errorf("read scanner rules: %w", err)
	}
	for _, r := range in.Rules {
		if r.Regex == "" || r.Path != "" {
			continue
		}
		one := rule{
			id:      r.ID,
			text:    r.Description,
			group:   r.SecretGroup,
			entropy: r.Entropy,
			regex:   pattern.Lazy(r.Regex),
			exempt: sync.OnceValue(func() (list []exception) {
				for _, e := range r.Allowlists {
					list = append(list, e.compile())
				}
				return list
			}),
		}
		for _, k := range r.Keywords {
			one.keywords = append(one.keywords, strings.ToLower(k))
		}
		rules = append(rules, one)
	}
	return rules, sync.OnceValue(in.Allowlist.compile), nil
}

// exception is a list of texts that are no credentials. both means that all its conditions
// must hold, elsewhere that one of them is on the name of the file or the commit, which are
// unknown here.
type exception struct {
	both, elsewhere bool
	target          string // part of the text for regex: the match, its line, or the credential
	regex           *regexp.Regexp
	words           []string
}

func (w writtenException) compile() exception {
	e := exception{
		both:      w.Condition == "&&" || strings.EqualFold(w.Condition, "AND"),
		elsewhere: len(w.Paths)+len(w.Commits) > 0,
		target:    w.RegexTarget,
	}
	if len(w.Regexes) > 0 {
		e.regex = regexp.MustCompile("(?:" + strings.Join(w.Regexes, ")|(?:") + ")")
	}
	for _, word := range w.StopWords {
		e.words = append(e.words, strings.ToLower(word))
	}
	return e
}

// covers reports whether the exception is for a match.
func (e exception) covers(secret, match, line string) bool {
	target := secret
	switch e.target {
	case "match":
		target = match
	case "line":
		target = line
	}
	byRegex := e.regex != nil && target != "" && e.regex.MatchString(target)
	byWord := false
	for lower, i := strings.ToLower(secret), 0; i < len(e.words) && !byWord; i++ {
		byWord = strings.Contains(lower, e.words[i])
	}
	if !e.both {
		return byRegex || byWord
	}
	return !e.elsewhere && (e.regex == nil || byRegex) && (len(e.words) == 0 || byWord)
}
