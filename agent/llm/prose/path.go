package prose

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// extensions maps the languages in info strings to file extensions.
var extensions = map[string][]string{
	"python": {".py"}, "py": {".py"}, "python3": {".py"}, "go": {".go"}, "golang": {".go"}, "ruby": {".rb"}, "rb": {".rb"},
	"javascript": {".js", ".mjs", ".cjs", ".jsx"}, "js": {".js", ".mjs", ".cjs", ".jsx"}, "jsx": {".jsx", ".js"},
	"typescript": {".ts", ".tsx", ".mts"}, "ts": {".ts", ".tsx", ".mts"}, "tsx": {".tsx"}, "java": {".java"},
	"kotlin": {".kt"}, "rust": {".rs"}, "rs": {".rs"}, "c": {".c", ".h"}, "cpp": {".cpp", ".cc", ".h", ".hpp"},
	"c++": {".cpp", ".cc", ".h", ".hpp"}, "csharp": {".cs"}, "cs": {".cs"}, "php": {".php"}, "swift": {".swift"},
	"json": {
		".json",
	}, "yaml": {".yml", ".yaml"}, "yml": {".yml", ".yaml"}, "toml": {".toml"}, "ini": {".ini", ".cfg", ".conf"},
	"html": {".html", ".htm"}, "css": {".css"}, "markdown": {".md"}, "md": {".md"}, "sql": {".sql"}, "xml": {".xml"},
}

var shells = []string{"sh", "bash", "shell", "zsh", "console", "terminal", "shell-session", "powershell", "cmd", "bat"}

func isShell(lang string) bool { return slices.Contains(shells, lang) }

// language returns the first word of an info string in lower case, or "" if it is a path.
func language(info string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(info, "{. "), " ")
	word, _, _ = strings.Cut(word, ":")
	if looksLikePath(word) {
		return ""
	}
	return strings.ToLower(strings.TrimRight(word, "}"))
}

// fits reports whether a file can be in a language. An unknown language fits every file.
func fits(name, lang string) bool {
	ext := extensions[lang]
	return len(ext) == 0 || slices.Contains(ext, strings.ToLower(path.Ext(name)))
}

var pathWord = pattern.Lazy(`^(?:\.{0,2}/)?[\p{L}\p{N}_.@+-]+(?:/[\p{L}\p{N}_.@+-]+)*$`)

// plain lists names of files without an extension.
var plain = []string{
	"makefile", "dockerfile", "rakefile", "gemfile", "readme", "license", "changelog", "procfile", "justfile",
}

// looksLikePath reports whether a word can be the path of a file: it has an extension
// that contains a letter, it is one of the usual names, or its name begins with a dot.
func looksLikePath(word string) bool {
	word = strings.Trim(word, "`*\"'()[]<>,;: ")
	if !pathWord().MatchString(word) || len(word) > 200 {
		return false
	}
	base := path.Base(word)
	ext := strings.TrimPrefix(path.Ext(base), ".")
	named := len(ext) > 0 && len(ext) <= 10 && strings.ContainsAny(ext, letters) && len(base) > len(ext)+1
	return named || slices.Contains(plain, strings.ToLower(base)) ||
		strings.HasPrefix(base, ".") && len(base) > 2 && strings.Trim(base, ".") != ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// labels match the words before the path in a line that only names a file.
var labels = pattern.Lazy(
	`(?i)^(?:(?:updated|corrected|fixed|new|modified|full|complete)\s+)?(?:file(?:name)?|path|contents? of|in|code for|file path)(?:[\s*_]*:[\s*_]*|\s+)`,
)

// afterPath matches the rest of such a line: "(already provided …)", "(4 lines)".
var afterPath = pattern.Lazy(`^\s*(?:\([^)]*\)|\[[^\]]*\])?\s*[:.]?\s*$`)

// pathLike returns the path in a line that only names a file, or "".
func pathLike(line string) string {
	s := strings.TrimSpace(line)
	s = strings.TrimLeft(s, "#*->0123456789.) ")
	if s0 := strings.TrimSpace(line); strings.HasPrefix(s0, ".") && !strings.HasPrefix(s0, ". ") ||
		startsWithDigitPath(s0) {
		s = s0
	}
	s = labels().ReplaceAllString(s, "")
	s = strings.TrimLeft(s, "`*\"'_<[ ")
	word := s
	if i := strings.IndexAny(s, "`*\"' (:>]"); i >= 0 {
		word, s = s[:i], strings.TrimLeft(s[i:], "`*\"'>]")
	} else {
		s = ""
	}
	if !looksLikePath(word) || !afterPath().MatchString(s) {
		return ""
	}
	return word
}

// startsWithDigitPath reports whether a line is a path that begins with a digit, such as
// 01-intro.md, and not an item of a list.
func startsWithDigitPath(s string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && !strings.ContainsAny(s, " ") && looksLikePath(s)
}

// infoPath returns the path in an info string, or "".
func infoPath(info string) string {
	for _, word := range strings.FieldsFunc(info, func(c rune) bool {
		return c == ' ' || c == '{' || c == '}' || c == ','
	}) {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if _, rest, ok := strings.Cut(word, ":"); ok && rest != "" {
			word = rest
		}
		word = strings.Trim(word, `"'`)
		if looksLikePath(word) {
			return word
		}
	}
	return ""
}

var comment = pattern.Lazy(`^\s*(?:#|//|--|;|%|/\*+|<!--|"""|')\s*(.*?)\s*(?:\*/|-->|""")?\s*$`)

// inComment returns the path in a comment that contains nothing else, or "".
func inComment(line string) string {
	m := comment().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return pathLike(m[1])
}

// diffPath returns the path in the head of a unified diff, or "".
func diffPath(body []string) string {
	for _, line := range body[:min(len(body), 8)] {
		if rest, ok := strings.CutPrefix(line, "+++ "); ok {
			rest, _, _ = strings.Cut(rest, "\t")
			if rest = strings.TrimSpace(rest); rest != "/dev/null" {
				return strings.TrimPrefix(rest, "b/")
			}
		}
	}
	return ""
}

// maxAbove is the maximum number of nonempty lines above a block that may name its file.
const maxAbove = 2

// heading returns the path for the next block: from its info string, from a line above
// that contains only a path, or from the line above if it mentions exactly one file in
// view.
func (r *reader) heading(info string) string {
	if p := infoPath(info); p != "" {
		return p
	}
	lines := r.above()
	for _, line := range lines {
		if p := pathLike(line); p != "" {
			return p
		}
	}
	if len(lines) == 0 || isExample(lines[0]) {
		return ""
	}
	found := ""
	for _, f := range r.view {
		if !mentions(lines[0], f.Path) {
			continue
		}
		if found != "" {
			return ""
		}
		found = f.Path
	}
	return found
}

// above returns the nonempty lines right above the current one, the nearest first.
func (r *reader) above() (out []string) {
	for i := r.at - 1; i >= 0 && len(out) < maxAbove && i >= r.at-4; i-- {
		line := strings.TrimSpace(r.lines[i])
		if _, _, _, fence := openFence(line); fence {
			break
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// mentions reports whether a line contains a path, or its last part, as a word.
func mentions(line, name string) bool {
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" `*\"'(),;:", c) }) {
		word = strings.TrimRight(word, ".!?")
		if word == name || word == path.Base(name) || strings.HasSuffix(word, "/"+name) {
			return true
		}
	}
	return false
}

// example matches the announcement of a block that is not the file itself.
var example = pattern.Lazy(
	`(?i)\b(examples?|e\.g\.|for instance|usage|how (?:to|you can) (?:use|call|run|test)|you can (?:use|call|run|test)|would (?:look|print|output)|the output|sample)\b`,
)

func isExample(line string) bool { return example().MatchString(line) }

// announcesExample reports whether the line above announces an example.
func (r *reader) announcesExample() bool {
	lines := r.above()
	return len(lines) > 0 && isExample(lines[0])
}

// resolvePath returns the path in view that name means: the path itself, or the only path in
// view with the same base name. Otherwise it returns name.
func (r *reader) resolvePath(name string) string {
	name = strings.TrimPrefix(path.Clean(strings.Trim(name, "`*\"' ")), "/")
	if _, ok := r.view.File(name); ok {
		return name
	}
	found := ""
	for _, f := range r.view {
		if strings.EqualFold(path.Base(f.Path), path.Base(name)) {
			if found != "" {
				return name
			}
			found = f.Path
		}
	}
	return first(found, name)
}

// only returns the only file in view that fits a language, or "".
func (r *reader) only(lang string) string { return r.view.fitting(lang) }

func (v View) fitting(lang string) string {
	found := ""
	for _, f := range v {
		if !fits(f.Path, lang) {
			continue
		}
		if found != "" {
			return ""
		}
		found = f.Path
	}
	return found
}

// Minimum shares of a file's lines that a block without a path must contain to be taken
// as that file: if it is the only one in view, and if there are several. In the second
// case the share must also be twice that of the next file.
const (
	minOnly    = 0.25
	minSeveral = 0.5
	tinyLines  = 3 // files below this number of lines are too short to compare
)

// closestFile returns the file in view of which text is a version, or "".
func (v View) closestFile(text, lang string) string {
	best, second, found, fitting := 0.0, 0.0, "", 0
	for _, f := range v {
		if !fits(f.Path, lang) {
			continue
		}
		fitting++
		share := sharedLines(f.Text, text)
		if share > best {
			best, second, found = share, best, f.Path
		} else if share > second {
			second = share
		}
	}
	if fitting == 1 {
		only := v.fitting(lang)
		f, _ := v.File(only)
		if best >= minOnly || len(v) == 1 && strings.Count(strings.TrimSpace(f.Text), "\n") < tinyLines && lang != "" {
			return only
		}
		return ""
	}
	if best >= minSeveral && best >= 2*second {
		return found
	}
	return ""
}

// minPartLine is the minimum length in bytes of the line by which the file of a part is known.
const minPartLine = 8

// partOf returns the file in view that a block without a path is a part of, or "": its first
// line, such as that of a function, is a line of this file alone.
func (v View) partOf(body []string, lang string) string {
	begin := strings.TrimSpace(body[0])
	found := ""
	for _, f := range v {
		if len(begin) < minPartLine || !fits(f.Path, lang) || !hasLine(f.Text, begin) {
			continue
		}
		if found != "" {
			return ""
		}
		found = f.Path
	}
	return found
}

// areParts reports whether two blocks are different parts of a file: neither has its first line,
// and both begin otherwise.
func (v View) areParts(name, one, other string) bool {
	f, ok := v.File(name)
	begin := strings.TrimSpace(firstLine(strings.TrimSpace(f.Text)))
	return ok && begin != "" && !hasLine(one, begin) && !hasLine(other, begin) &&
		firstLine(strings.TrimSpace(one)) != firstLine(strings.TrimSpace(other))
}

// hasLine reports whether a text has a line, whatever its indentation.
func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

// sharedLines returns the share of the lines of old that are also in text.
func sharedLines(old, text string) float64 {
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimSpace(line)] = true
	}
	all, same := 0, 0
	for line := range strings.Lines(old) {
		if line = strings.TrimSpace(line); len(line) > 1 {
			all++
			if have[line] {
				same++
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(same) / float64(all)
}
