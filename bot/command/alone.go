package command

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/bot/render/usage"
)

var (
	// likeID is words that can only be meant as an id.
	likeID = regexp.MustCompile(`^[0-9a-z]{4,12}$`)
	// kind is the words that may stand behind a yes.
	kind = regexp.MustCompile(`(?i)^(?:thanks?|thank|thx|ty|you|please|pls|lgtm|ok|okay|yes|yep|yeah|sure|go|ahead|for|it|that|this|looks?|good|great|fine|nice|to|me|do|ship|now|cheers|and|so|much|very|well|all|danke|bitte|ja|merci|oui|gracias|sí|si|obrigad[oa]|:?\+1:?|👍|🚀|✅|🎉|🙏|👌|💯|🙂|😀|❤️)$`)
	// fineNo is words with a no in them that refuse nothing.
	fineNo = regexp.MustCompile(`(?i)\b(?:(?:no|not a|not any|without) (?:problems?|objections?|concerns?|issues?|worries|risks?|harm)|why not|no need|not bad)\b`)
	// refusal is words that may take a yes back, or put a condition to it,
	// wherever they stand in a comment.
	refusal = regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:no|nope|not|never|none|don['’]?t|do n['’]t|won['’]?t|can['’]?t|cannot|shouldn['’]?t|mustn['’]?t|wouldn['’]?t|doesn['’]?t|isn['’]?t|wait|hold|stop|cancel|den(?:y|ied)|reject(?:ed)?|refuse[ds]?|revert|abort|veto|undo|ignore|disregard|instead|unless|until|only (?:if|when|after|once|then|as)|if|except|example|e\.?g|nein|nicht|kein\w*|niemals|warte|stopp|falls|wenn|non|pas|jamais|ne|não|nunca|jamás|mai|niet|geen|нет|не|nie|ikke|inte)(?:[^\p{L}]|$)|不|别|勿|否|いいえ|しないで|아니|👎|❌|🛑|🚫|⛔|✋`)
	// condition is words that may be one in the paragraph of a yes.
	condition = regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:only|once|after|before|later|but|however|erst|aber)(?:[^\p{L}]|$)`)
)

// alone returns why a comment grants nothing: other words stand in the
// paragraph of the command, behind its arguments, or the comment may say no,
// see refusalIn.
func alone(name string, ids []string, behind, no string) error {
	line, _, _ := strings.Cut(behind, "\n")
	onLine := len(tokens(line))
	for i, word := range tokens(blankLine.Split(behind, 2)[0]) {
		if kind.MatchString(word) { //control:yes-alone
			continue
		}
		said := clip(inCodeSpan(strings.Join(append([]string{prefix, name}, ids...), " ")))
		switch {
		case i >= onLine:
			return wrong(usage.NotAlone, said)
		case i == 0 && len(ids) > 0 && likeID.MatchString(requestID(word)) && digit.MatchString(word):
			return wrong(usage.NoIDBehind, inCodeSpan(word))
		}
		return wrong(usage.OtherWords, said, inCodeSpan(strings.TrimSpace(line)))
	}
	if no != "" { //control:yes-and-no
		return wrong(usage.AlsoSaysNo, clip(strings.TrimSpace(no)), prefix, name)
	}
	return nil
}

// tokens are the words of a text, without the marks around them.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,!…;*_~", r) })
}

// refusalIn returns the first word in a text that may say no, outside of its
// commands, code and quotations, or that may be a condition in the paragraph of
// a command; "" for none.
func refusalIn(text string, list []mention) string {
	commands := map[int]bool{}
	for _, m := range list {
		commands[m.start] = true
	}
	var f fence
	at, unsure := 0, ""
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		if commands[start] && unsure != "" {
			return unsure
		}
		if strings.TrimSpace(line) == "" {
			unsure = ""
		}
		if f.inside(line) || strings.HasPrefix(strings.TrimLeft(line, " "), ">") || commands[start] {
			continue
		}
		if no := refusal.FindString(fineNo.ReplaceAllString(line, "")); no != "" {
			return no
		}
		if unsure == "" {
			unsure = condition.FindString(line)
		}
	}
	return ""
}
