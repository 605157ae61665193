package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/handrail-bot/handrail/policy/typo"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Maximum lengths of names.
const (
	maxRef     = 200
	maxSlug    = 40
	maxSession = 64
)

// ValidateBranch accepts the branch names that Handrail creates, fetches or pushes: ASCII
// letters, digits and . _ / - + = @ in parts that begin with a letter or digit. It is
// stricter than git, which allows $(id), quotes, backticks and semicolons. name has no
// refs/heads/ prefix.
func ValidateBranch(name string) error {
	if err := plainRef(name); err != nil {
		return fmt.Errorf("check branch name %q: %w", name, err)
	}
	return nil
}

func plainRef(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > maxRef:
		return fmt.Errorf("it is longer than %d characters", maxRef)
	case name == "HEAD" || name == "@":
		return errors.New("it is a name that git gives a meaning of its own")
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return errors.New(`it contains ".." or "@{"`)
	}
	for _, part := range strings.Split(name, "/") {
		if err := plainRefPart(part); err != nil {
			return err
		}
	}
	return nil
}

func plainRefPart(part string) error {
	if part == "" {
		return errors.New("a part between slashes is empty")
	}
	if !alnum(rune(part[0])) {
		return fmt.Errorf("the part %q does not begin with a letter or digit", part)
	}
	if strings.HasSuffix(part, ".") || strings.HasSuffix(strings.ToLower(part), ".lock") {
		return fmt.Errorf(`the part %q ends with "." or ".lock"`, part)
	}
	for _, r := range part {
		if !alnum(r) && !strings.ContainsRune("._-+=@", r) {
			return fmt.Errorf("the character %q is not used in branch names here", r)
		}
	}
	return nil
}

func alnum(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// slug converts title to a part of a branch name: words of lower-case ASCII letters and
// digits, joined by hyphens. It has at most 40 characters and is cut between words if
// possible. Letters lose their accents. A title without usable letters becomes "task".
func slug(title string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(title) {
		switch {
		case alnum(r):
			b.WriteRune(unicode.ToLower(r))
		case unicode.Is(unicode.Mn, r), untrusted.Invisible(r) && r != '\n' && r != '\t', r == '\'', r == '’':
		default:
			b.WriteByte(' ')
		}
		if b.Len() > 4*maxSlug {
			break
		}
	}
	slug := ""
	for _, word := range strings.Fields(b.String()) {
		next := strings.TrimPrefix(slug+"-"+word, "-")
		if len(next) > maxSlug {
			if slug == "" {
				slug = next[:maxSlug]
			}
			break
		}
		slug = next
	}
	if slug == "" || slug == "lock" {
		return "task"
	}
	return slug
}

// BranchValues are the values for a branch template. Title is converted to a slug. Number
// is the issue or pull request; 0 means that there is none, and becomes "run".
type BranchValues struct {
	Number  int
	Title   string
	Session string
	Mode    string
}

// Branch fills in a template, which may use {number}, {slug}, {session} and {mode}, and
// returns a name that [ValidateBranch] accepts, or an error.
func Branch(template string, v BranchValues) (string, error) {
	if err := validateBranchTemplate(template); err != nil {
		return "", fmt.Errorf("fill branch template: %w", err)
	}
	number := "run"
	if v.Number > 0 {
		number = strconv.Itoa(v.Number)
	}
	name := strings.NewReplacer("{number}", number, "{slug}", slug(v.Title), "{session}", slug(v.Session), "{mode}", slug(v.Mode)).Replace(template)
	if err := ValidateBranch(name); err != nil {
		return "", fmt.Errorf("fill branch template: %w", err)
	}
	return name, nil
}

// validateBranchTemplate accepts templates that always produce a valid branch name and
// cannot name a fixed branch: they must contain {number} or {session}.
func validateBranchTemplate(template string) error {
	rest := template
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 {
			return fmt.Errorf("check branch template %q: a { is not closed", template)
		}
		switch word := rest[open+1 : open+end]; word {
		case "number", "slug", "session", "mode":
		default:
			hint := ""
			if near := Nearest(word, []string{"number", "slug", "session", "mode"}); near != "" {
				hint = fmt.Sprintf(", did you mean {%s}?", near)
			}
			return fmt.Errorf("check branch template %q: unknown placeholder {%s}%s", template, untrusted.EscapeLine(word), hint)
		}
		rest = rest[open+end+1:]
	}
	if !strings.Contains(template, "{number}") && !strings.Contains(template, "{session}") {
		return fmt.Errorf("check branch template %q: {number} or {session} is needed, so that sessions do not share a branch", template)
	}
	longest := strings.NewReplacer("{number}", "1234567890", "{slug}", strings.Repeat("a", maxSlug), "{session}", strings.Repeat("a", maxSlug), "{mode}", "architect").Replace(template)
	if err := plainRef(longest); err != nil {
		return fmt.Errorf("check branch template %q: %w", template, err)
	}
	return nil
}

// ValidateLogin accepts a GitHub login, including those of apps ("name[bot]") and managed
// users ("name_company").
func ValidateLogin(login string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\[bot\])?$`).MatchString(login) {
		return fmt.Errorf("check login %q: it is not a GitHub login", login)
	}
	return nil
}

// ValidateSession accepts a session id: lower-case letters, digits and inner hyphens, at
// most 64 characters.
func ValidateSession(id string) error {
	if len(id) > maxSession || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(id) {
		return fmt.Errorf("check session id %q: it is not one that Handrail gave", id)
	}
	return nil
}

// Nearest is [typo.Nearest], for callers that import only policy.
func Nearest(word string, candidates []string) string { return typo.Nearest(word, candidates) }
