package patch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// addition is a range of lines that an edit adds to a file, and the lines removed
// there.
type addition struct {
	name     string
	file     []string        // all lines of the file before the edit
	had      map[string]bool // the same without their surrounding white space
	text     []string        // all lines after it
	old, add []string
	was, is  int          // index of the first line, in the old text and in the new
	quoted   map[int]bool // lines of the new text between fences
	code     [2][]string  // the old and the new text without comments and strings, if it is code
	loss     loss
}

// Foreign returns an error if an edit writes artifacts of edit formats into a file: a
// placeholder for other lines, line numbers, HTML entities for code characters, line
// endings written as \n, a fence, the first column of a diff, the end of a tool call.
// Artifacts that the file already had, or that its kind may well have, are
// legitimate.
func Foreign(name, before, after string) error {
	d := newDocument(before)
	old, add := texts(d.lines), texts(newDocument(after).lines)
	a := addition{
		name:   name,
		file:   old,
		had:    trimmedSet(d.lines),
		text:   add,
		quoted: fencedLines(add),
		code:   [2][]string{bareCode(name, before), bareCode(name, after)},
	}
	unusual := slices.DeleteFunc(slices.Clone(signs[:]), func(s sign) bool {
		return kind(name, s.except) || s.usual != nil && slices.ContainsFunc(old, s.usual)
	})
	for _, span := range lines.Compare(old, add) {
		a.old, a.add, a.was, a.is = old[span.A:span.AEnd], add[span.B:span.BEnd], span.A, span.B
		a.loss = a.lost()
		for _, s := range unusual {
			i := 0
			for i < len(a.add) && !s.in(a, i, a.add[i]) {
				i++
			}
			if i < len(a.add) { //control:foreign-lines
				there := d.excerpt(a.was, len(a.old))
				if there != "" {
					there = ". The file has there\n" + there
				}
				return fmt.Errorf("nothing was changed, because the new line %q %s%s", cut(strings.TrimSpace(a.add[i])), s.why, there)
			}
		}
	}
	return nil
}

// bareCode returns the lines of a file without comments and strings, or nil if its language is
// unknown or has markup in its code.
func bareCode(name, text string) []string {
	_, bare, ok := outline.Uncommented(name, text)
	if s := string(bare); ok && !strings.Contains(s, "</") && !strings.Contains(s, "/>") {
		return strings.Split(s, "\n")
	}
	return nil
}

// inCode returns a detector of text that has no use in code outside of comments and strings, unless
// the file has it already.
func inCode(text func() *regexp.Regexp) func(a addition, i int, s string) bool {
	return func(a addition, i int, _ string) bool {
		return a.is+i < len(a.code[1]) && text().MatchString(a.code[1][a.is+i]) &&
			!slices.ContainsFunc(a.code[0], text().MatchString)
	}
}

// Text that only a wrong transmission puts into code. A line with a quote is cut there: strings of a
// preprocessor's line are not taken out.
var (
	entity      = pattern.Lazy(`^[^"']*&(?:lt|gt|amp|quot|apos|#39|#34|#x27);`)
	escape      = pattern.Lazy(`^[^"'/]*\\[nt"]`) // behind a slash it may be of a regular expression
	typographic = pattern.Lazy(`^[^"']*[\x{201c}\x{201d}\x{2018}\x{2019}\x{a0}\x{2003}\x{3000}]`)
)

// fencedLines returns the indexes of the lines between code fences.
func fencedLines(lines []string) map[int]bool {
	out, open := map[int]bool{}, ""
	for i, s := range lines {
		tick, info, ok := fenceLine(strings.TrimLeft(s, " "))
		switch {
		case ok && open == "":
			open = tick
		case ok && info == "" && strings.HasPrefix(tick, open):
			open = ""
		case open != "":
			out[i] = true
		}
	}
	return out
}

// Kinds of files, by extension, that may have lines of other formats: prose, records
// of output and tables, markup.
const (
	writing = " md mdx markdown mkd rst txt adoc "
	records = " diff patch log out golden snap txtar expected stderr csv tsv "
	markup  = " html htm xml svg xhtml vue xsl plist jsx tsx php erb tmpl "
)

// kind reports whether a file's extension, or the name of one without, is in a list.
func kind(name, list string) bool {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	if ext == "" {
		ext = path.Base(name)
	}
	return strings.Contains(list, " "+strings.ToLower(ext)+" ")
}

// sign detects foreign lines: in reports whether line i of the new ones, s, is one, or all are if it is
// the first. It does not apply to kinds of files in except, nor to a file with a line that usual accepts.
type sign struct {
	in     func(a addition, i int, s string) bool
	except string
	usual  func(s string) bool
	why    string
}

var signs = [...]sign{
	{
		in:     addition.omission,
		except: " diff patch ",
		why: "stands for text that is left out, and the file would have it instead; " +
			"send all of the text that is to be there, or change less of it",
	},
	{
		in:     addition.shown,
		except: records,
		why:    "is what Handrail says of a file or of a call, and no text of the file; send the text of the file alone",
	},
	{
		in:     addition.callEnd,
		except: writing,
		why:    "has the end of a call in it; send the text of the file alone",
	},
	{
		in:     addition.fence,
		except: writing + records,
		usual:  func(s string) bool { _, _, ok := fenceLine(strings.TrimSpace(s)); return ok },
		why:    "is a code fence around the text; send the text of the file alone",
	},
	{
		in:     addition.numbered,
		except: writing + records + " html htm ",
		usual:  func(s string) bool { _, sign, _ := cutNumber(s); return sign != "" },
		why:    "has a line number in front; send the text without line numbers",
	},
	{
		in:     addition.plus,
		except: writing + records,
		usual:  func(s string) bool { return strings.HasPrefix(s, "+") },
		why:    "has the + of a diff in front; send the text as it is to be in the file",
	},
	{
		in:     inCode(entity),
		except: markup,
		why:    "has an HTML entity where code has the sign that it stands for; send <, >, & and quotes as they are",
	},
	{
		in:     inCode(escape),
		except: " php sh bash bats ",
		why: `has \n where a line is to end, or has \t or \" where a tab or a quote is to be; ` +
			`send the sign itself, or put it into quotes where it is text`,
	},
	{
		in:     inCode(typographic),
		except: markup,
		why:    "has a typographic quote or a space of another kind where code has a plain one; send the plain sign",
	},
	{
		in:     addition.oddSpace,
		except: writing + " html htm ",
		usual:  func(s string) bool { return strings.TrimSpace(s) != "" && oddIndent(indentOf(s)) },
		why:    "is indented by one space more than anything in the file; send it with the indentation that it is to have",
	},
}

// callEnds matches the end of a tool call or of a model's turn.
var callEnds = pattern.Lazy(`(?:</(?:new_string|old_string|code_edit|new_str|tool_call|function_call|invoke|parameter)>|` +
	`<\|(?:im_end|eot_id|endoftext|end)\|>|\[/INST\])$`)

func (a addition) callEnd(i int, s string) bool {
	s = strings.TrimSpace(s)
	return !a.had[s] && callEnds().MatchString(s) && isBlank(strings.Join(a.add[i+1:], ""))
}

func (a addition) fence(i int, s string) bool {
	_, _, opens := fenceLine(s)
	_, info, shuts := fenceLine(a.add[len(a.add)-1])
	return i == 0 && len(a.add) > 1 && opens && shuts && info == ""
}

// numbered reports whether a line has a line number that is that of its place, or that the next line
// counts on. Without a bar or an arrow it has to be both, and no data.
func (a addition) numbered(i int, s string) bool {
	data := len(a.file) == 0 && (!code(a.name) || kind(a.name, " yaml yml "))
	n, sign, _ := cutNumber(s)
	next, _, _ := cutNumber(a.add[min(i+1, len(a.add)-1)])
	place, counts := n == a.was+i+1 || n == a.is+i+1, next == n+1
	bar := sign == "|" || sign == "→"
	return sign != "" && (bar && (place || counts) || place && counts && !data)
}

func (a addition) plus(i int, _ string) bool {
	return i == 0 && !slices.ContainsFunc(a.add, func(s string) bool { return s != "" && s[0] != '+' }) &&
		slices.ContainsFunc(a.add, func(s string) bool { return len(s) > 1 && s[1] != '+' && telling([]string{s}, 1) })
}

// oddIndent reports whether an indentation has one space more than whole steps.
func oddIndent(in string) bool {
	return strings.HasPrefix(in, " \t") || strings.Trim(in, " ") == "" && len(in)%2 == 1
}

// oddSpace reports whether all lines have one space more than whole steps, and the
// first or the last has one more than the adjacent line.
func (a addition) oddSpace(i int, _ string) bool {
	even := func(s string) bool {
		rest := strings.TrimLeft(s, " \t")
		return rest != "" && (!oddIndent(indentOf(s)) || rest[0] == '*')
	}
	beside := func(s string, at int) bool {
		return at >= 0 && at < len(a.file) && len(indentOf(s)) > 1 && indentOf(s) == " "+indentOf(a.file[at])
	}
	return i == 0 && !slices.ContainsFunc(a.add, even) && telling(a.add, 1) &&
		(beside(a.add[0], a.was-1) || beside(a.add[len(a.add)-1], a.was+len(a.old)))
}

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

// isOwnLine reports whether only Handrail writes such a line around or in place of a text.
func isOwnLine(s string) bool {
	s = strings.TrimSpace(s)
	return frame().MatchString(s) || gap().MatchString(s) || report().MatchString(s)
}

// shown reports whether only Handrail writes such a line. Prose may quote one between fences.
func (a addition) shown(i int, s string) bool {
	if a.had[strings.TrimSpace(s)] || prose(a.name) && a.quoted[a.is+i] {
		return false
	}
	return isOwnLine(s) || seal().MatchString(s) && !slices.ContainsFunc(a.file, seal().MatchString) //control:own-words
}
