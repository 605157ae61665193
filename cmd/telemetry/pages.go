package telemetry

import (
	"log/slog"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	webPage   = pattern.Lazy(`(?is)<(?:!doctype\s+html|html)\b.*?(?:</html>|$)`)
	pageTitle = pattern.Lazy(`(?is)<title[^>]*>(.*?)(?:</title|$)`)
)

// maxPageWords is the maximum number of bytes that a line of the log quotes of a web page.
const maxPageWords = 200

// CutPages shortens the web pages in errors and texts of a line of the log to their titles, or else
// to their first lines: a proxy in front of a server answers with pages.
func CutPages(_ []string, a slog.Attr) slog.Attr {
	text := ""
	if err, ok := a.Value.Any().(error); ok {
		text = err.Error()
	} else if a.Value.Kind() == slog.KindString {
		text = a.Value.String()
	}
	if !strings.Contains(text, "<") {
		return a
	}
	return slog.String(a.Key, webPage().ReplaceAllStringFunc(text, func(page string) string { //control:no-pages-in-the-log
		page = strings.ReplaceAll(page, `\n`, "\n") // of a page in quotes
		words, _, _ := strings.Cut(page, "\n")
		if title := pageTitle().FindStringSubmatch(page); title != nil {
			words = title[1]
		}
		words = strings.Join(strings.Fields(words), " ")
		return "(a web page: " + strings.ToValidUTF8(words[:min(len(words), maxPageWords)], "") + ")"
	}))
}
