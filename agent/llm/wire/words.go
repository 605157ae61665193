package wire

import (
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxWords is the maximum length of the words of a server in a public sentence, in
// characters.
const maxWords = 200

// places matches addresses, files of the server's machine, and keys.
var places = pattern.Lazy(`[a-z][a-z0-9+.-]*://[^\s"']+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|` +
	`\[[0-9a-fA-F]*:[0-9a-fA-F:]+\](?::\d+)?|(?:^|[\s"'=(])/(?:[\w.@+-]+/)+[\w.@+-]*|` +
	`\b[A-Za-z]:\\[^\s"']+|\\\\[\w.-]+\\[^\s"']+|\blookup \S+|\b(?:localhost|(?:[\w-]+\.)+[a-z]{2,}):\d+|` +
	`\b(?:sk|pk|rk|gsk|hf|xai)[-_]\S+|\b(?:AIza|AKIA)\w+|\beyJ[\w-]+(?:\.[\w-]+)+|\b[Bb]earer +\S+`)

// Quote adds a server's own words to the public sentence of its failure, in one line and
// without addresses, paths and keys. Sentences that already tell the reason and the remedy stay
// as they are.
func Quote(e *llm.Error, words string) *llm.Error {
	switch e.Kind {
	case llm.Unsupported, llm.TooLong, llm.NotFound, llm.Garbled:
		return e
	}
	if said := clean(words); said != "" { //control:server-is-quoted
		quoted := *e
		quoted.Quote = `; it says: "` + said + `"`
		quoted.Public += quoted.Quote
		return &quoted
	}
	return e
}

func clean(words string) string {
	if IsPage([]byte(strings.TrimSpace(words))) {
		return ""
	}
	words = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '"':
			return '\''
		case !unicode.IsPrint(r): // also marks of direction
			return -1
		}
		return r
	}, strings.ToValidUTF8(words, ""))
	words = places().ReplaceAllString(words, " …") //control:no-addresses-quoted
	said := []rune(strings.Join(strings.Fields(words), " "))
	if len(said) > maxWords {
		said = append(said[:maxWords-1], '…')
	}
	return strings.TrimRight(string(said), ". ")
}
