package untrusted

import (
	"strings"
	"testing"
)

// hostileTexts are made to be slow: openings without ends, nesting, runs.
func hostileTexts(size int) map[string]string {
	out := map[string]string{}
	for name, unit := range map[string]string{
		"comments open": "<!-- ", "comment shorts": "<!--->", "tags open": "<a b=\"", "entities": "&amp;", "entity chain": "&", "brackets": "[", "images": "![", "closings": "]",
		"links open": "[a](b \"", "destinations": "[a](<", "parens": "[a]((", "fences": "```\n", "ticks": "`` ` ", "quotes": "> ", "lists": "- ", "footnotes": "[^a]: b\n",
		"details": "<details>", "templates": "<template>", "definitions": "[a]: b 'c\n", "emphasis": "*a_", "mentions": "@a ", "urls": "https://a", "base64": "QUFB", "base64 rows": "QUFBQUFB\n",
		"gzip heads": "H4sI", "numbers": "65, ", "escapes": "%41", "hex": "6a", "quotes joined": "\"+\"", "selectors": "\ufe0f", "joiners": "क\u200d", "isolates": "ש\u2066", "flags": "🏴\U000e0067",
		"slashes": "\\", "controls": "\x1b[", "osc": "\x1b]8;;", "keys": "-----BEGIN PRIVATE KEY-----", "bangs": "!", "tables": "|a", "headings": "#\n=\n", "autolinks": "<https://", "jwt": "eyJ", "credentials": "://a:",
	} {
		out[name] = strings.Repeat(unit, size/len(unit))
	}
	return out
}

// TestHostileTextsEnd runs every cleaner over text that is made to be slow.
// There is no clock here: one that is not near linear makes the test hang.
func TestHostileTextsEnd(t *testing.T) {
	for name, s := range hostileTexts(64 << 10) {
		t.Run(name, func(t *testing.T) {
			Clean(s, "")
			out := CleanOutput(s, OutputOptions{})
			if again := CleanOutput(out, OutputOptions{}); again != out {
				t.Error("CleanOutput is not stable")
			}
		})
	}
}
