package command

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/typo"
)

// While the agent waits for a person, people answer without the command word
// and in words of their own. None of that answers a request for approval: it is
// asked back what is meant.

// Guess is what a short text may mean: the name of a command, and the ids in it.
type Guess struct {
	Name string
	IDs  []string
}

var (
	// yes and no are words that answer, in the languages that are heard most.
	yes = set(`ok okay okey k kk oki yes yep yeah yup yap y ya sure lgtm sgtm accept accepted agree agreed approved approve approves approving go ahead fine good great
		perfect nice looks look do ship confirm confirmed grant granted allow allowed permit proceed continue ja jo oui si sí da hai ack acked roger done absolutely definitely
		correct right +1 :+1: :thumbsup: :shipit: :white_check_mark: :rocket: 👍 👍🏻 👍🏼 👍🏽 👍🏾 👍🏿 ✅ ✔️ ✔ 🚀 👌 💯 🎉 🆗`)
	no = set(`no nope nah n reject rejected refuse refused decline declined denied denies denying disapprove never nein non niet nee -1 :-1: :thumbsdown: :x: :no_entry: veto
		don't dont 👎 👎🏻 👎🏼 👎🏽 👎🏾 👎🏿 ❌ ✖️ 🚫 ⛔ 🛑 ✋`)
)

const (
	approves = "approve"
	denies   = "deny"
)

// mostGuessed is how long a text can be that is asked back about, in characters.
const mostGuessed = 120

// Near reports whether a text is nothing but a near miss of an answer or of a
// command. Addressed says that it stands behind the command word: then polite
// words may stand with it, and a yes in several words is one.
func (t Table) Near(text string, addressed bool) (g Guess, ok bool) {
	if utf8.RuneCountInString(text) > mostGuessed || strings.ContainsAny(text, "<>[]{}=$/\\") {
		return g, false
	}
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return strings.ContainsRune(".,!…;*_~?\"'“”‘`()#", r) || isPause(r) && r != ':' && r != '-'
	})
	var said []string
	for _, w := range list {
		switch {
		case isAnother(w):
			g.IDs = append(g.IDs, w)
		case !polite[w] || yes[w] || no[w]:
			said = append(said, w)
		case !addressed && !courteous[w]:
			return g, false
		}
	}
	switch {
	case len(said) == 0 || !addressed && len(said) > 1 || len(list)-len(said)-len(g.IDs) > 2:
		return g, false
	case allIn(said, yes):
		g.Name = approves
	case allIn(said, no):
		g.Name = denies
	case len(said) == 1:
		g.Name = t.nearest(said[0], addressed)
	}
	return g, g.Name != ""
}

// courteous is words that do not make a short answer an instruction.
var courteous = set(`please pls plz thanks thank you thx ty 🙏 🙂 😀 ❤️`)

// Thanks reports whether a text says thanks, and nothing else.
func Thanks(text string) bool {
	list := plain(text)
	return allIn(list, polite) && slices.ContainsFunc(list, func(w string) bool { return thanks[w] })
}

var thanks = set(`thanks thank thx ty cheers danke merci gracias`)

// nearest returns the command whose name a word is at most two typing errors
// away from, "" for none. Words that nobody addressed to the bot have to be
// closer to a command that answers nothing.
func (t Table) nearest(word string, addressed bool) string {
	best, name := 3, ""
	for _, s := range t {
		if s.Name == Task || utf8.RuneCountInString(word) < 3 || len(s.Name) < 4 {
			continue
		}
		most := 2
		if !addressed && s.Name != approves && s.Name != denies {
			most = 1
		}
		if d := typos(word, s.Name); d <= most && d < best {
			best, name = d, s.Name
		}
	}
	return name
}

// Typo returns the command or mode that a text of one word is one typing error
// away from, "" for none.
func (t Table) Typo(text string) string {
	word := strings.ToLower(strings.Trim(text, " \t\n.!?"))
	if strings.ContainsAny(word, " \t\n\u00a0") {
		return ""
	}
	near := func(name string) bool { return len(name) > 3 && typos(word, name) == 1 }
	if i := slices.IndexFunc(t, func(s Spec) bool { return s.Name != Task && near(s.Name) }); i >= 0 {
		return t[i].Name
	}
	if i := slices.IndexFunc(modes[:], near); i >= 0 {
		return modes[i]
	}
	return ""
}

// typos counts the errors between two words, 3 where there are more than two.
func typos(a, b string) int {
	if most := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); most > 2 || most < -2 {
		return 3
	}
	return typo.Errors(a, b)
}
