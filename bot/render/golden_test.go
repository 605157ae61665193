package render

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/custom"
	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/untrusted"
	"github.com/handrail-bot/handrail/policy/untrusted/githubcheck"
)

var (
	sampleAt   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sampleRun  = session.Asked{ID: "ab12cd", Kind: session.AskApproval, Tool: "run_terminal_command", Severity: "high", Display: "rm -rf build", Digest: strings.Repeat("0a", 32), Reasons: []string{"deletes a directory"}, Deadline: sampleAt}
	sampleEdit = session.Asked{ID: "ef34ab", Kind: session.AskApproval, Tool: "write_file", Paths: []string{".env"}, Display: "-A=1\n+A=2\n", Digest: strings.Repeat("0b", 32), Reasons: []string{".env is a sensitive file"}, Deadline: sampleAt,
		Review: &session.Review{Commit: strings.Repeat("c", 40), Branch: "handrail-review-7-ef34ab", Base: "agent/7-x"}}
	sampleAsk    = session.Asked{ID: "q1", Kind: session.AskQuestion, Display: "Which one?", Choices: []string{"left", "right"}}
	sampleHead   = strings.Repeat("c0", 20)
	sampleModes  = &policy.NotAllowed{What: "mode", Name: "code", Allowed: []string{"ask", "review"}, Named: true}
	sampleNoMode = &policy.NotAllowed{What: "mode", Name: "code", Allowed: []string{"ask"}}
	errSample    = errors.New("the server said no")
)

func sampleFiles(n int) []session.FileChange {
	return []session.FileChange{{Path: "a.go", Kind: session.ChangeModify, Added: 3, Removed: 1}, {Path: "b.go", Kind: session.ChangeCreate, Added: 1}}[:n]
}

// stops are ends of sessions that had put nothing, something and not all on the branch.
func stops() []string {
	var out []string
	for _, files := range []int{0, 2} {
		s := sample(session.PhaseRunning, files, 1)
		out = append(out, StoppedBy("kim", "", s))
		s.Unpushed = sampleFiles(2)
		out = append(out, StoppedBy("kim", "", s), StoppedBy("kim", "not now", s))
	}
	return out
}

// sample is a session in a phase.
func sample(p session.Phase, files, turns int) *session.State {
	s := session.NewState()
	s.Phase, s.Turns, s.Files = p, turns, sampleFiles(files)
	s.Task = session.Task{Text: "fix it", Mode: "code", Model: "m:7b", Branch: "agent/1-fix"}
	s.Branch = s.Task.Branch
	for range files {
		s.Checkpoints = append(s.Checkpoints, session.Checkpoint{Commit: "1234567890"})
	}
	switch p {
	case session.PhaseQueued, session.PhaseRunning, session.PhaseWaitingModel, session.PhaseWaitingGitHub, session.PhaseWaitingChecks:
	case session.PhaseFailed, session.PhaseCrashed:
		s.Outcome = &session.Outcome{Reason: CouldNotGoOn(errSample)}
	case session.PhaseStopped:
		s.Outcome = &session.Outcome{Reason: StoppedBy("kim", "", s)}
	default:
		s.Outcome = &session.Outcome{Summary: "Mended `a.go`."}
	}
	return s
}

func answered(a session.Asked, v policy.ApprovalState) *session.Request {
	r := &session.Request{Asked: a, Approval: policy.OpenApproval(a.ID, a.Digest, a.Deadline)}
	if v != "" {
		r.Approval.State = v
		r.Answer = &session.Resolved{ID: a.ID, Verdict: v, By: "kim", ByID: 1}
	}
	return r
}

func posts(list []untrusted.Post) (out []string) {
	for _, p := range list {
		out = append(out, posted(p))
	}
	return out
}

func plans() []string {
	plan := func(v policy.ApprovalState) *session.Request {
		return answered(session.Asked{ID: "ab12cd", Kind: session.AskPlan, Display: "1. Look.\n2. Mend it."}, v)
	}
	approved, dropped, newer := plan(policy.Approved), plan(policy.Denied), plan("")
	newer.ID = "ef34ab"
	return []string{Approval(newer.Asked, "kim"), PlanIsPast(approved, approved), PlanIsPast(dropped, dropped), PlanIsPast(plan(policy.Stale), newer), PlanIsPast(plan(policy.Stale), dropped)}
}

func past() (out []string) {
	for _, v := range []policy.ApprovalState{policy.Approved, policy.Denied, policy.Expired, policy.Stale, policy.Withdrawn} {
		r := answered(sampleRun, v)
		out = append(out, IsPast(r, policy.Approved, ""), IsPast(r, policy.Denied, "ef34ab"))
	}
	ran := answered(sampleRun, policy.Approved)
	ran.Came = &session.Result{OK: true}
	return append(out, IsPast(ran, policy.Denied, ""))
}

func earlier() []string {
	ended := func(kind session.AskKind, v policy.ApprovalState) *session.Request {
		return answered(session.Asked{ID: "ab12cd", Kind: kind, Display: "1. Look."}, v)
	}
	over := session.NewState()
	over.Outcome = &session.Outcome{Status: session.StatusStopped, Reason: ReplacedBy("kim")}
	return []string{EarlierRequest(ended(session.AskPlan, policy.Approved), over), EarlierRequest(ended(session.AskPlan, policy.Withdrawn), over), EarlierRequest(ended(session.AskApproval, policy.Stale), session.NewState())}
}

// uses is what is said of commands that are written wrongly, and what each does.
func uses() (out []string) {
	wrong := func(format string, with ...any) {
		out = append(out, fmt.Sprintf(format+usage.ListIs, append(with, "/agent")...))
	}
	wrong(usage.Misfit, "/agent", "approve <id>…", "/agent", "approve button is missing")
	wrong(usage.Beside, "/agent", "approve", "On Monday Sam wrote:")
	wrong(usage.NearFlag, "--moed", "--mode", "/agent")
	wrong(usage.NoCount, "/agent", "budget")
	wrong(usage.BadCommit, "ok", "abc")
	wrong(usage.TooLong)
	for _, where := range []string{usage.TooDeep, usage.Controls, usage.ShownElse, string(untrusted.Quotation + usage.LazyLine), usage.BeginsElse} {
		wrong(usage.NotSaid, "/agent", where)
	}
	wrong(usage.Contradict, "plan", "code")
	own := custom.Command{Name: "release"}
	for _, why := range []string{fmt.Sprintf(usage.IsCommand, "/agent", "stop"), fmt.Sprintf(usage.IsMode, "/agent", "plan"), fmt.Sprintf(usage.IsNear, "/agent", "stop")} {
		own.Err = errors.New("`stop` cannot be the name of a command: " + why)
		out = append(out, CustomBroken(own))
	}
	out = append(out, CustomMisuse(own, usage.NoArguments), CustomMisuse(own, fmt.Sprintf(usage.FewerArguments, "one argument", 2)))
	help := fmt.Sprintf(usage.Begin, "/agent", usage.Help["task"], "/agent", "fix the failing test") + usage.Head + fmt.Sprintf(usage.ModeRow, "/agent", "plan", "plan")
	for _, name := range slices.Sorted(maps.Keys(usage.Help)) {
		if name != "task" {
			help += fmt.Sprintf("| `/agent %s` | %s |\n", name, usage.Help[name])
		}
	}
	return append(out, help+fmt.Sprintf(usage.Flags, "/agent"))
}

// everything returns examples of the texts of each function: in the singular and the plural,
// with and without their optional parts.
func everything() map[string][]string {
	done, none := sample(session.PhaseDone, 2, 3), sample(session.PhaseNoChanges, 0, 1)
	asked := []session.Asked{sampleRun, sampleEdit}
	book := custom.Book{{Name: "release", Description: "Make a release", Path: ".github/agent/commands/release.md"}, {Name: "bad", Err: errSample}}
	commit := func(sha string) string { return "https://github.example/o/r/commit/" + sha }
	var ends, settled, phases []string
	for _, e := range []ReviewEnd{
		{Asked: sampleEdit, Commit: sampleHead, By: session.Resolved{Verdict: policy.Approved, By: "kim"}},
		{Asked: sampleEdit, By: session.Resolved{Verdict: policy.Approved, By: "kim"}},
		{Asked: sampleEdit, By: session.Resolved{Verdict: policy.Denied, By: "kim"}, Moved: true},
		{Asked: sampleEdit, By: session.Resolved{Verdict: policy.Denied, Reason: WhyMergedBy(WhyMergedUnknown)}, Merged: true},
		{Asked: sampleEdit, By: session.Resolved{Verdict: policy.Expired}}, {Asked: sampleEdit, By: session.Resolved{Verdict: policy.Withdrawn, By: "kim"}},
		{Asked: sampleEdit, By: session.Resolved{Verdict: policy.Stale, Reason: WhyPushed}},
	} {
		ends = append(ends, e.Text(7, commit))
	}
	for _, v := range slices.Sorted(maps.Keys(answers)) {
		settled = append(settled, SettledAs(session.Resolved{ID: "ab12cd", Verdict: v}))
	}
	for _, p := range session.Phases() {
		if !strings.Contains(next(sample(p, 0, 0)), "/agent stop") {
			phases = append(phases, NoneRuns(p))
		}
	}
	held := answered(sampleRun, "")
	held.Head, held.Reasons = sampleHead, []string{WhyForkMoved}
	let := answered(sampleRun, policy.Approved)
	let.Head = sampleHead
	return map[string][]string{
		"Usage":        uses(),
		"Answer":       nil, // TestLongAnswer
		"Approval":     {Approval(sampleRun, "kim"), Approval(sampleEdit, ""), Approval(sampleAsk, "kim")},
		"AsksOnly":     {AsksOnly(7)},
		"Before":       nil, // TestLongPlan
		"BaseIsGone":   {BaseIsGone("old", "main")},
		"CheckMoved":   {CheckMoved("c0c0c0c")},
		"CheckSummary": {CheckSummary(done, ""), CheckSummary(none, "sam may not ask here")},
		"CheckTitle":   {CheckTitle(done), CheckTitle(sample(session.PhaseRunning, 1, 1)), CheckTitle(none)},
		"Conclusion":   {Conclusion(session.PhaseDone), Conclusion(session.PhaseNoChanges)},
		"GitHubAway":   {GitHubAway(""), GitHubAway("GitHub's answer (status 200) lacks user.login")}, "GivenUp": {GivenUp(errSample)},
		"CouldNotGoOn": {CouldNotGoOn(errSample)}, "CouldNotStart": {CouldNotStart(errSample)},
		"Detail":     {Detail("exit status 1")},
		"DidYouMean": {DidYouMean("approve", asked[:1]), DidYouMean("approve", asked), DidYouMean("deny", nil), DidYouMean("stop", nil)},
		"ServerDied": {ServerDied(2), ServerDied(3)}, "Diff": {Diff(done, "https://github.example/c"), Diff(none, ""), Diff(sample(session.PhaseDone, 1, 1), "https://github.example/c")},
		"Ended": {Ended(session.PhaseCrashed, errSample)}, "Fault": {Fault(errSample)}, "FewerTurns": {FewerTurns(100, 20), FewerTurns(2, 1)}, "TurnsLater": {TurnsLater(5)},
		"Ending":        {Ending(done, "https://github.com/o/r/issues/7#issuecomment-1", 9), Ending(none, "https://github.com/o/r/issues/7#issuecomment-1", 0)},
		"Help":          {posted(Help("Write `/agent`.", "| command | effect |\n|---|---|\n| `/agent stop` | end |\n"))},
		"Reviewed":      {Reviewed("https://github.com/o/r/pull/7#pullrequestreview-1")},
		"ForkAmbiguous": {ForkAmbiguous("c0c0c0c", sampleHead)}, "ForkMoved": {ForkMoved("abc1234", sampleHead)}, "ForkOther": {ForkOther("abc1234", sampleHead)},
		"ForkNamesNone": {ForkNamesNone(sampleHead)}, "ForkWaits": {ForkWaits(sampleHead)}, "ForkRequest": {ForkRequest(held), ForkRequest(let)},
		"Kept": {Kept(nil), Kept([]string{"a.go"}), Kept([]string{"a", "b", "c", "d", "e", "f"}), Kept([]string{"a", "b", "c", "d", "e", "f", "g"})}, "LeftOut": {LeftOut(10, 1), LeftOut(10, 2)},
		"ChecksFailed": {ChecksFailed(1, "0123456789abcdef"), ChecksFailed(2, "0123456789abcdef")}, "MendChecks": {MendChecks(1, "0123456789abcdef"), MendChecks(3, "0123456789abcdef")},
		"ChecksUsedUp": {ChecksUsedUp(1, "0123456789abcdef", 7), ChecksUsedUp(3, "0123456789abcdef", 7)}, "GreenChecks": {greenChecks([]string{"test"}), greenChecks(slices.Repeat([]string{"lint `x`", "@kim"}, 11))},
		"ReviewSince": {ReviewSince("main", "", "0123456789abcdef"), ReviewSince("main", "fedcba9876543210", "0123456789abcdef")}, "ReviewStale": {ReviewStale([]int{3, 12}, 14)},
		"BySchedule": {BySchedule("nightly")}, "ScheduleTitle": {ScheduleTitle("nightly")}, "ScheduleBody": {ScheduleBody("nightly", ""), ScheduleBody("nightly", "All is well.")}, "ScheduleResult": {ScheduleResult(done, 0), ScheduleResult(done, 7)},
		"NoForkWaits": {NoForkWaits("abc1234")}, "NoLonger": {NoLonger(sampleModes)}, "NoPull": {NoPull("agent/1-fix", "no commits between main and agent/1-fix")},
		"NotADraft": {NotADraft(7, "open"), NotADraft(7, "closed")}, "StaysADraft": {StaysADraft(7, "GitHub refused it")},
		"ReadyAnyway": {ReadyAnyway(7, []string{"test"}, nil, true), ReadyAnyway(7, []string{"test", "lint"}, []string{"slow"}, true), ReadyAnyway(7, nil, nil, false), ReadyAnyway(7, nil, nil, true)},
		"NoneRuns":    phases, "TaskHint": {TaskHint("stop", ""), TaskHint("stop", "using tabs")}, "NotAll": {NotAll("approve", asked[:1]), NotAll("deny", asked)},
		"NotAllowed": {NotAllowed(sampleModes), NotAllowed(sampleNoMode), NotAllowed(&policy.NotAllowed{What: "model", Name: "x"})},
		"NotCounted": {NotCounted("review", WhyOtherCommit(sampleHead, strings.Repeat("d", 40)))}, "NotOpen": {NotOpen("approve", "abc", nil), NotOpen("approve", "abc", asked)},
		"NotReviewed": {NotReviewed(WhyNoPull("it is locked"))}, "NotDone": {NotDone("it needs maintain permission on this repository to raise limits, and sam has write")}, "NotStarted": {NotStarted("sam has no access to this repository.")}, "AskInstead": {AskInstead(true), AskInstead(false)},
		"NothingToResume": {NothingToResume(session.PhaseDone), NothingToResume(session.PhaseNoChanges)},
		"CustomBroken":    {CustomBroken(book[1])}, "CustomCommands": {CustomCommands(book, nil), CustomCommands(nil, errSample)}, "CustomModeConflict": {CustomModeConflict(custom.Command{Name: "release", Mode: "plan"}, "code")},
		"CustomMisuse":  {CustomMisuse(book[0], "takes no words, and here are 2")},
		"DiffParts":     append(posts(DiffParts("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n")), posts(DiffParts(""))...),
		"Patches":       posts(Patches("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n")),
		"Postponed":     {Postponed("kim", sampleAt)},
		"Progress":      {posted(Progress(done, Links{Commit: commit, Pull: 7})), posted(Progress(none, Links{Commit: commit}))},
		"AfterTheMerge": {AfterTheMerge(2)}, "BesideThePull": {BesideThePull(2, "agent/1-fix")}, "ClosedMeanwhile": {ClosedMeanwhile(2, "agent/1-fix")}, "NoOther": {NoOther("team/lib", OtherUnlisted), NoOther("team/lib", OtherNotInstalled), NoOther("team/lib", OtherLessPublic), NoOther("team/lib", OtherUnasked), NoOther("team/lib", OtherEmpty)}, "OtherUnreadable": {NoOther("team/lib", OtherUnreadable("kim"))}, "OtherUnwritable": {NoOther("team/lib", OtherUnwritable("kim")), OtherUnwritable("")},
		"PartTitle": {PartTitle(thread.Ref{Owner: "team", Repo: "app", Number: 7}, "Say farewell")}, "PartBody": {PartBody("kim", sampleFiles(2))}, "PartTask": {PartTask(thread.Ref{Owner: "team", Repo: "app", Number: 7}, "say farewell")}, "PartSaid": {PartSaid(session.Outcome{Summary: "Mended `a.go`."})}, "PartPassed": {PartPassed("team/lib")}, "PartWaits": {PartWaits("team/lib")},
		"PartRefused": {PartRefused("team/lib", PartUnreachable, "s1", false), PartRefused("team/lib", PartOtherReaders, "s1", false), PartRefused("team/lib", PartUnserved, "s1", true)}, "PartNoIssue": {PartRefused("team/lib", PartNoIssue("Issues has been disabled"), "s1", true)}, "OtherWithoutRef": {NoOther("team/lib", OtherWithoutRef("v1"))},
		"NoBase": {NoBase("develop")}, "NoWorkspace": {NoWorkspace("workspace docker: there is no image\nnode:22")}, "NoImage": {NoImage("acme.example/go:1")}, "NotAsked": {NotAsked([]string{"bug"}, nil), NotAsked([]string{"bug", "big"}, []string{"sam"})},
		"PullLog":     nil, // TestPullLog
		"Triage":      {Triage("Which version does this happen with?")},
		"PullSummary": {PullSummary(done, 1)}, "PullFiles": {PullFiles(done)}, "PullNotices": {PullNotices(done, Origin{Number: 2, Pull: true, Beside: "main"})},
		"PullBody":   {PullBody(done, "kim", Origin{Number: 1}), PullBody(sample(session.PhaseDone, 1, 1), "", Origin{Number: 2, Pull: true, Beside: "main"})},
		"PlanIsPast": plans(), "EarlierRequest": earlier(), "IsPast": past(), "NothingLeft": {NothingLeft(past()[0])}, "AskedAlone": {AskedAlone("review")}, "AskedAnew": {AskedAnew(asked[:1]), AskedAnew(asked)}, "Transferred": {Transferred(thread.Ref{Owner: "acme", Repo: "other", Number: 3})}, "TransferredHere": {TransferredHere(thread.Ref{Owner: "acme", Repo: "widget", Number: 1}, session.NewState())}, "PullTitle": {PullTitle("fix the build"), PullTitle("")}, "ReplacedBy": {ReplacedBy("kim")},
		"Replies": {Replies([]string{NothingToStop, NothingToStop, NothingAsked})},
		"Requests": {posted(Requests([]Request{{Request: answered(sampleRun, "")}}, "kim")), posted(Requests([]Request{{Request: answered(sampleRun, policy.Denied)}, {Request: answered(sampleEdit, ""), Brief: true}}, "kim")),
			posted(Requests([]Request{{Request: answered(sampleRun, policy.Approved), From: "comment 12"}, {Request: answered(sampleEdit, policy.Stale)}}, "kim"))},
		"ReviewBody": {ReviewBody(sampleEdit, "kim", 7)}, "ReviewNotice": {posted(ReviewNotice(sampleEdit, 9, "kim"))}, "ReviewTitle": {ReviewTitle(sampleEdit)}, "ReviewEnd.Text": ends,
		"Settled": {Settled([]string{AnswerTaken("ab12cd", "kim", "comment 12"), ""}), Settled([]string{"`ab12cd`: approved.", "`ef34ab`: denied."})}, "SettledAs": settled, "SettledBy": {SettledBy(session.Resolved{ID: "ab12cd", Verdict: policy.Denied, By: "kim"}), SettledBy(session.Resolved{ID: "ab12cd", Verdict: policy.Stale})},
		"ShareOfDay": {ShareOfDay("kim", "2026-01-02")}, "Status": {posted(Status(sampleAt, Progress(done, Links{})))}, "StoppedBy": stops(),
		"WithdrawnBy":    {WithdrawnBy("kim", "never mind", done), WithdrawnBy("kim", "", session.NewState())},
		"RequestDeleted": {RequestDeleted("kim", done), RequestDeleted("kim", session.NewState())},
		"StoppedBefore":  {StoppedBefore("kim")},
		"DeniedIn":       {DeniedIn("ab12cd", "kim", "the dashboard")}, "InDashboard": {InDashboard("kim", "/agent stop\nnow")}, "AnswerTaken": {AnswerTaken("ab12cd", "kim", "comment 12")}, "TooLate": {TooLate(session.Resolved{ID: "ab12cd", Reason: WhyLate})}, "SourceChanged": {SourceChanged(true), SourceChanged(false)},
		"RequestsStayOpen": {RequestsStayOpen([]session.Asked{{ID: "ab12cd", Kind: session.AskPlan}}, false, func(string) string { return "" }), RequestsStayOpen(asked[:1], false, func(string) string { return "" }), RequestsStayOpen([]session.Asked{sampleRun}, true, func(string) string { return "https://github.com/o/r/issues/7#issuecomment-1" })},
		"WhichMeant":       {WhichMeant([]session.Asked{sampleAsk}, nil), WhichMeant([]session.Asked{sampleAsk, sampleAsk}, asked)}, "WhichRequest": {WhichRequest("approve", asked), WhichRequest("approve", []session.Asked{{ID: "ab12cd", Severity: "critical"}})},
		"WhyMergedAlone": {WhyMergedAlone("nobody approved it")}, "WhyMergedBy": {WhyMergedBy(WhyMergedUnknown)}, "WhyNoPull": {WhyNoPull("it is locked")}, "WhyNoPermission": {WhyNoPermission("pull_requests=write"), WhyNoPermission("issues=write; pull_requests=write"), WhyNoPermission("x")},
		"WhyNoRight": {WhyNoRight("kim has left the team")}, "WhyOtherCommit": {WhyOtherCommit(sampleHead, strings.Repeat("d", 40))},
		"Skipped": {Skipped("kim")}, "Sign": {Sign(session.PhaseDone), Sign(session.PhaseFailed)}, "NoConfig": {NoConfig(errSample)},
		"WhichModel": {WhichModel("m:7b", nil), WhichModel("m:7b", []string{"m:7b", "n"})}, "ModelNotAllowed": {ModelNotAllowed("x", "m:7b", []string{"m:7b", "n"})},
		"OtherModel": {OtherModel("m:7b", "n")}, "SameModel": {SameModel("m:7b")}, "ModelIs": {ModelIs("n", true), ModelIs("n", false)}, "ClearedBy": {ClearedBy("kim")}, "Cleared": {Cleared(true, "agent/1-fix"), Cleared(false, "")},
		"Config": {posted(Config(Layers{}, nil)), posted(Config(Layers{}, done)), posted(Config(Layers{Image: session.Image{Name: "golang:1.26", Why: "go.mod says 1.26", Notes: []string{"there is also package.json"}}}, nil))}, "WhyNoSigningKey": {WhyNoSigningKey("ssh")},
		"Constants": {EditedIn, ForkRefused, NoSession, NothingToStop, NothingToSkip, NoCheckpoint, NothingAsked, WaitOver, UnknownAuthor, CheckIsRunning, CheckMovedTitle, RepositoryGone, ForkMovesOn, NotSigned, WhyNotSigned, NoApprover, ReviewDependencies},
	}
}

// speakers returns the functions of the package that make texts for people.
func speakers(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Type.Results == nil || f.Name.Name == "String" {
				continue
			}
			text := false
			ast.Inspect(f.Type.Results, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				text = text || ok && (id.Name == "string" || id.Name == "Post")
				return true
			})
			switch {
			case text && f.Recv == nil:
				out = append(out, f.Name.Name)
			case text:
				out = append(out, f.Recv.List[0].Type.(*ast.Ident).Name+"."+f.Name.Name)
			}
		}
	}
	return out
}

// Each text of the bot and each phase of a session has a golden file.
func TestEveryTextIsKept(t *testing.T) {
	t.Parallel()
	said := everything()
	for _, name := range speakers(t) {
		if _, ok := said[name]; !ok {
			t.Errorf("everything lacks %s: add examples of its text there, then %s", name, updates)
		}
	}
	for name, texts := range said {
		if len(texts) > 0 {
			golden(t, "said/"+name, strings.Join(texts, "\n\n-----\n\n"))
		}
	}
	for _, p := range session.Phases() {
		s := sample(p, 1, 2)
		golden(t, "phase/"+strings.ReplaceAll(string(p), " ", "_"), strings.Join([]string{posted(Progress(s, Links{Pull: 7})), Ending(s, "", 0), CheckTitle(s), CheckSummary(s, "")}, "\n\n-----\n\n"))
	}
}

var (
	oneOfMany = regexp.MustCompile(`\b1 (?:more |earlier |workflow )*(?:file|turn|request|question|step|command|character|comment|byte|day|minute|commit)s\b`)
	manyOfOne = regexp.MustCompile(`\b(?:0|[2-9]|\d\d+) (?:more |earlier |workflow )*(?:file|turn|request|question|step|command|character|comment|byte|commit)\b`)
	bad       = regexp.MustCompile(`(?i)\b(?:you has|they has|i has|he have|she have|session is (?:no |a |waiting for an)|a [aeio]\w+|an [bcdfgjkpqtvwz]\w+|does not has|did not \w+ed)\b|[a-z]  [a-z]| [,;.] |\w[.,;]{2}(?:\s|$)|[.:]\.(?:\s|$)|!\.`)
	left      = regexp.MustCompile("(?m)\\*\\*|```|^\\s*\\||\\]\\(|^#{1,6} |&lt;|&gt;|%!|<nil>")
	letters   = regexp.MustCompile(`[\p{L}']+|[^\p{L}\s]`)
)

// What the bot says is a person's English, and GitHub's own parser leaves no markup of
// it over.
func TestWordsAreRight(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	j := githubcheck.Start(t, os.Getenv("HANDRAIL_REQUIRE_ENGINES"))
	var names, texts []string
	for name, list := range everything() {
		for _, text := range list {
			names, texts = append(names, name), append(texts, text)
		}
	}
	for _, p := range session.Phases() {
		for n := range 3 {
			s := sample(p, n, n)
			for _, text := range []string{posted(Progress(s, Links{Pull: 7 * n})), Ending(s, "", 0), CheckTitle(s), CheckSummary(s, "")} {
				names, texts = append(names, string(p)), append(texts, text)
			}
		}
	}
	for i, s := range j.Show(t, texts...) {
		for _, wrong := range []*regexp.Regexp{oneOfMany, manyOfOne, bad, left} {
			if found := wrong.FindString(s.Visible); found != "" {
				t.Errorf("%s says %q in\n%s", names[i], found, s.Visible)
			}
		}
		last := ""
		for _, w := range letters.FindAllString(s.Visible, -1) {
			if w == last && len(w) > 1 && w != "no" {
				t.Errorf("%s says %q twice in\n%s", names[i], w, s.Visible)
			}
			last = w
		}
	}
}
