package command

import (
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
)

var (
	// talk is words that say nothing about what is to be worked on. Those of talkNo and talkYes
	// lean to an answer.
	talk = set(`i i'm im i'll ill i'd id i've ive we we'll we're you your you're u he she they it its it's this that that's thats these those them there here one ones thing things
		stuff me my us is isn't are aren't was were be been being am do does did doing done will would should shall can could may might must have has had having gonna wanna get got
		dunno clear unclear side horses alles need needs needed want wants think thinking thought know knows knowing guess guessing suppose wonder wondering believe see saw seen look looks looking looked check checking
		checked reading ask asking asked say says said mean means meant tell explain understand understood sleep wait waits waiting hold holding hang hanging pause decide deciding
		consider discuss talk review verify confirm double sure unsure certain safe unsafe dangerous risky risk harmless necessary required really actually honestly maybe perhaps probably
		possibly yet still later tomorrow tonight soon before after first second sec secs moment minute minutes min mins hour hours while bit time day week monday busy meeting lunch
		back brb afk wip tbd hm hmm hmmm hmmmm mm mmm mhm um umm uh uhm er erm eh huh oh ooh ah aha argh well so but and or if then because too also just only even very quite
		what what's whats why how who whom whose when where which whether happen happens happened exactly about on in at to for from with of by up out off over under into a an the some
		any every each all both none either request requests approval approvals approve approving command commands action reason reasons question questions idea point
		problem risky deletes delete deleted remove removes removed run runs running ran execute executes executed safer
		patience patient easy slow slowly careful carefully please pls hello hi hey bot agent man dude guys team wtf lol omg wow interesting strange weird odd scary kidding serious
		seriously happening going let lets let's give gimme lemme same different else thanks thank sorry afraid think like feel feels seems sounds bad good better best worse worst
		ok okay fine great sense make makes making hurry rush fast now today right wrong until till not don't dont no yes warte moment attends espera aspetta wacht vänta poczekaj momentito
		warum pourquoi porque perché waarom wieso was wozu 🤔 ⏳ ⌛ ✋ 😬 😅 🙈 👀 ⏸️ ⏸ ❓ ❔ ⁉️ ?`)
	// talkAsked is words of the work: with them only a question is talk.
	talkAsked = set(`touch touches undo undone revert reverted reversible change changes answer answers file files folder folders data read use used using way ways`)
	talkYes   = set(`yessir jawohl jupp jep aye okidoki okidoke ship send it go for sure thing sounds works fire away proceed deal agreed totally alright allright alrighty cool awesome nice permission green light thumbs hell course
		welcome guest happy rock roll yolo vas-y dale vamos adelante los mach mal passt geht klar avanti certo claro tamam davai`)
	talkNo = set(`nevermind mission dead body hands nicht nope nah never none cancel abort reject refuse deny decline skip forget leave alone keep away hands off way chance wrong bad stop mind nein non jamais nunca niet nie
		kidding rather shouldn't won't wouldn't can't cannot mustn't doesn't didn't disagree against veto pass thumbs down absolutely definitely ain't ever risky nichts pas`)
	// leansYes and leansNo are words without which a text is neither.
	leansYes = set(`yessir jawohl jupp jep aye okidoki okidoke run ship send go sure sounds works fire proceed deal agreed totally alright allright alrighty cool awesome nice permission green thumbs course guest happy rock yolo vas-y
		dale vamos adelante los passt klar avanti certo claro tamam davai yes ok okay fine good great approve right yeah yep yup lgtm`)
	leansNo = set(`nevermind dead hands nicht no not don't dont nope nah never cancel abort reject refuse deny decline skip forget leave shouldn't won't wouldn't can't cannot mustn't disagree against veto pass bad wrong
		stop nein non jamais nunca niet nie ain't down pas`)
	// stays are words that leave a request open, whatever else is said.
	stays = set(`yet get dunno unclear horses wait waits waiting hold holding hang hanging pause later tomorrow tonight soon before until till first sec secs moment minute minutes min mins hour hours maybe perhaps
		probably check think thinking wonder unsure decide consider discuss talk review verify understand know back brb meeting lunch busy while after if warte espera attends wacht`)

	// himself begins what people say of themselves, or a condition; nobody is told to do something.
	himself    = regexp.MustCompile(`^(?:(?:i'?ll|i will|i'?m|i am|we'?ll|we will|one (?:sec|second|moment|minute)|give me (?:a|an|one|some|until|till|time|\d)|gimme (?:a|one)|hold (?:on|off|it)|hang on|not (?:yet|now|today|before|until|till|without|unless|so fast|sure)|wait|waiting|only (?:if|when|after|once)|unless|depends|(?:(?:i|we)(?:'d like| would like| want| need| have| must| had| should)?|let me|lemme|let us|let's) (?:to )?(?:see|look|check|think|ask|read|understand|know|review|test|verify|wait|talk|discuss|sleep|consider|decide))\b)`)
	condition2 = regexp.MustCompile(`^(?:if|once|when|until|till|as soon as|as long as|provided|assuming|after (?:the|you|i|we|lunch)) (?:[\pL']+ )*[\pL']+$`)
	// tells begins a question that asks for work, if it has words of the work in it.
	tells = regexp.MustCompile(`^(?:(?:please|pls|so|and|but|ok|hey|then|hmm+),? )*(?:(?:can|could|would|will|won't|can't|should|shouldn't|shall|may) (?:you|we|u|i)\b|how about|what about|what if|why (?:not|don't|dont|do not|won't|can't)|maybe|perhaps|instead|use|try|do you mind|would it)`)
	// refers is words by which a question is about what waits.
	refers = set(`it its it's this that that's these those them request requests approval approve command you your one`)
)

// Talk returns what a text behind the command word comes to that only talks about requests
// which wait, "" for any other. Shown is what they are about.
func Talk(text, shown string) string {
	if utf8.RuneCountInString(text) > mostGuessed {
		return ""
	}
	text = spoken.Replace(strings.ToLower(strings.TrimSpace(text)))
	list, asks := words(text), strings.HasSuffix(strings.TrimRight(text, " !)"), "?")
	parts := slices.DeleteFunc(breaks.Split(text, -1), func(c string) bool { return len(words(c)) == 0 })
	known := func(sets ...map[string]bool) bool {
		return !slices.ContainsFunc(parts, func(c string) bool { return !says(c) && !allIn(words(c), sets...) })
	}
	refer := func() bool { return slices.ContainsFunc(list, func(w string) bool { return refers[w] }) }
	switch {
	case len(list) == 0 && !asks:
		return ""
	case len(list) <= mostTalk && known(talk, talkYes, talkNo, polite, yes, no):
		return leaning(list, parts, asks)
	case asks && len(list) <= mostAsked && (known(talk, talkNo, talkAsked, polite, set(strings.Join(words(shown), " "))) || !tells.MatchString(text) && refer()):
		return TalkAsks
	}
	return ""
}

var (
	spoken = strings.NewReplacer("’", "'", "\n", ", ", ", why not", ", sure")
	breaks = regexp.MustCompile(`[,;:.!?…]+(?:\s+|$)|\s[-–—]+\s|[–—]`)
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
	return himself.MatchString(clause) || len(list) <= mostClause && condition2.MatchString(clause)
}

// leaning returns what talk is nearest to.
func leaning(list, parts []string, asks bool) string {
	has := func(s map[string]bool) bool { return slices.ContainsFunc(list, func(w string) bool { return s[w] }) }
	switch {
	case asks || len(list) == 0:
		return TalkAsks
	case slices.ContainsFunc(parts, says) || has(stays):
		return TalkWaits
	case questions[list[0]] || slices.Contains(list, "explain"):
		return TalkAsks
	case has(leansNo) || has(no):
		return denies
	case has(leansYes) || has(yes):
		return approves
	}
	return TalkWaits
}

var questions = set(`why what what's whats how who whom whose when where which warum wieso pourquoi waarom wtf huh`)
