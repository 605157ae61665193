package gitops

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// noDefault is the target of a mirror's HEAD if the remote has no default branch.
const noDefault = "refs/heads/.none"

// checkRef returns an error unless name is a full ref name that may be written or pushed.
// The alphabet is letters, digits and ". _ - / + @ # =", narrower than git's own, which
// accepts "$(id)", ";" and backticks. No component may start with "-" or ".", or end in
// ".lock" or ".".
func checkRef(name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %q %s", errRefName, name, why) }
	if !strings.HasPrefix(name, "refs/") {
		return bad(`does not start with "refs/"`)
	}
	if len(name) > 240 {
		return bad("is longer than 240 bytes")
	}
	if strings.Count(name, "/") < 2 {
		return bad("has no name after its kind")
	}
	for _, r := range name {
		if !refRune(r) {
			return bad(fmt.Sprintf("has the character %q", r))
		}
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return bad(`has ".." in it`)
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return bad("has an empty component")
		case part[0] == '-' || part[0] == '.':
			return bad(`has a component that starts with "-" or "."`)
		case strings.HasSuffix(strings.ToLower(part), ".lock") || strings.HasSuffix(part, "."):
			return bad(`has a component that ends in ".lock" or "."`)
		case part == "@":
			return bad(`has a component "@"`)
		}
	}
	return nil
}

func refRune(r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	if r > unicode.MaxASCII {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+@#=", r)
}

// PullRef returns the ref of a pull request's head, "refs/pull/7/head".
func PullRef(number int) string { return "refs/pull/" + strconv.Itoa(number) + "/head" }

func isPullRef(ref string) bool {
	rest, _ := strings.CutPrefix(ref, "refs/pull/")
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "/head"))
	return err == nil && n > 0 && ref == PullRef(n)
}

// isDotGit reports whether a name means ".git" on some file system: in any case, with
// trailing dots, spaces or streams of NTFS, as its short name, or with code points that
// HFS+ ignores.
func isDotGit(name string) bool { return isDotName(name, "git", "git~1") }

// isDotModules is isDotGit for ".gitmodules".
func isDotModules(name string) bool { return isDotName(name, "gitmodules", "gitmod~1") }

func isDotName(name, word, short string) bool {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	if i := strings.IndexAny(name, `:\`); i >= 0 { // on NTFS a stream, or a separator
		name = name[:i]
	}
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, "."+word) || strings.EqualFold(name, short)
}

// refusedName reports whether a name from a tree must not become a file's name: it means
// a git directory on some file system, or is invalid.
func refusedName(name string) bool {
	return name == "" || name == "." || name == ".." || len(name) > 255 ||
		strings.ContainsAny(name, "/\x00") || unsafePath([]string{name}) && !isDotModules(name)
}

// unsafePath reports whether a component of a path is a git directory, or the path is the
// list of submodules.
func unsafePath(parts []string) bool {
	for _, p := range parts {
		if isDotGit(p) || strings.ContainsRune(p, '\\') && unsafePath(strings.Split(p, `\`)) {
			return true
		}
	}
	return len(parts) == 1 && isDotModules(parts[0])
}
