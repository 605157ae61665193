package session

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTitle is the maximum length of the title of a change, in characters.
const maxTitle = 72

// Title checks a title that a model gave to a change, and returns it without decoration, or
// "" if it is none: one line of at most 72 characters, with a verb in front as in an order,
// that names no file but the changed ones. Only its form is judged.
func Title(said string, files []FileChange) string {
	said = strings.TrimSpace(said)
	if strings.Contains(said, "\n") {
		return ""
	}
	said = strings.TrimRight(strings.Trim(said, "\"“”*# "), ".")
	first, rest, _ := strings.Cut(said, " ")
	if _, what, ok := strings.Cut(said, ": "); ok && strings.HasSuffix(first, ":") { // pkg: what, type(scope): what
		first, rest, _ = strings.Cut(what, " ")
	}
	switch {
	case rest == "" || utf8.RuneCountInString(said) > maxTitle || !utf8.ValidString(said):
		return ""
	case strings.ContainsAny(said, "<>[]\\?!@#\t\r\x00\x1b") || strings.Contains(said, "://"): //control:title-is-plain
		return ""
	case !isOrder(first) || !namesOnly(said, files): //control:title-of-the-change
		return ""
	}
	r, size := utf8.DecodeRuneInString(said)
	if !strings.Contains(strings.SplitN(said, " ", 2)[0], ":") {
		return string(unicode.ToUpper(r)) + said[size:]
	}
	return said
}

// isOrder reports whether a word can be a verb as in an order, by its form.
func isOrder(word string) bool {
	word = strings.ToLower(word)
	for _, end := range [...]string{"ed", "ing"} {
		if strings.HasSuffix(word, end) && len(word) > len(end)+2 {
			return false
		}
	}
	return !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss")
}

// namesOnly reports whether each word of a title that has the form of a file's name is the
// name of a changed file.
func namesOnly(title string, files []FileChange) bool {
	for word := range strings.FieldsSeq(title) {
		word = strings.Trim(word, "`'\"(),;:")
		if ext := path.Ext(word); !strings.Contains(word, "/") && (len(ext) < 2 || !unicode.IsLetter(rune(ext[1]))) {
			continue
		}
		named := false
		for _, f := range files {
			for _, name := range [...]string{f.Path, f.From} {
				named = named || name != "" && (name == word || strings.HasSuffix(name, "/"+word) || strings.HasPrefix(name, word))
			}
		}
		if !named {
			return false
		}
	}
	return true
}
