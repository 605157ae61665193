package command

import (
	_ "embed" // talk.txt
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// While a request waits, people also talk about it: "not yet", "why?", "is this safe?".
// That answers nothing and is no instruction. What is longer, or has words of the work in
// it, is one.

// What a text that is talk comes to, besides [approves] and [denies].
const (
	TalkWaits = "wait" // it leaves the request open
	TalkAsks  = "why"  // it asks about the request
)

const (
	mostTalk   = 10 // words of a text that only talks
	mostClause = 7  // words of a condition
	mostAsked  = 14 // words of a question about a request
	mostOdd    = 2  // words of a text that nobody has thought of
	mostOddly  = 24 // characters of it
)

var (
	// leans is the words of talk.txt by their list.
	leans     = leanings(talkWords)
	plainTalk = []map[string]bool{leans["say"], leans["yes"], leans["no"], leans["wait"], leans["ask"], polite, yes, no}

	// himself begins what people say of themselves, or a condition; nobody is told to do something.
	himself   = regexp.MustCompile(`^(?:(?:i'?ll|i will|i'?m|i am|we'?ll|we will|one (?:sec|second|moment|minute)|give me (?:a|an|one|some|until|till|time|\d)|gimme (?:a|one)|hold (?:on|off|it)|hang on|not (?:yet|now|right now|today|before|until|till|without|unless|so fast|sure)|wait|waiting|only (?:if|when|after|once)|unless|depends|(?:(?:i|we)(?:'d like| would like| want| need| have| must| had| should)?|let me|lemme|let us|let's) (?:to )?(?:see|look|check|think|ask|read|understand|know|review|test|verify|wait|talk|discuss|sleep|consider|decide))\b)`)
	unsureYet = regexp.MustCompile(`^(?:if|once|when|until|till|as soon as|as long as|provided|assuming|after (?:the|you|i|we|lunch)) (?:[\pL']+ )*[\pL']+$`)
	// tells begins a question that asks for work, if it has words of the work in it.
	tells = regexp.MustCompile(`^(?:(?:please|pls|so|and|but|ok|hey|then|hmm+),? )*(?:(?:can|could|would|will|won't|can't|should|shouldn't|shall|may) (?:you|we|u|i)\b|how about|what about|what if|why (?:not|don't|dont|do not|won't|can't)|maybe|perhaps|instead|use|try|do you mind|would it)`)
	// settles says how something is to be, in words of talk: "leave it at one".
	settles = regexp.MustCompile(`\b(?:leave|keep|make) (?:it|this|that|them) (?:at|as|in)\b`)
	// refers is words by which a question is about what waits.
	refers = set(`it its it's this that that's these those them request requests approval approve command you your one`)
)

// Talk returns what a text behind the command word comes to that only talks about requests
// which wait, "" for any other. Shown is what they are about.
func Talk(text, shown string) string {
	if utf8.RuneCountInString(text) > mostGuessed {
		return ""
	}
	text = noTrouble.ReplaceAllString(spoken.Replace(strings.ToLower(strings.TrimSpace(text))), "fine")
	if settles.MatchString(text) { //control:settles-is-an-instruction
		return ""
	}
	list, asks := words(text), strings.HasSuffix(strings.TrimRight(text, " !)"), "?")
	parts := slices.DeleteFunc(breaks.Split(text, -1), func(c string) bool { return len(words(c)) == 0 })
	known := func(sets ...map[string]bool) bool {
		return !slices.ContainsFunc(parts, func(c string) bool { return !says(c) && !allIn(words(c), sets...) })
	}
	refer := func() bool { return slices.ContainsFunc(list, func(w string) bool { return refers[w] }) }
	switch {
	case len(list) == 0 && !asks:
		return ""
	case len(list) <= mostTalk && known(plainTalk...):
		return leaning(list, parts, asks)
	case len(list) <= mostOdd && odd(text, list):
		return leaning(list, parts, asks)
	case asks && len(list) <= mostAsked && (known(append(slices.Clone(plainTalk), leans["work"], set(strings.Join(words(shown), " ")))...) || !tells.MatchString(text) && refer()):
		return TalkAsks
	}
	return ""
}

// odd reports whether a text of a word or two names nothing that could be done, or done to.
func odd(text string, list []string) bool {
	return utf8.RuneCountInString(text) <= mostOddly && !strings.ContainsAny(strings.TrimRight(text, "."), "./_#@`0123456789") && !slices.ContainsFunc(list, func(w string) bool {
		return leans["do"][w] || leans["do"][strings.TrimSuffix(w, "s")] || strings.HasSuffix(w, "ing") && !leans["say"][w] && !leans["wait"][w]
	})
}

var (
	noTrouble = regexp.MustCompile(`\b(?:no|without) (?:problems?|objections?|concerns?|issues?|worries)\b`)
	spoken    = strings.NewReplacer("’", "'", "\n", ", ", ", why not", ", sure")
	breaks    = regexp.MustCompile(`[,;:.!?…]+(?:\s+|$)|\s[-–—]+\s|[–—]`)
)

// words is the words of a text; in "noooo" letters stand once, and pictures apart.
func words(text string) (out []string) {
	for _, w := range plain(strings.NewReplacer("/", " ", "(", " ", ")", " ", "|", " ", "&", " ").Replace(text)) {
		var short []rune
		for runes := []rune(w); len(runes) > 0; {
			n := 1
			for n < len(runes) && runes[n] == runes[0] {
				n++
			}
			keep := 1
			if n == 2 && runes[0] < 0x2190 { // letters
				keep = 2
			}
			short, runes = append(short, runes[:keep]...), runes[n:]
		}
		out = append(out, string(short))
	}
	return out
}

// says reports whether a clause is about its speaker, or a condition: nobody is told to do
// something.
func says(clause string) bool {
	list := words(clause)
	clause = strings.Join(list, " ")
	return himself.MatchString(clause) || len(list) <= mostClause && unsureYet.MatchString(clause)
}

// leaning returns what talk is nearest to.
func leaning(list, parts []string, asks bool) string {
	has := func(sets ...map[string]bool) bool {
		return slices.ContainsFunc(list, func(w string) bool { return allIn([]string{w}, sets...) })
	}
	switch {
	case asks:
		return TalkAsks
	case slices.ContainsFunc(parts, says) || has(leans["wait"]):
		return TalkWaits
	case leans["ask"][list[0]] || slices.Contains(list, "explain"):
		return TalkAsks
	case has(leans["no"], no):
		return denies
	case has(leans["yes"], yes):
		return approves
	}
	return TalkWaits
}

//go:embed talk.txt
var talkWords string

// leanings reads lists of words, each line with the name of its list.
func leanings(text string) map[string]map[string]bool {
	lists := map[string]string{}
	for line := range strings.Lines(text) {
		name, words, _ := strings.Cut(line, ": ")
		lists[name] += " " + words
	}
	out := map[string]map[string]bool{}
	for name, words := range lists {
		out[name] = set(words)
	}
	return out
}
