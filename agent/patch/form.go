package patch

import (
	"strings"
)

// MatchForm returns content, the new text of a whole file, in the form of the text
// that it replaces: byte order mark, line endings, final newline. If a final newline
// is the only change, it is added.
func MatchForm(before, content string) string {
	if before == "" {
		return content
	}
	if strings.HasPrefix(before, byteOrderMark) && !strings.HasPrefix(content, byteOrderMark) {
		content = byteOrderMark + content
	}
	old := splitText(before)
	if uniform(old, "\r\n") && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	} else if uniform(old, "\n") && allCRLF(content) {
		content = strings.ReplaceAll(content, "\r\n", "\n")
	}
	switch ends := strings.HasSuffix(before, "\n"); {
	case content == "" || !ends && strings.TrimRight(before, "\r\n") == strings.TrimRight(content, "\r\n"):
	case ends && !strings.HasSuffix(content, "\n"):
		content += commonEOL(old)
	case !ends && strings.HasSuffix(content, "\n"):
		content = strings.TrimSuffix(strings.TrimSuffix(content, "\n"), "\r")
	}
	return content
}

func uniform(lines []line, eol string) bool {
	n := 0
	for _, l := range lines {
		if l.eol != "" && l.eol != eol {
			return false
		}
		n += len(l.eol)
	}
	return n > 0
}

func allCRLF(s string) bool {
	return strings.Contains(s, "\r\n") && strings.Count(s, "\n") == strings.Count(s, "\r\n")
}
