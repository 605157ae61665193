package patch

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

// frame matches lines that Handrail puts around a shown text: headings, fences of
// untrusted text, reminders. They carry no content and can be removed.
var frame = pattern.Lazy(`^(?:` + strings.Join([]string{
	`(?:[#*/]+ *)?File: \S.* \(\d+ lines?\)[*: ]*`,
	`(?:[#*/]+ *)?(?:Contents of |The person's selected code from )?\S.*\(already provided ?[—–-]+ ?do not re-read\)[*: ]*`,
	`\[TOOL RESULT: [^\]]*\]`,
	`[<‹]¦?/?untrusted(?: [\w\[\]]+)?(?: ".*")?>`,
	`\[Reminder: .*\]`,
	`This is what \S+ contains there now; copy from it exactly, .*`,
}, "|") + `)$`)

// gap matches lines that Handrail shows in place of omitted text.
var gap = pattern.Lazy(`^(?:` + strings.Join([]string{
	`(?:[#*/]+ *)?File: \S.* \(lines [\d, -]+ of \d+\)[*: ]*`,
	`\[cut: lines \d+-\d+ are not shown\b.*\]`,
	`\[\d+ (?:lines?|bytes|characters)(?: of output)? (?:left out|truncated|cut|not shown|in the middle of the output)\b.*\]`,
	`\[\d+ more (?:not shown|in this file|match(?:es)? not shown|definitions in \d+ more files?|files? not looked at)\b.*\]`,
	`\[the file goes on behind line \d+: .*\]`, `\[line \d+ is beyond the end: .*\]`, `\[the line ends before column \d+\]`,
	`\[(?:binary file|image|image/[\w.+-]+), \d+ bytes: .*\]`, `\[\d+ bytes, named like an image but none: not shown\]`,
	`\[no text in it: perhaps scanned pages\]`, `\[not read: .*\]`,
	`\[This text is left out: .*\]`,
}, "|") + `)$|… \[(?:\d+ characters cut|line cut(?:: for more, .*)?)\]$`)

// report matches Handrail's reports on calls and their errors.
var report = pattern.Lazy(`^(?:` + strings.Join([]string{
	`(?:Created|Changed|Deleted|Renamed \S+ to) \S+ \(\+\d+ [−-]\d+\)\..*`,
	`\S+ already has exactly this content; nothing was written\.`,
	`\[(?:Exit code \d+, |Timed out: killed with |For more time, up to |Killed by a signal after |Everything that ran was ended after |In this line: |Network: |Tests: exit |Directory: |` +
		`The shell (?:died and|was left in) |The next command begins in |This is a new shell, |Nothing in the \d+ lines? of |\d+ of \d+ lines match|` +
		`The output speaks of a full disk|not looked into: |search_workspace finds them ).*\]`,
	`\((?:no output|empty file)\)`, `\(no result: the session was interrupted .*\)`, `\(nothing here, or only what \.gitignore .*\)`,
	`(?:\S+: )?(?:apply edit|parse edit|merge sketch|insert at line \d+): \S.*`,
	`(?:\S+: )?(?:[a-z]+_[a-z_]+: )?nothing was (?:changed|written)(?:, because|\.) .*`,
	`(?:[a-z]+_[a-z_]+): (?:(?:missing|unknown) argument|arguments? ")\S?.*`,
	`A correct call: \{"name":.*`,
	`(?:edit|read|delete) \S+: file does not exist\b.*`,
	`Not changed: \S+: .*`,
	`Copy whole lines from the file as they are\.`,
	`\[(?:Semantic search is not available |The index has \d+ % |The index is not ready yet|\d+ changed files? (?:is|are) searched as text).*\]`,
	`This repository has no instructions to fetch\.`,
	`── \S+ (?:\(\d\.\d\d\) )?──(?: \(.*\))?`, `→ (?:\S+:)?\d+(?:: |:\d+ ).*`,
	`No (?:symbols?|definition|references|implementations|information|calls|type hierarchy|diagnostics) found\b.*`,
	`A search for the word gives:`,
	`\S+ \(by (?:go/parser|a lexer|universal-ctags)\)`, `Base: \.`, `Recorded: \S+:\d+\. Go on with the review\.`, `The list is recorded: \d+ of \d+ done\.`,
	`The mode is now \S+\. .*`, `The conversation so far will be summarized before your next answer\.`,
	`No (?:matches for "|file is named \S+ in |outline of ).*`, `No definitions in \S+\..*`,
}, "|") + `)$`)

// seal matches a model's control mark as broken by Handrail.
var seal = pattern.Lazy(`[<＜‹⟨〈\[\]]¦`)

// hints are substrings of matching lines: most lines need no regular expression.
var hints = []string{
	"File: ", "already provided", "[TOOL", "untrusted", "[Reminder: ", "This is what ", "[", "¦", "(no ",
	"(empty file)", "(nothing here", " (+", "nothing was ", "exactly this content", " edit: ", "sketch: ",
	"insert at line ", "argument", "A correct call", "does not exist", "Not changed: ", "Copy whole", "── ", "→ ",
	" (by ", "Base: .", "Recorded: ", " recorded: ", "The mode is", "The conversation", "No matches", "No file",
	"No outline", "No definitions", "This repository", " found", "A search for",
}

// isOwnLine reports whether only Handrail writes such a line around or in place of a text.
func isOwnLine(s string) bool {
	s = strings.TrimSpace(s)
	return slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(s, h) }) &&
		(frame().MatchString(s) || gap().MatchString(s) || report().MatchString(s))
}

// unframe removes Handrail's framing around a text. Lines of the old text stay.
func unframe(name, before, s string) (string, bool) {
	if kind(name, records) { // they may be of Handrail's output
		return s, false
	}
	lines, had := splitText(s), trimmedSet(splitText(before))
	off := func(l line) bool {
		t := strings.TrimSpace(l.text)
		return t == "" || frame().MatchString(t) && !had[t]
	}
	from, to := trimEnds(lines, off)
	framed := func(l line) bool { return strings.TrimSpace(l.text) != "" }
	head, tail := slices.ContainsFunc(lines[:from], framed), slices.ContainsFunc(lines[to:], framed)
	if !head {
		from = 0
	}
	if !tail {
		to = len(lines)
	}
	if from == to {
		head, tail, from, to = false, false, 0, len(lines)
	}
	again := false // a line of the file came back with its marks broken
	for i, l := range lines[from:to] {
		mended := marks.Mend(l.text)
		if mended != l.text && !had[strings.TrimSpace(l.text)] && had[strings.TrimSpace(mended)] {
			lines[from+i].text, again = mended, true
		}
	}
	return textOf(lines[from:to]), head || tail || again
}

// shown finds a line that only Handrail writes. Prose may quote one between fences.
func (a addition) shown() int {
	sealed := slices.ContainsFunc(a.file, seal().MatchString)
	for i, s := range a.add {
		own := isOwnLine(s) || !sealed && seal().MatchString(s)
		if own && !a.had[strings.TrimSpace(s)] && (!prose(a.name) || !a.quoted[a.is+i]) { //control:own-words
			return i
		}
	}
	return -1
}
