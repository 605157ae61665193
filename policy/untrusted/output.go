package untrusted

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// OutputOptions say where a text goes.
type OutputOptions struct {
	Repo string // "owner/name" of the thread; references to other repositories are made inert
	Home string // the repository's page; links to its commits may show the commit instead

	// Inert makes the bot's own commands inert; nil changes nothing.
	Inert func(string) string
}

// maxOutputPasses is how often [CleanOutput] repeats its cleaning at most.
const maxOutputPasses = 12

// CleanOutput makes Markdown safe to post, whoever wrote it: it mentions nobody, closes
// nothing, starts no bot or runner command, links no other repository's timeline, shows
// where each link leads, fetches no image, holds no HTML and no terminal or invisible
// characters, and leaves no code fence open. What would have had an effect is shown as
// code or as text, so a reader sees what was meant. Code keeps its content, except for
// what a bot, a runner or a merge would act on.
//
// Renderers read doubtful Markdown in different ways. So code is left alone only where
// it is code in every reading, see [codeOf] and [inline.code]; all else is treated as
// prose, and what is done to prose holds in code as well. A text for which that does not
// come to an end is shown as code. Cleaning twice changes nothing more.
func CleanOutput(s string, o OutputOptions) string {
	s, _ = CleanPlain(s)
	if isAsCode(s) {
		return s
	}
	s = withAddresses(s) //control:post-references
	for range maxOutputPasses {
		next, ok := o.pass(closeFence(s))
		if !ok {
			break
		}
		if next == s {
			return s
		}
		s = next
	}
	return asCode(s)
}

// asCode shows a text as it is, whatever it contains.
func asCode(s string) string {
	longest := 2
	for _, run := range backticks().FindAllString(s, -1) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + cleanCode(strings.Trim(s, "\n")) + "\n" + fence
}

// isAsCode reports whether s is what asCode makes of some text.
func isAsCode(s string) bool {
	fence := backticks().FindString(s)
	inner, begins := strings.CutPrefix(s, fence+"\n")
	inner, ends := strings.CutSuffix(inner, "\n"+fence)
	return len(fence) > 2 && begins && ends && asCode(inner) == s
}

// pass cleans once: prose by its own rules, code only line by line. It reports false
// for a text that cannot be read.
func (o OutputOptions) pass(s string) (string, bool) {
	code, ok := codeOf(s)
	if !ok {
		return s, false
	}
	lines := strings.Split(s, "\n")
	notes := strings.Contains(s, "[^")
	var parts []part
	for at := 0; at < len(lines); {
		to := at + 1
		for to < len(lines) && code[to] == code[at] && (code[at] || lines[to] != "") {
			to++
		}
		if code[at] {
			parts = append(parts, part{cleanCode(plainFences(strings.Join(lines[at:to], "\n"))), true})
			at = to
			continue
		}
		table := slices.ContainsFunc(lines[at:to], tableRule().MatchString)
		for at < to {
			end := at + 1
			for !table && end < to && continues(lines[at:end], lines[end]) {
				end++
			}
			p := inline{OutputOptions: o, s: strings.Join(lines[at:end], "\n"), table: table, notes: notes, first: at == 0}
			parts = append(parts, part{p.clean(), false})
			at = end
		}
	}
	s = closings(parts)
	if o.Inert != nil {
		s = o.Inert(s)
	}
	return NoRunnerCommands(s), true
}

// part is some lines of a text: code, or prose that is one paragraph in every reading.
type part struct {
	text string
	code bool
}

// continues reports whether next goes on with the paragraph of the lines before it: it
// cannot begin anything else, and they are a paragraph.
func continues(lines []string, next string) bool {
	return wordFirst().MatchString(next) && (len(lines) > 1 || paragraph().MatchString(lines[0]))
}

var (
	backticks = pattern.Lazy("`+")
	// tableRule is the line below a table's head, or one that could be taken for it.
	tableRule    = pattern.Lazy(`^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*[|:\- \t]*-[|:\- \t]*$`)
	wordFirst    = pattern.Lazy(`^ {0,12}[A-Za-z(."',]`)
	paragraph    = pattern.Lazy(`^(?: {0,3}(?:[-*+]|\d{1,9}[.)]) {1,3})? {0,3}(?:[*_]{0,3}[A-Za-z("'.,]|\x60{1,2}[^\x60])`)
	tildeFence   = pattern.Lazy(`(?m)^([ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*)(~~~)`)
	botCommand   = pattern.Lazy(`(?m)^/([A-Za-z][\w-]*(?:[ \t]|$))`)
	slashInProse = pattern.Lazy(`(?m)^([ \t>*+-]*(?:\d+[.)][ \t]+)?)/([A-Za-z])`)
	runnerLine   = pattern.Lazy(`(^|[\r\n])([\t\v\f\p{Z}\x{85}\x{feff}]*)(::)`)
)

// cleanCode makes inert what has an effect in code: lines that bots and runners take as
// commands, and words that close an issue when the text becomes a commit message.
func cleanCode(s string) string {
	s = botCommand().ReplaceAllString(s, " /$1")
	return NoRunnerCommands(parted(s))
}

// NoRunnerCommands makes lines inert that an Actions runner would take for a
// command if it ever saw them. It changes nothing else.
func NoRunnerCommands(s string) string {
	if !strings.Contains(s, "::") && !strings.Contains(s, "##[") {
		return s
	}
	s = runnerLine().ReplaceAllString(s, `$1$2\$3`) //control:runner-commands
	return strings.ReplaceAll(s, "##[", "## [")
}
