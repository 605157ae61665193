package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/speech"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// readTool reads files.
const readTool = "read_file"

// Number of times that the model is sent back before the session ends without it.
const (
	maxRefusals = 2 // "done" without a change
	maxIdle     = 2 // answers that announce a call and have none
	maxFailed   = 3 // answers that are empty or cannot be understood

	maxTestTail = 3000 // bytes of test output that are repeated to the model
	maxDenied   = 120  // characters of a denied request that are repeated
)

// claims counts the evidence against a model's claim that it is done.
type claims struct {
	refusals   int                  // completions refused since the user's last request
	nudged     bool                 // the model was sent back to its todo list since then
	tested     bool                 // and to the failed tests
	problems   bool                 // and to errors in its change
	red        int                  // times that it was sent back to tests that Handrail saw fail
	lines      []session.Line       // lines that it was asked to correct alone since then
	anew       int                  // times in a row that a function was asked for without its old body
	back       int                  // discarded answers in a row
	same       int                  // answers that were forgotten, and the same asked again, since then
	plain      bool                 // the last answer was
	asides     int                  // answers without a result that stay in view since then
	idle       int                  // answers in a row without a call and without an end
	empty      int                  // empty answers in a row
	garbled    int                  // answers in a row with unreadable calls only
	cleaned    bool                 // an approved command deleted files since then
	from       string               // content of the branch at the user's last request
	start      string               // commit of the files at that time
	handedOver bool                 // a change was handed over as a patch since then
	tried      string               // last change that was tried since then: a file or a tool; "" if none
	denied     string               // last change that was not allowed since then; "" if none
	read       []string             // files read since then, at most one more than are named
	faults     []session.FileChange // files that do not parse as last written since then
}

func (k *claims) message(over bool, content, saved string) {
	fresh := claims{from: k.from, start: k.start, handedOver: k.handedOver, cleaned: k.cleaned}
	if over {
		fresh = claims{from: content, start: saved}
	}
	*k = fresh
}

func (k *claims) answered(p *session.Answer) {
	nothing := p.Content == "" && len(p.Calls) == 0 && len(p.Errors) == 0 && !p.Complete
	k.empty = next(k.empty, nothing)
	k.garbled = next(k.garbled, len(p.Errors) > 0 && len(p.Calls) == 0)
	k.idle = next(k.idle, len(p.Calls) == 0 && !p.Complete)
}

func next(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

func (k *claims) note(p *session.Note) {
	switch p.Kind {
	case session.NoteRefused:
		k.refusals++
	case session.NoteTodo:
		k.nudged = true
	case session.NoteProblems:
		k.problems = true
	case session.NoteTests:
		k.tested = true
		if p.Line != nil {
			k.lines = append(k.lines, *p.Line)
			break
		}
		k.red++
		if k.anew++; p.Hide == "" {
			k.anew = 0
		}
	}
	k.plain = p.Back > 0 && p.Text == ""
	switch {
	case k.plain:
		k.same++
	case p.Back > 0 && p.Kind != session.NoteTests:
		k.back++
	}
	if p.Kind == session.NoteReminder && p.Back == 0 && p.Call == "" {
		k.asides++
	}
}

// deletes matches the policy's wording for commands that remove files.
var deletes = pattern.Lazy(`\b(delet|remov|discard)`)

// ran records a finished call; edits reports whether its tool changes existing text. An
// approved deletion may concern untracked files: then it counts as work although no
// change is visible.
func (k *claims) ran(c *session.CallState, files, edits bool) {
	for _, f := range c.Result.Changes {
		k.faults = slices.DeleteFunc(k.faults, func(have session.FileChange) bool {
			return have.Path == f.Path || have.Path == f.From
		})
		if f.Fault != "" && f.Kind != session.ChangeDelete {
			k.faults = append(k.faults, f)
		}
	}
	asked := c.Request != nil && c.Request.Kind == session.AskApproval
	switch {
	case c.Result.Class == session.ClassPermission && (edits || asked): //control:denied-is-not-wanted
		switch {
		case !asked:
			k.denied = cmp.Or(pathArgument(c.Arguments), c.Name)
		case c.Approval().State != policy.Withdrawn: // for a newer request
			k.denied = firstLine(cmp.Or(strings.Join(c.Request.Paths, ", "), c.Request.Display), maxDenied)
		}
	case edits, asked, len(c.Result.Changes) > 0: // whether or not it was made
		k.tried = cmp.Or(pathArgument(c.Arguments), c.Name)
	case c.Name == readTool && c.Result.OK && len(k.read) <= maxFilesRead:
		if path := pathArgument(c.Arguments); !slices.Contains(k.read, path) {
			k.read = append(k.read, path)
		}
	}
	if (!files || len(c.Result.Changes) > 0) && c.Result.OK && !c.Result.Mistake &&
		!strings.Contains(c.Result.Content, patch.NotParsed) {
		k.back = 0
	}
	k.cleaned = k.cleaned || c.Request != nil && c.Request.Approval.State == policy.Used && c.Result.OK && //control:cleaning-is-work
		!badExit().MatchString(c.Result.Content) && slices.ContainsFunc(c.Request.Reasons, deletes().MatchString)
}

// finisher decides whether the work is done.
type finisher struct {
	*journal
	meter    *meter
	requests *requests
	window   *window
	model    *model
	planner  *planner
	tests    *verifier
	problems Problems
	saves    Checkpointer
	inside   bool // a sub-task, which publishes nothing
}

// finish examines the last answer after all its calls are settled: whether it ends the
// work, and whether the end can be accepted.
func (f *finisher) finish(ctx context.Context) (*session.Outcome, error) {
	n := len(f.talk.entries)
	if n == 0 {
		return nil, nil // the conversation was cleared
	}
	last := f.talk.entries[n-1]
	if last.answer == nil || last.gone || f.Unanswered() { //control:end-of-the-newest-request
		return nil, nil // a newer message exists, or the answer is forgotten: ask the model
	}
	if out := f.stuck(); out != nil {
		return out, nil
	}
	if f.model.form == llm.FormFiles && f.mayWrite() {
		return f.inFiles(ctx, last)
	}
	if say, yes := refusedAll(last, f.requests.tools.edits); yes && len(last.answer.Errors) == 0 { //control:refused-edit-is-taken-back
		return nil, f.retry(ctx, say)
	}
	result, complete := completion(last)
	switch {
	case complete && f.claims.refusals < maxRefusals && completionDoubt(last) != "":
		return nil, f.tell(ctx, session.NoteRefused, completionDoubt(last))
	case complete:
		return f.complete(ctx, result)
	case len(last.calls) > 0:
		return f.sayErrors(ctx, last.answer.Errors)
	case len(last.answer.Errors) > 0:
		return f.garbled(ctx, last.answer.Errors)
	case last.answer.Content == "":
		return f.nothing(ctx)
	case f.mayWrite() && f.claims.idle <= maxIdle && f.notFinal(last.answer.Content) != "": //control:words-without-work
		return nil, f.retry(ctx, f.notFinal(last.answer.Content))
	}
	return f.complete(ctx, last.answer.Content)
}

// completionDoubt returns the reason that a completion cannot be accepted yet: it was written
// before the results of its own calls were known, and one of them failed.
func completionDoubt(last entry) string {
	for _, c := range last.calls {
		if c.Result == nil || c.Result.Complete {
			continue
		}
		if !c.Result.OK || badExit().MatchString(c.Result.Content) {
			return fmt.Sprintf("You said that the task is complete before you saw the result of %s, which did not succeed. "+
				"Look at the result above, and go on.", c.Name)
		}
	}
	if len(last.answer.Errors) > 0 {
		return "You said that the task is complete, but a call in the same answer could not be understood and was not run: " +
			strings.Join(last.answer.Errors, "; ") + ". Send it again, or complete without it."
	}
	return ""
}

// badExit matches the end of a failed command's result.
var badExit = pattern.Lazy(`\n\[(Exit code [1-9]|Timed out|Killed)`)

// completion returns the closing words of an answer, and whether it ends the work.
func completion(e entry) (string, bool) {
	for _, c := range e.calls {
		if c.Result != nil && c.Result.Complete {
			return c.Result.Content, true
		}
	}
	return e.answer.Content, e.answer.Complete
}

// complete accepts the end, unless the state of the work speaks against it.
func (f *finisher) complete(ctx context.Context, said string) (*session.Outcome, error) {
	if m := f.TakingIn(); m.Unsettled() {
		return f.conflicts(ctx, m)
	}
	if out, yes, err := f.checkTests(ctx); yes || err != nil { //control:red-is-not-done
		return out, err
	}
	if t := f.Tests.Last; t != nil && t.Tests.Failed() && !f.Proof.Of(f.Saved).Passed() && f.mayWrite() && !f.claims.tested && f.meter.turnsLeft() > 1 { //control:tests-count
		return nil, f.tell(ctx, session.NoteTests, fmt.Sprintf("You said that the task is complete, but the last run of the tests does not show it: %s. It said:\n%s\n\n"+
			"Mend what fails and run the tests again, by themselves. If that cannot be done here, complete again and say what fails and why.",
			t.Tests, untrusted.Fence(f.talk.nonce, "output of the tests", f.Tests.Tail(maxTestTail))))
	}
	if f.mayWrite() && !f.changed() {
		return f.unchanged(ctx, said)
	}
	if yes, err := f.checkProblems(ctx); yes || err != nil { //control:errors-are-doubted
		return nil, err
	}
	if say := strayDoubt(f.LeftOut); say != "" && f.claims.refusals == 0 && f.meter.turnsLeft() > 1 { //control:stray-is-no-end
		return nil, f.tell(ctx, session.NoteRefused, say)
	}
	if open := openTodo(f.Todo); open > 0 && !f.claims.nudged && f.meter.turnsLeft() > 1 {
		return nil, f.tell(
			ctx,
			session.NoteTodo,
			fmt.Sprintf("You said that the task is complete, but your todo list has %s. "+
				"Do what is open, or bring the list up to date, and complete again.", items(open)),
		)
	}
	status := session.StatusDone
	if !f.changed() { //control:answered-is-not-done
		status = f.inWords()
	} else if len(f.Files)+len(f.Neighbors) == 0 && !f.claims.handedOver && !f.inside {
		status = session.StatusNoChanges
	}
	out := f.summarize(ctx, status, said)
	if status == session.StatusNoChanges {
		out.Reason = "Everything is as it was before: no change of this thread is left."
	}
	if status == session.StatusDone {
		out.Title = f.title(ctx)
		out.Tests = cmp.Or(f.Proof.Words(f.Saved), f.Tests.Words()) + session.FaultWords(f.claims.faults) //control:faults-are-told
		if f.model.forms != nil && f.Proof.Of(f.Saved).Passed() {
			f.model.forms.Ended(f.model.llm.Name(), f.model.caps, f.model.form, true)
		}
	}
	if f.planner.plans() && out.Summary != "" {
		return f.planner.propose(ctx, out.Summary)
	}
	return out, nil
}

// inWords returns the status of an end without a change: that of a review, or an answer.
func (f *finisher) inWords() session.Status {
	if m, err := policy.ParseMode(f.ModeName()); err == nil && m.Reviews() { //control:a-review-is-reviewed
		return session.StatusReviewed
	}
	return session.StatusAnswered
}

// unchanged decides about an end without a change in a mode that may write. The request
// is not judged, but the model's own words and its work: an end that claims or
// announces a change, or that follows an attempt at one, is refused, and any other is an answer. The model
// itself can say that a change was wanted, and why it made none.
func (f *finisher) unchanged(ctx context.Context, said string) (*session.Outcome, error) {
	why, last := "", f.talk.entries[len(f.talk.entries)-1]
	for _, c := range last.calls {
		if c.Result != nil {
			why = cmp.Or(why, c.Result.Unchanged())
		}
	}
	doubt := ""
	switch {
	case f.inside || f.claims.cleaned, why != "" && (f.claims.tried == "" || f.claims.refusals > 0):
	case why != "": //control:tried-needs-no-reason
		doubt = fmt.Sprintf("You gave a reason for no change after a change of yours was refused (%s). ", f.claims.tried)
	case speech.ClaimsChange(said): //control:work-is-wanted
		doubt = "You said that a change is made, but no file was changed. "
	case speech.Announces(said):
		doubt = "You announced work and did none: no file was changed. "
	case f.claims.tried != "": //control:tried-is-not-made
		doubt = fmt.Sprintf(
			"You said that you are done, but nothing is there of your change (%s), and no file was changed. ",
			f.claims.tried,
		)
	}
	if doubt != "" && f.claims.refusals < maxRefusals {
		return nil, f.tell(ctx, session.NoteRefused, doubt+f.claims.wanted())
	}
	denied, question := f.claims.denied, session.IsQuestion(f.latestRequest())
	status := session.StatusAnswered
	if doubt != "" || f.inside || (why != "" || denied != "") && !question {
		status = session.StatusNoChanges
	}
	out := f.summarize(ctx, status, said)
	switch {
	case status != session.StatusNoChanges:
	case why != "":
		out.Reason = "No file was changed. The model's reason: " + why
	case denied != "":
		out.Reason = "Nothing was changed, since this was refused: " + denied
	}
	return out, nil
}

// wanted tells the model what to do in place of an end without a change, but never a denied one.
func (k *claims) wanted() string {
	if k.denied == "" {
		return "Make the change with the tools now. " +
			"If nothing has to change, complete again with attempt_completion and say in no_change_reason why."
	}
	return fmt.Sprintf("This was not allowed: %s. Do not try it again. If there is another way that this leaves open, "+
		"take it; otherwise complete again with attempt_completion and say so in no_change_reason.", k.denied)
}

// conflicts refuses an end while files contain conflict marks.
func (f *finisher) conflicts(ctx context.Context, m *session.Merge) (*session.Outcome, error) {
	files := strings.Join(m.Open, ", ")
	if f.claims.refusals < maxRefusals {
		return nil, f.tell(
			ctx,
			session.NoteRefused,
			"You said that the task is complete, but conflict marks are left in "+files+
				". Write each of these files as it is to be, without the lines <<<<<<<, ======= and >>>>>>>, and complete again.",
		)
	}
	return failed(
		"The conflicts with " + m.Branch + " were not resolved: both sides are still in " + files + ". The branch is as it was before. Say how to resolve them, or undo, which gives up merging " + m.Branch + ".",
	), nil
}

// changed reports whether there is a change since the user's last request, on the branch
// or as a patch that may not be pushed. A change that was undone does not count.
func (f *finisher) changed() bool {
	return f.Content() != f.claims.from || f.claims.handedOver || f.inside && len(f.Unpushed) > 0 //control:changed-back-is-no-change
}

// sayErrors reports unreadable calls in an answer that also had valid ones.
func (f *finisher) sayErrors(ctx context.Context, errs []string) (*session.Outcome, error) {
	if len(errs) == 0 {
		return nil, nil
	}
	return nil, f.tell(
		ctx,
		session.NoteReminder,
		"Part of your answer looked like a call and could not be understood: "+strings.Join(errs, "; "),
	)
}

func (f *finisher) garbled(ctx context.Context, errs []string) (*session.Outcome, error) {
	if f.claims.garbled >= maxFailed {
		return failed(fmt.Sprintf("The model's tool calls were unreadable %d times in a row. "+
			"Try again, or use a model with tool calling.", maxFailed)), nil
	}
	return nil, f.retry(ctx, "Your tool call could not be understood: "+strings.Join(errs, "; ")+
		". Nothing was run. Send the call again in the format of the system prompt."+f.meantCall())
}

// meantCall shows the call that the last answer probably meant.
func (f *finisher) meantCall() string {
	a := f.talk.entries[len(f.talk.entries)-1].answer
	if name, args := f.requests.tools.Template(cmp.Or(a.Raw, a.Content, a.Thinking)); name != "" {
		return " It is sent like this: " + f.model.template(name, args)
	}
	return ""
}

func (f *finisher) nothing(ctx context.Context) (*session.Outcome, error) {
	but := ""
	if f.talk.entries[len(f.talk.entries)-1].answer.Thinking != "" { //control:all-thinking
		but = " but thinking"
	}
	if f.claims.empty >= maxFailed {
		return failed(
			fmt.Sprintf("The model answered nothing%s %d times in a row. Try again, or use another model.", but, maxFailed),
		), nil
	}
	if but != "" {
		return nil, f.retry(ctx, "Your answer was all thinking, and what stands in that is not run. "+
			"End the thinking, and behind its end call a tool or complete the task."+f.meantCall())
	}
	return nil, f.retry(ctx, "Your answer was empty. Go on with the task: call a tool, or complete it.")
}

// notFinal returns the request to the model to act on its prose, in a mode that may
// write, or "": prose is the end unless it announces work or looks like a call.
func (f *finisher) notFinal(said string) string {
	c, isCall := f.model.parser.Guess(said)
	isCall = isCall && (f.requests.tools.edits(c.Name) || startsInCode(said))
	if !isCall && (f.changed() || !speech.Announces(said)) {
		return ""
	}
	text := "You wrote text but called no tool. "
	if isCall {
		sent := f.model.template(c.Name, string(c.Arguments))
		text += "It looks like this call, which was not run. If you mean it, send it by itself: " + sent + " " //control:form-is-shown
	}
	text += "If the task is finished, complete it with attempt_completion; otherwise go on with a tool call."
	if !f.changed() {
		text += " No file is changed so far: if none has to change, say why in no_change_reason."
	}
	result, _ := json.Marshal(firstLine(said, 80))
	return text + " Completing: " + f.model.template("attempt_completion", `{"result":`+string(result)+`}`)
}

// startsInCode reports whether a text begins with a fence.
func startsInCode(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~")
}

// latestRequest returns the latest words of the user.
func (f *finisher) latestRequest() string { return cmp.Or(f.talk.asks, session.Command(f.Task.Text)) }

// maxMistakes is the number of consecutive answers with mistakes that ends a session.
const maxMistakes = 6

// stuck ends a session if its model repeats mistakes or makes no progress.
func (f *finisher) stuck() *session.Outcome {
	if n := f.habits.Stale(); n >= maxStale { //control:stuck-without-news
		return failed(
			fmt.Sprintf("The model is stuck: in %d turns it saw nothing new and changed nothing, despite a reminder. "+
				"Nothing is lost. Describe the task more precisely, or use a larger model.", n),
		)
	}
	if f.habits.Wrong() < maxMistakes {
		return nil
	}
	last := ""
	for _, c := range f.Last {
		if c.Result != nil && c.Result.Mistake {
			last = "; the last was in a call of `" + c.Name + "`"
		}
	}
	return failed(fmt.Sprintf("The model made %d mistakes in a row and did not recover%s. "+
		"Nothing is lost. Describe the task more precisely, or use a larger model.", f.habits.Wrong(), last))
}
