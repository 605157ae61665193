package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/patch/fragment"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
)

// retry discards the last answer, which stays in the log. The next attempt sees line in
// its place, nothing if it is "", at a higher temperature, and in a simpler form if there is one.
func (f *finisher) retry(ctx context.Context, line string) error {
	last := f.talk.entries[len(f.talk.entries)-1]
	m := f.model
	if m.configuredForm == llm.FormAuto && m.form != llm.FormFiles && (m.weak() || f.claims.back > 0) && f.mayWrite() {
		if m.forms != nil {
			m.forms.Ended(m.llm.Name(), m.caps, m.form, false)
		}
		m.form = m.form.Simpler()
		if m.weak() {
			m.form = llm.FormFiles
		}
		if m.form == llm.FormText {
			line += " From now on write every call as text, in the form that the system prompt shows."
		}
		return f.stepTo(ctx, m.form, line)
	}
	return f.record(
		ctx,
		session.NewEvent(session.TypeNote, f.Turns, session.Note{Kind: session.NoteReminder, Text: line, Back: last.seq}),
	)
}

// tries is the number of answers that were discarded or whose tests failed.
func (k *claims) tries() int { return k.back + k.red }

// temperature rises with the number of discarded answers; nil if there are none. It is 1 if the
// same request is sent again, and low for a function that is written anew for the first time.
func (k *claims) temperature() *float64 {
	tries := k.tries()
	if k.anew > 0 {
		tries = k.back + k.anew - 1
	}
	warm := min(0.2+0.25*float64(tries), 1)
	switch {
	case k.plain:
		warm = 1
	case k.tries() == 0:
		return nil
	}
	return &warm
}

// maxBack is the number of consecutive discarded answers that ends a session.
const maxBack = 3

// inFiles decides about an answer in the files form: the work ends if all edits were
// made. A reading request continues the conversation; anything else is tried again.
func (f *finisher) inFiles(ctx context.Context, last entry) (*session.Outcome, error) {
	edits, refused, unseen, cut := 0, []string{}, []string{}, false
	if said, complete := completion(last); complete &&
		!slices.ContainsFunc(last.calls, func(c *session.CallState) bool { return speech.IsEdit(c.Call) }) {
		return f.complete(ctx, said)
	}
	for _, c := range last.calls {
		if !speech.IsEdit(c.Call) || c.Result == nil {
			continue
		}
		edits++
		if !c.Result.OK || c.Result.Mistake {
			refused = append(refused, firstParagraph(c.Result.Content))
			cut = cut || c.Truncated
			if isUnseen(c.Call) {
				unseen = append(unseen, "`"+pathArgument(c.Arguments)+"`")
			}
		}
	}
	switch broken := parseError(last); {
	case broken != "" && f.claims.back < maxBack:
		return f.again(ctx, broken)
	case len(last.calls) > edits && edits == 0:
		if why := f.uselessReading(last); why != "" {
			return f.again(ctx, why)
		}
		return nil, nil // it asked for something, and needs the result
	case cut && len(refused) == edits: //control:cut-is-taken-back
		return f.again(ctx, lostWords(last.answer.Lost))
	case len(unseen) > 0 && len(unseen) == len(refused) && f.changed():
		// Small models add a file of tests that they never read; the change itself is there.
		return f.complete(
			ctx,
			strings.TrimSpace(
				last.answer.Content+"\n\nNot written, because the model had not read it: "+strings.Join(unseen, ", ")+".",
			),
		)
	case len(unseen) > 0 && len(unseen) == len(refused):
		return f.again(ctx, "That was not written: "+strings.Join(refused, " ")+f.inView())
	case len(refused) > 0 && len(refused) < edits:
		return nil, f.tell(ctx, session.NoteReminder, "Not all of it was written. "+strings.Join(refused, " "))
	case len(refused) > 0:
		return f.again(ctx, "That was not written: "+strings.Join(refused, " "))
	case edits > 0 && !f.changed():
		return f.unchangedFile(ctx)
	case edits > 0 && f.onlyBlank(last) && f.claims.same < maxSame: //control:blank-is-no-change
		if err := f.takeBack(ctx, nil); err != nil {
			return nil, err
		}
		return f.unchangedFile(ctx)
	case edits > 0:
		return f.complete(ctx, last.answer.Content)
	case f.changed() && last.answer.Content != "" && last.answer.Lost == "":
		return f.complete(ctx, strings.TrimSpace(last.answer.Content+f.notWritten()))
	case last.answer.Lost == session.LostLoop:
		return f.again(ctx, lostWords(session.LostLoop))
	case last.answer.Content == "" && len(last.answer.Errors) == 0:
		return f.again(ctx, "That was empty.")
	}
	why := "There was no file in that."
	if len(last.answer.Errors) > 0 {
		why = strings.Join(last.answer.Errors, "; ") + "."
		why = strings.ToUpper(why[:1]) + why[1:]
	}
	if f.claims.back+f.claims.asides >= f.triesAfterProse(last) {
		return f.endWithProse(ctx, last.answer.Content), nil
	}
	if len(last.answer.Errors) == 0 && (f.claims.back > 0 || f.claims.red > 1) && f.claims.asides == 0 {
		return nil, f.tell(
			ctx,
			session.NoteReminder,
			"Now make this change. "+f.askFiles(false),
		) // small models first think, and then write
	}
	return nil, f.retry(ctx, why+" "+f.askFiles(true))
}

// lostWords says how an answer in the files form was cut off.
func lostWords(lost string) string {
	switch lost {
	case session.LostLoop:
		return "That said the same again and again."
	case session.LostTime:
		return "That took too long and was stopped."
	}
	return "That was too long and was cut off."
}

// notWritten returns the end of a summary that names the edits of the answer before the last one that
// were refused, or "".
func (f *finisher) notWritten() (said string) {
	for _, e := range slices.Backward(f.talk.entries[:len(f.talk.entries)-1]) {
		if e.answer == nil || e.gone {
			continue
		}
		for _, c := range e.calls {
			if speech.IsEdit(c.Call) && c.Result != nil && (!c.Result.OK || c.Result.Mistake) {
				said += "\n\nNot written: " + firstParagraph(c.Result.Content)
			}
		}
		return said
	}
	return ""
}

// triesAfterProse returns the number of times that a model is asked for a file in place of
// its prose. Prose that is an answer as it stands (it neither claims nor announces a change
// and shows no code) ends a question at once, and other work after one more try, unless an
// edit was tried before.
func (f *finisher) triesAfterProse(last entry) int {
	said := last.answer.Content
	switch {
	case len(last.answer.Errors) > 0 || f.claims.tried != "", strings.Contains(said, "```"),
		speech.ClaimsChange(said), speech.Announces(said):
		return maxBack - 1
	case session.IsQuestion(f.latestRequest()): //control:an-answer-is-taken
		return 0
	}
	return 1
}

// isUnseen reports whether a call writes a file that the model was never shown.
func isUnseen(c session.Call) bool {
	var args struct {
		Unseen string `json:"unseen"`
	}
	return json.Unmarshal(c.Arguments, &args) == nil && args.Unseen == "true"
}

// inView names the files that an answer can change at once.
func (f *finisher) inView() string {
	var names []string
	for _, v := range viewOf(f.talk.entries[:len(f.talk.entries)-1]) {
		names = append(names, v.Path)
	}
	if len(names) == 0 {
		return ""
	}
	return " The file to change is shown above: " + strings.Join(names, ", ") + "."
}

// maxLooks is the maximum number of consecutive answers in the files form that only read.
const maxLooks = 4

// uselessReading returns the reason that an answer which only reads is of no use, or "": the files
// are in view, or the limit is reached.
func (f *finisher) uselessReading(last entry) string {
	view := viewOf(f.talk.entries[:len(f.talk.entries)-1])
	known := 0
	for _, c := range last.calls {
		if c.Name != "read_file" || c.Result == nil {
			continue
		}
		p, text := pathArgument(c.Arguments), strings.TrimSpace(plainFile(c.Result.Content))
		if slices.ContainsFunc(view, func(v prose.File) bool { return v.Path == p && strings.TrimSpace(v.Text) == text }) ||
			strings.HasPrefix(text, "[Unchanged since turn") {
			known++
		}
	}
	if known == len(last.calls) {
		return pathArgument(last.calls[0].Arguments) + " is shown above already."
	}
	if _, kept := f.answers(); kept > maxLooks {
		return "You have seen enough files."
	}
	return ""
}

// maxTries is the maximum number of answers to one request in the files form after which a failed one
// ends the work. The limits of single mistakes add up to twice as many. A tiny model that failed
// four times never succeeded.
const (
	maxTries     = 9
	maxTinyTries = 4
)

// tired reports whether a model that calls no tools has tried often enough.
func (f *finisher) tired() bool {
	tries, _ := f.answers()
	most := maxTries
	if isTiny(f.model.caps.Parameters) { //control:tiny-tries
		most = maxTinyTries
	}
	return f.model.form == llm.FormFiles && tries >= most //control:tries-end
}

// answers counts the answers to the latest request, and those of them that were not discarded.
func (f *finisher) answers() (all, kept int) {
	for i := len(f.talk.entries) - 1; i >= 0 && !f.talk.entries[i].person; i-- {
		if e := f.talk.entries[i]; e.answer != nil {
			if all++; !e.gone {
				kept++
			}
		}
	}
	return all, kept
}

// parseError returns the tools' message about a file that this answer broke, or "".
func parseError(last entry) string {
	for _, c := range last.calls {
		if c.Result == nil || !speech.IsEdit(c.Call) {
			continue
		}
		for line := range strings.Lines(c.Result.Content) {
			if i := strings.Index(line, patch.NotParsed); i >= 0 {
				return "With it, " + pathArgument(c.Arguments) + strings.TrimRight(line[i:], "\n")
			}
		}
	}
	return ""
}

// Explanations in one line of how an answer changes a file, and a long one.
const (
	askFiles = "Write the path of the file on a line of its own, and below it the whole file in a code fence."
	askParts = "Write the path of the file on a line of its own, and below it each function that changes, whole, in a code fence."
)

// askFiles returns the explanation for the files in view, after an answer that failed or another one.
func (f *finisher) askFiles(failed bool) string {
	if f.talk.hidden != "" {
		return askAnew(f.talk.hidden)
	}
	if inParts(f.talk.view(), failed || f.talk.failed()) {
		return askParts
	}
	return askFiles
}

// thinkFirst asks for the idea before the file: otherwise small models copy the old file.
const thinkFirst = "First say in one sentence which line has to change, and how."

// askAnew asks for a function whose body is hidden.
func askAnew(function string) string {
	return fmt.Sprintf(
		"The body of %[1]s is left out above: write this function anew, so that it does all that the task says. "+
			"Write the path of the file, and below it only the function %[1]s, whole, in a code fence.",
		function,
	)
}

// namedFunction returns the function of a file in view that a request names, or "" if
// it names none or several. Names that are words of the language, too, do not count beside the name
// before "in FILE".
func namedFunction(request string, view prose.View) string {
	words := strings.FieldsFunc(request, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var found, placed []string
	for _, v := range view {
		file, _, _ := strings.Cut(path.Base(v.Path), ".")
		for _, name := range fragment.Named(v.Path, v.Text, words) {
			found = append(found, name)
			for i, w := range words[:max(len(words)-2, 0)] {
				joined := i > 0 && (words[i-1] == "and" || words[i-1] == "or")
				if w == name && words[i+1] == "in" && words[i+2] == file && !joined {
					placed = append(placed, name)
				}
			}
		}
	}
	if len(found) > 1 {
		found = placed
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// maxSame is the maximum number of times that the same request is sent again.
const maxSame = 2

// unchangedFile answers a model that wrote the old text of a file. At first it is asked the same
// again, at the highest temperature: a copy in view, and words about it, make the next copy more
// likely. After that the old body of the function in question is left out of view, or the failing
// tests, if there are any, show the task better.
func (f *finisher) unchangedFile(ctx context.Context) (*session.Outcome, error) {
	hide := namedFunction(f.latestRequest(), f.talk.view())
	if f.claims.same == 0 || f.claims.same < maxSame && hide == "" { //control:same-again
		return nil, f.retry(ctx, "")
	}
	why := "The file that you wrote is the one that is there: nothing changed. "
	if f.talk.hidden != "" {
		return f.again(ctx, why)
	}
	if f.mayWrite() && !f.inside && f.tests.run != nil {
		was, err := f.tests.resultFor(ctx, f.BaseNow(), true)
		if err != nil {
			return nil, err
		}
		switch {
		case was == nil || was.Tests == nil || cannotRun(was):
		case hide != "": // the tests tell if what it did before is lost
			said := ""
			if was.Failed() {
				said = testsSay(was)
			}
			return nil, f.startAnew(ctx, said, hide)
		case was.Failed():
			why += testsSay(was)
		}
	}
	return f.again(ctx, why+thinkFirst)
}

// onlyBlank reports whether the files differ from those at the request in white space at the ends of lines
// and in empty lines alone, which small models lose on the way, unless an earlier answer was the same.
func (f *finisher) onlyBlank(last entry) bool {
	view := f.talk.view()
	for _, c := range last.calls {
		if !speech.IsEdit(c.Call) {
			continue
		}
		i := slices.IndexFunc(view, func(v prose.File) bool { return v.Path == pathArgument(c.Arguments) })
		var args struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(c.Arguments, &args) != nil || i < 0 || view[i].Part {
			return false
		}
		if withoutBlank(view[i].Text) != withoutBlank(args.Content) {
			return false
		}
		again := false
		for _, e := range f.talk.entries[:len(f.talk.entries)-1] {
			again = again || slices.ContainsFunc(e.calls, func(was *session.CallState) bool {
				return bytes.Equal(was.Arguments, c.Arguments)
			})
		}
		if again {
			return false
		}
	}
	return true
}

// withoutBlank returns a text without its empty lines and the white space at the ends of the others.
func withoutBlank(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// again tries once more, or ends the session if the limit is reached.
func (f *finisher) again(ctx context.Context, why string) (*session.Outcome, error) {
	if f.claims.back >= maxBack || f.tired() {
		return f.unusable(ctx, why), nil
	}
	return nil, f.retry(ctx, why+" "+f.askFiles(true))
}

// unusable returns the outcome for a model that tried a change and made none; why is about its
// last answer.
func (f *finisher) unusable(ctx context.Context, why string) *session.Outcome {
	tries, _ := f.answers()
	out := f.summarize(ctx, session.StatusFailed, "")
	out.Reason = fmt.Sprintf("The model answered %d times without a change that could be used. "+
		"The last time: %s Describe the task more precisely, or use a larger model.", tries, why)
	return out
}

// endWithProse returns the outcome for a model that only talks. Prose is no answer to a request
// for which a change was tried.
func (f *finisher) endWithProse(ctx context.Context, said string) *session.Outcome {
	if f.changed() {
		return f.summarize(ctx, session.StatusDone, said)
	}
	if f.mayWrite() && f.claims.tried != "" { //control:tried-is-no-answer
		return f.unusable(ctx, "There was no file in that.")
	}
	status := f.inWords()
	if f.mayWrite() && speech.ClaimsChange(said) { //control:claims-in-files
		status = session.StatusNoChanges
	}
	return f.summarize(ctx, status, said)
}

// firstParagraph returns a text up to its first empty line.
func firstParagraph(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	return s
}

// refusedAll reports whether an answer consists only of refused edits, and returns their
// errors. Such an answer is discarded, because the model would imitate it.
func refusedAll(last entry, edits func(tool string) bool) (string, bool) {
	var said []string
	for _, c := range last.calls {
		if c.Result == nil || !c.Result.Mistake || len(c.Result.Changes) > 0 || !edits(c.Name) && c.Name != "write_file" {
			return "", false
		}
		said = append(said, fmt.Sprintf("Your %s of %s was not made: %s", c.Name, pathArgument(c.Arguments), resultText(c)))
	}
	return strings.Join(said, "\n\n"), len(said) > 0
}
