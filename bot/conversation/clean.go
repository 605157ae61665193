package conversation

import "github.com/handrail-bot/handrail/policy/untrusted"

// Clean returns what a reader of GitHub sees of a text, and what was taken out of it.
func Clean(text string) (string, untrusted.Removed) { return untrusted.Clean(text) }

// Title returns what a reader of GitHub sees of a title, in which nothing is markup.
func Title(text string) string {
	text, _ = untrusted.CleanPlain(text)
	return text
}

// LinksIn returns where the links of a text lead.
func LinksIn(text string) []string { return untrusted.Links(text) }
