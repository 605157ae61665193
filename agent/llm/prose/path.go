package prose

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Extensions of the languages that an info string names; of another word nothing follows.
var extensions = map[string][]string{
	"python": {".py"}, "py": {".py"}, "python3": {".py"}, "go": {".go"}, "golang": {".go"}, "ruby": {".rb"}, "rb": {".rb"},
	"javascript": {".js", ".mjs", ".cjs", ".jsx"}, "js": {".js", ".mjs", ".cjs", ".jsx"}, "jsx": {".jsx", ".js"},
	"typescript": {".ts", ".tsx", ".mts"}, "ts": {".ts", ".tsx", ".mts"}, "tsx": {".tsx"}, "java": {".java"},
	"kotlin": {".kt"}, "rust": {".rs"}, "rs": {".rs"}, "c": {".c", ".h"}, "cpp": {".cpp", ".cc", ".h", ".hpp"},
	"c++": {".cpp", ".cc", ".h", ".hpp"}, "csharp": {".cs"}, "cs": {".cs"}, "php": {".php"}, "swift": {".swift"},
	"json": {".json"}, "yaml": {".yml", ".yaml"}, "yml": {".yml", ".yaml"}, "toml": {".toml"}, "ini": {".ini", ".cfg", ".conf"},
	"html": {".html", ".htm"}, "css": {".css"}, "markdown": {".md"}, "md": {".md"}, "sql": {".sql"}, "xml": {".xml"},
}

var shells = []string{"sh", "bash", "shell", "zsh", "console", "terminal", "shell-session", "powershell", "cmd", "bat"}

func isShell(lang string) bool { return slices.Contains(shells, lang) }

// language returns the first word of an info string, in lower case, "" if it is a path.
func language(info string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(info, "{. "), " ")
	word, _, _ = strings.Cut(word, ":")
	if looksLikePath(word) {
		return ""
	}
	return strings.ToLower(strings.TrimRight(word, "}"))
}

// fits reports whether a file may be in a language. An unknown language fits every file.
func fits(name, lang string) bool {
	ext := extensions[lang]
	return len(ext) == 0 || slices.Contains(ext, strings.ToLower(path.Ext(name)))
}

var pathWord = pattern.Lazy(`^(?:\.{0,2}/)?[\p{L}\p{N}_.@+-]+(?:/[\p{L}\p{N}_.@+-]+)*$`)

// plain names files that have no extension.
var plain = []string{"makefile", "dockerfile", "rakefile", "gemfile", "readme", "license", "changelog", "procfile", "justfile"}

// looksLikePath reports whether a word can be the path of a file: it has an extension
// with a letter in it, or directories, or one of the usual names.
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

// labels stand in front of the path in a line that only names a file.
var labels = pattern.Lazy(`(?i)^(?:(?:updated|corrected|fixed|new|modified|full|complete)\s+)?(?:file(?:name)?|path|contents? of|in|code for|file path)\b\s*:?\s*`)

// afterPath is the rest of a line that only names a file: "(already provided …)", "(4 lines)".
var afterPath = pattern.Lazy(`^\s*(?:\([^)]*\)|\[[^\]]*\])?\s*[:.]?\s*$`)

// pathLike returns the path of a line that names a file and says no more, "" for another.
func pathLike(line string) string {
	s := strings.TrimSpace(line)
	s = strings.TrimLeft(s, "#*->0123456789.) ")
	if s0 := strings.TrimSpace(line); strings.HasPrefix(s0, ".") && !strings.HasPrefix(s0, ". ") || startsWithDigitPath(s0) {
		s = s0
	}
	s = labels().ReplaceAllString(s, "")
	s = strings.TrimLeft(s, "`*\"'_ ")
	word := s
	if i := strings.IndexAny(s, "`*\"' (:"); i >= 0 {
		word, s = s[:i], strings.TrimLeft(s[i:], "`*\"'")
	} else {
		s = ""
	}
	if !looksLikePath(word) || !afterPath().MatchString(s) {
		return ""
	}
	return word
}

// startsWithDigitPath reports whether a line is a path that begins with a digit, such as
// 01-intro.md, and no item of a list.
func startsWithDigitPath(s string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && !strings.ContainsAny(s, " ") && looksLikePath(s)
}

// infoPath returns the path that an info string gives.
func infoPath(info string) string {
	for _, word := range strings.FieldsFunc(info, func(c rune) bool { return c == ' ' || c == '{' || c == '}' || c == ',' }) {
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

// inComment returns the path in a comment that says no more.
func inComment(line string) string {
	m := comment().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return pathLike(m[1])
}

// diffPath returns the path that the head of a unified diff names.
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

// maxAbove is how many lines with words above a block may name its file.
const maxAbove = 2

// heading returns the path of the file that the next block is about: by its info string,
// by a line above that names a file and says no more, or by the words above, if they name
// just one file in view.
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

// above returns the lines with words right above the present one, the nearest first.
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

// mentions reports whether a line has a path, or its last part, as a word.
func mentions(line, name string) bool {
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" `*\"'(),;:", c) }) {
		word = strings.TrimRight(word, ".!?")
		if word == name || word == path.Base(name) || strings.HasSuffix(word, "/"+name) {
			return true
		}
	}
	return false
}

// example is how a block is announced that is not the file itself.
var example = pattern.Lazy(`(?i)\b(examples?|e\.g\.|for instance|usage|how (?:to|you can) (?:use|call|run|test)|you can (?:use|call|run|test)|would (?:look|print|output)|the output|sample)\b`)

func isExample(line string) bool { return example().MatchString(line) }

// announcesExample reports whether the line above says that a block is an example.
func (r *reader) announcesExample() bool {
	lines := r.above()
	return len(lines) > 0 && isExample(lines[0])
}

// spelled returns the path in view that name means: the path itself, one that differs in
// its directories from the only file of that name, or name as it is.
func (r *reader) spelled(name string) string {
	name = strings.TrimPrefix(path.Clean(strings.Trim(name, "`*\"' ")), "/")
	if _, ok := r.view.file(name); ok {
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

// only returns the only file in view that fits a language, "" if there are others.
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

// Shares of the lines of a file that a block must have to be taken for it without a path:
// for the only file in view, and for one of several, which must also be twice as like as
// the next.
const (
	minOnly    = 0.25
	minSeveral = 0.5
	tinyLines  = 3 // the lines of such a file are too few to compare
)

// alike returns the file in view that text is a version of.
func (v View) alike(text, lang string) string {
	best, second, found, fitting := 0.0, 0.0, "", 0
	for _, f := range v {
		if !fits(f.Path, lang) {
			continue
		}
		fitting++
		share := shared(f.Text, text)
		if share > best {
			best, second, found = share, best, f.Path
		} else if share > second {
			second = share
		}
	}
	if fitting == 1 {
		only := v.fitting(lang)
		f, _ := v.file(only)
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

// shared is the share of the lines of old that text has too.
func shared(old, text string) float64 {
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
