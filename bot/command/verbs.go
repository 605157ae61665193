package command

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/bot/render/usage"
)

// errNotArgument is what the Args of a [Spec] return for words that cannot be
// the command's argument: then all of it is a task. Where both may be meant, an
// *[Error] asks back.
var errNotArgument = errors.New("no argument of this command")

func unlessNotArgument(err error) error {
	if errors.Is(err, errNotArgument) {
		return nil
	}
	return err
}

// isPause reports whether people put r between a command and what they say
// about it.
func isPause(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;.!:–—…", r) }

var firstWord = regexp.MustCompile(`^[^\s\p{Zs},;!…–—]*?(?:[.:?]*(?:[\s\p{Zs},;!…–—]|$))`)

// cutVerb cuts off the first word, without the marks behind it.
func cutVerb(text string) (word, rest string) {
	word = strings.TrimRightFunc(firstWord.FindString(text), func(r rune) bool { return isPause(r) || r == '?' })
	return word, text[len(word):]
}

func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// cutLine cuts off the first line, without the marks before its words.
func cutLine(rest string) (line, more string) {
	line, more, _ = strings.Cut(rest, "\n")
	return strings.TrimLeftFunc(line, isPause), more
}

// firstLine is the line on which a command stands, behind its word.
func firstLine(rest string) string {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

var taskWord = regexp.MustCompile(`^(?i:task)\s*:\s*`)

// explicitTask reads a task that is written as one: "task: stop the server".
func explicitTask(text string) (string, bool) {
	at := taskWord.FindStringIndex(text)
	if at == nil || at[1] == len(text) {
		return text, false
	}
	return text[at[1]:], true
}

// courtesy is what people say before a command.
var courtesy = regexp.MustCompile(`(?i)^(?:(?:please|pls|plz|kindly|hey|hi|hello|ok|okay|now|just|bitte|can you|could you|would you|will you)[\s,!]+)+`)

// afterPlease is a text without the courtesies before it.
func afterPlease(text string) string { return text[len(courtesy.FindString(text)):] }

// set is the words of a list.
func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// polite is words that say nothing about what is meant.
var polite = set(`please pls plz kindly thanks thank thx ty you u cheers now immediately asap again right away at once just then
	everyone all folks guys bot agent bitte danke merci gracias por favor jetzt sofort gleich so much very for today moment the a of it this that here
	🙏 👍 🙂 😀 ❤️ ✋ 🛑`)

// plain is a text's words in lower case, without marks.
func plain(text string) []string {
	var out []string
	for _, w := range tokens(strings.ToLower(text)) {
		if w = strings.Trim(w, "()[]\"'“”‘’`?:-–—"); w != "" {
			out = append(out, strings.ReplaceAll(w, "’", "'"))
		}
	}
	return out
}

// allIn reports whether each word is in one of sets.
func allIn(list []string, sets ...map[string]bool) bool {
	return !slices.ContainsFunc(list, func(w string) bool {
		return !slices.ContainsFunc(sets, func(s map[string]bool) bool { return s[w] })
	})
}

// TakesText keeps what stands behind a command as text, whatever it is.
func TakesText(c *Command, rest string) error {
	c.Text = strings.TrimLeftFunc(rest, isPause)
	return nil
}

// TakesNothing is for commands without arguments: polite words may stand
// behind them, and words of about, which name the work itself. With anything
// else on its line the word is the first one of a task.
func TakesNothing(about string) func(*Command, string) error {
	known := set(about)
	return func(c *Command, rest string) error {
		if !allIn(plain(firstLine(rest)), polite, known) {
			return errNotArgument
		}
		return TakesText(c, rest)
	}
}

// TakesWords is like [TakesNothing] for commands that pass words on to the
// agent: these stand behind a pause ("retry, but slower") or below.
func TakesWords(about string) func(*Command, string) error {
	nothing := TakesNothing(about)
	return func(c *Command, rest string) error {
		if pauses(rest) {
			return TakesText(c, rest)
		}
		return nothing(c, rest)
	}
}

// pauses reports whether a command ends with its word, and what follows is
// said about it.
func pauses(rest string) bool {
	line := firstLine(rest)
	return line == "" || strings.ContainsRune(",;.!–—…", []rune(line)[0]) || strings.HasPrefix(line, "- ")
}

var (
	// doing is words for what the agent does.
	doing = set(`everything anything what whatever are you're youre your doing going working running trying work session task job run process on
		with there me myself it's its already us ok okay sir man dude`)
	because = set(`because cause since bc until till cuz weil`)
	joins   = set(`and or if before after when while unless`)
)

// TakesStop reads what stands behind "stop". Where it may be meant, and may as
// well begin a task, the reply asks.
func TakesStop(c *Command, rest string) error {
	list := plain(firstLine(rest))
	switch {
	case pauses(rest), allIn(list, polite, doing), because[list[0]]:
		return TakesText(c, rest)
	case doing[list[0]], joins[list[0]], len(list) < 4 && !states(list) && !strings.HasSuffix(list[0], "ing"):
		return either(c.Name, rest)
	}
	return errNotArgument
}

// either asks whether a command is meant or a task.
func either(name, rest string) error {
	line := strings.ReplaceAll(clip(firstLine(rest)), "`", "'")
	return wrong(usage.NotSure, name, line, prefix, name, prefix, name, line)
}

var (
	// finite is verbs that follow the subject of a sentence.
	finite = set(`is are was were isn't aren't wasn't weren't does doesn't do don't did didn't has hasn't have haven't had shows show should shouldn't
		needs need must fails fail failed crashes crash crashed returns return throws throw breaks broke gives gets looks can can't cannot could couldn't won't will would
		says seems appears takes hangs times loses goes went stays uses works points ignores misses prints leaks renders contains exits stopped ist sind`)
	// codeOf is words that name something together with "code" before them.
	codeOf = set(`base block blocks change changes comment comments completion coverage duplication examples fence fences folding formatting freeze
		formatter generation generator golf highlighting hygiene injection layout lens lines links lists names owner owners page pages path paths
		point points quality review reviews sample samples section sections signing size smell smells snippet snippets spans structure
		style tags tour from that which`)
	// opens is words that begin what a mode is asked for.
	opens = set(`the a an this that these those my our your its all each every any some why how what which who whether if when where of for about on in at to and or
		with is are do does did can could should would will i we you it there`)
)

// program is what a program is to do that asks somebody: "ask for a name before …".
var program = regexp.MustCompile(`(?i)\s(?:before|when|whenever|every time|to)\s`)

// states reports whether words read as a sentence whose subject the word before
// them belongs to ("status page shows 500").
func states(list []string) bool {
	if len(list) == 0 || opens[list[0]] {
		return false
	}
	return slices.ContainsFunc(list[:min(len(list), 5)], func(w string) bool { return finite[w] })
}

// takesMode reports whether a word names a mode: what stands behind it is what
// to do there, and not the rest of a sentence about something of that name.
func takesMode(name, rest string) bool {
	line := firstLine(rest)
	list := plain(line)
	switch {
	case len(list) == 0, strings.ContainsRune(":,.!–—", []rune(line)[0]):
		return true
	case name == "code": // "code coverage is low" is about code
		return !codeOf[list[0]] && !opens[list[0]] && !finite[list[0]] && !states(list)
	case name == "ask":
		return strings.HasSuffix(line, "?") || opens[list[0]] && list[0] != "for" || !program.MatchString(line) && !states(list)
	case finite[list[0]] && !opens[list[0]]: // "review shows nothing"
		return false
	case list[0] == "is" || list[0] == "does": // "review is missing"
		return strings.HasSuffix(line, "?") && name != "review" && name != "plan"
	}
	return !states(list)
}
