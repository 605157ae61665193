package command

import (
	"html"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

var (
	codeSpan  = pattern.Lazy("`[^`\n]+`|``[^\n]+?``")
	reference = pattern.Lazy(`(?m)^ {0,3}\[([^\]\n]+)\]:[ \t]*<?([^\s>]+)>?.*$`)
	image     = pattern.Lazy(
		`!\[[^\]\n]*\](?:\([ \t]*<?([^\s()<>]+(?:\([^\s()<>]*\))?[^\s()<>]*)>?[^)\n]*\)|\[([^\]\n]*)\])?`,
	)
	imageWord = pattern.Lazy(`!\[([^\]\n]*)\]`)
	imageTag  = pattern.Lazy(`(?is)<img\b[^>]*?\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))[^>]*>`)
)

// Pictures returns the addresses of the pictures that body shows, as they are
// written, in order, each once: Markdown images, inline or by reference, and
// <img> tags. Markup in code or in an HTML comment shows nothing.
func Pictures(body string) []string {
	var shown strings.Builder
	var f fence
	for line := range strings.Lines(strings.ReplaceAll(body, "\r\n", "\n")) {
		if !f.inside(line) {
			shown.WriteString(codeSpan().ReplaceAllString(line, " "))
		}
	}
	text := shown.String()
	defined := map[string]string{}
	for _, m := range reference().FindAllStringSubmatch(text, -1) {
		defined[strings.ToLower(m[1])] = m[2]
	}
	type found struct {
		at  int
		url string
	}
	var all []found
	for _, m := range image().FindAllStringSubmatchIndex(text, -1) {
		url := group(text, m, 1)
		if url == "" {
			label := group(text, m, 2)
			if label == "" {
				label = imageWord().FindStringSubmatch(text[m[0]:m[1]])[1]
			}
			url = defined[strings.ToLower(label)]
		}
		all = append(all, found{m[0], url})
	}
	for _, m := range imageTag().FindAllStringSubmatchIndex(text, -1) {
		all = append(all, found{m[0], group(text, m, 1) + group(text, m, 2) + group(text, m, 3)})
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.at - b.at })
	var out []string
	for _, p := range all {
		url := strings.TrimSpace(html.UnescapeString(p.url))
		if url != "" && !slices.Contains(out, url) {
			out = append(out, url)
		}
	}
	return out
}

// group is the text of a group of a match, "" when it took no part.
func group(text string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return text[m[2*n]:m[2*n+1]]
}
