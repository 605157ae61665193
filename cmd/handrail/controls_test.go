package main

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// control is a statement that keeps a promise of docs/safety.md or docs/reliability.md. A
// comment "//control:NAME" on its line, or on the line above, marks it in the source. The
// mark moves with the statement.
//
// change takes the control out, see [changeOf]; the test must fail then. A
// mark may have several controls, whose other names stand in front of it:
// "orders-digest of approval-digest".
type control struct {
	name     string
	change   string
	packages string
	test     string
}

var controls = slices.Concat(controlsOfAgent, controlsOfBot, controlsOfReview, controlsOfServers, controlsOfGuests, []control{
	{"redact-addresses", "drop", "./policy/secret", "TestRedactKnownValues"},
	{"numbered-lines", "false", "./agent", "TestResultsAreCleaned"},
	{"random-values", "false", "./policy/secret", "TestFromEnvironment"},
	{"sealed-contents", "value data, error(nil)", "./cmd/handrail", "TestContentsAreSealed"},
	{"what-a-reader-sees", "value seen{text: s}", "./policy/untrusted", "TestCleanTextHides"},
	{"page-of-github", "false", "./policy/untrusted", "TestCleanReadsThePage"},
	{"older-rules", "drop", "./policy/untrusted", "TestCleanTextHides"},
	{"behind-the-page", "false", "./policy/untrusted", "TestCleanTextHides"},
	{"post-backticks", "value t.seen", "./policy/untrusted", "TestPostedKinds"},
	{"post-html", "call literal w.markup(string(n.Segments.Value(w.src)))", "./policy/untrusted", "TestPostedKinds"},
	{"post-doubtful-links", "false", "./policy/untrusted", "TestReferencesSayTheirAddress"},
	{"post-references", "false", "./policy/untrusted", "TestReferencesSayTheirAddress"},
	{"own-host", "value err != nil && home == nil", "./policy/untrusted", "TestReferencesOnAnEnterpriseServer"},
	{"post-drawings", "false", "./policy/untrusted", "TestPostedAsPlain"},
	{"post-images", `call link w.markup("![](" + string(n.Destination) + ")")`, "./policy/untrusted", "TestPostedKinds"},
	{"post-links", "without 2", "./policy/untrusted", "TestPostedKinds"},
	{"post-mentions", "drop", "./policy/untrusted", "TestPostedKinds"},
	{"post-closing", "drop", "./policy/untrusted", "TestPostedKinds"},
	{"post-closing-in-code", "drop", "./policy/untrusted", "TestCleanOutputClosingKeywords"},
	{"post-message", "drop", "./policy/untrusted", "TestTitlesAndMessages"},
	{"runner-commands", "drop", "./policy/untrusted", "TestNoRunnerCommands"},
	{"runner-lines-of-doors", "drop", "./cmd/handrail", "TestScripts/run_in_actions"},
	{"log-redaction", "call attr $1", "./cmd/handrail", "TestLogsAreRedacted"},
	{"scan-each-file", "skip", "./cmd/handrail", "TestScripts/run_many_files"},
	{"elided-text", "without 2", "./policy/shell", "TestLongDocuments"},
	{"foreign-code", "false", "./policy/shell", "TestForms"},
	{"remote-output", "false", "./policy/shell", "TestForms"},
	{"texts-of-the-line", "drop", "./policy/shell", "TestForms"},
	{"followed-links", "false", "./policy/shell", "TestForms"},
	{"downloaded-code", "drop", "./policy/shell", "TestForms"},
	{"own-script", "drop", "./policy/shell", "TestForms"},
	{"outside-code", "drop", "./policy/shell", "TestForms"},
	{"remote-database", "drop", "./policy/shell", "TestForms"},
	{"own-branch", `value to != ""`, "./policy/shell", "TestOwnBranch"},
	{"said-texts", "drop", "./policy/shell", "TestForms"},
	{"said-settings", "drop", "./policy/shell", "TestForms"},
	{"evaluated-names", "false", "./policy/shell", "TestForms"},
	{"destroying-verbs", "drop", "./policy/shell", "TestForms"},
	{"leaked-credential", "false", "./policy/shell", "TestForms"},
	{"shaped-variables", "drop", "./policy/shell", "TestForms"},
	{"running-options", "drop", "./policy/shell", "TestForms"},
	{"written-options", "drop", "./policy/shell", "TestForms"},
	{"unknown-options", "drop", "./policy/shell", "TestForms"},
	{"obeyed-files", "value workspace", "./policy/shell", "TestForms"},
	{"destroyed-data", "drop", "./policy/shell", "TestForms"},
	{"unknown-program", "false", "./policy", "TestUnknownPrograms"},
	{"walled-verdict", "false", "./policy", "TestUnknownPrograms"},
	{"review-runs-tests", "false", "./policy", "TestReviewRunsTests"},
	{"left-locks", "false", "./gitops", "TestSetRef"},
	{"failed-lookup", "value a.Lookup == NotAsked", "./policy ./bot", "Test.*Ask|Test.*Approve|TestPermissionTable"},
	{"earlier-summary", "value compact.Fallback(messages, limit/4)", "./cmd/handrail", "TestScripts/run_compaction"},
	{"left-out", "false", "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"closed-directory", "false", "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"keep-what-is-left-out", `call Find o.Find(tree, path+".gone")`, "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"synced-objects", "call Sync error(nil)", "./cmd/handrail", "TestPowerCut"},
	{"synced-ref", "value nil", "./cmd/handrail", "TestPowerCut"},
	{"torn-object", "true", "./gitops", "TestTornObject"},
	{"their-objects-stay", "false", "./gitops", "TestTheirObjectsStay"},
	{"their-commits-stay", "false", "./gitops", "TestTheirObjectsStay"},
	{"promised-is-brought", "call Prefetch error(nil)", "./gitops", "TestPromisedIsBrought"},
	{"answer-is-what-was-asked", "false", "./gitops", "TestAnswerLacksWhatWasAsked"},
	{"lost-is-not-promised", "false", "./gitops", "TestLostIsNotPromised"},
	{"lost-commit-fetched", "false", "./cmd/handrail", "TestDamagedMirrorIsMended"},
	{"orders-no-return", "also Denied: {Approved}", "./policy ./agent", "TestApprovalWords|TestApprovalInterleavings"},
	{"begun-once", "value a.State == Approved || a.State == Begun", "./policy ./agent", "TestApprovalWords|TestFailedSave"},
	{"not-merged-by-lines", "false", "./gitops", "TestPushSafeGuards"},
	{"dropped-stays-off", "false", "./gitops", "TestPushSafeGuards"},
	{"lost-push-is-ours", "false", "./agent/work", "TestLostPush"},
	{"sent-as", "drop", "./gitops", "TestReplayIsSentWithoutAnswer"},
	{"pushed-before", "call Descends false, error(nil)", "./gitops", "TestPushSafeGuards"},
	{"rewound-branch", "drop", "./gitops", "TestPushSafeGuards"},
	{"programs-computed of computed-blob", `value mode != "x"`, "./cmd/handrail", "TestApprovalAgainstPrograms"},
	{"file-over-directory", "without 1", "./gitops", "TestDiffOfALinkOverADirectory"},
	{"sensitive-link", "value PathVerdict{}", "./policy", "TestSensitiveLinks"},
	{"bot-orders-edited", `value "", nil`, "./cmd/handrail", "TestApprovalInterleavings"},
	{"bot-orders-right of checked-again", "false", "./cmd/handrail", "TestApprovalInterleavings"},
	{"answer-in-place", "false", "./cmd/handrail", "TestScripts/serve_line_comment"},
	{"answer-not-lost", "true", "./cmd/handrail", "TestScripts/serve_line_gone"},
	{"policy-path-length", "without 3", "./policy", "TestEndlessNames"},
	{"terminal-bar", "call EscapeVisible $1", "./cmd/terminal", "TestTerminalLinesAreItsOwn"},
	{"terminal-wrap-bar", "false", "./cmd/terminal", "TestTerminalLinesAreItsOwn"},
	{"terminal-markdown", "call EscapeLine $1", "./cmd/terminal", "TestMarkdownIsInert"},
	{"terminal-dumb", "false", "./cmd/terminal", "TestLook"},
	{"branch-above", "value above == name", "./cmd/handrail", "TestScripts/run_branches"},
	{"run-not-the-default", "false", "./cmd/handrail", "TestScripts/run_branches"},
	{"run-not-checked-out", "false", "./cmd/handrail", "TestScripts/run_branches"},
	{"git-paths", "false", "./gitops", "TestCheckpointLeavesGitDirectoriesOut"},
	{"git-paths-built of git-paths", "false", "./cmd/handrail", "TestGitAttacks$/^local$"},
	{"submodule-is-told", "skip", "./cmd/handrail", "TestScripts/run_submodule_clone"},
	{"submodule-inside", "false", "./gitops", "TestCheckpointInASubmodule"},
	{"pull-is-the-session", "value false", "./cmd/handrail", "TestScripts/serve_pull_same_session"},
	{"merged-begins-anew", "value nil, nil", "./cmd/handrail", "TestScripts/serve_after_merge"},
	{"branch-of-its-own", "true", "./cmd/handrail", "TestScripts/serve_after_merge"},
	{"closed-pull-begins-anew", "false", "./cmd/handrail", "TestScripts/serve_closed_pull"},
	{"work-after-the-merge", "false", "./cmd/handrail", "TestScripts/serve_merged_meanwhile"},
	{"title-of-a-person", "false", "./cmd/handrail", "TestScripts/serve_pull_text"},
	{"text-of-a-person", "false", "./cmd/handrail", "TestScripts/serve_pull_text"},
	{"title-template", "false", "./cmd/handrail", "TestScripts/serve_pull_config"},
	{"base-of-the-configuration", "false", "./cmd/handrail", "TestScripts/serve_pull_config"},
	{"stacked-branch", "false", "./cmd/handrail", "TestScripts/serve_stacked"},
	{"waits-for-github", "drop", "./cmd/handrail", "TestScripts/serve_github_away"},
	{"listed-reviews", "value error(nil)", "./cmd/handrail", "TestScripts/serve_token_review"},
	{"locked-is-signed", "true", "./cmd/handrail", "TestScripts/serve_locked"},
	{"deleted-is-asked-anew", "false", "./cmd/handrail", "TestScripts/serve_asked_anew"},
	{"gone-is-asked-anew", "false", "./cmd/handrail", "TestScripts/serve_asked_anew"},
	{"missing-is-asked-anew", "false", "./cmd/handrail", "TestScripts/serve_asked_anew"},
	{"talk-withdraws-nothing", "true", "./bot", "TestAsides"},
	{"words-are-kept", "drop", "./bot", "TestWordsAreKept"},
	{"asked-back-gets-a-sign", "false", "./cmd/handrail", "TestScripts/serve_asked_back_once"},
	{"asked-back-is-settled", "call Try error(nil)", "./cmd/handrail", "TestScripts/serve_asked_back_once"},
	{"verb-carries-its-task", "false", "./cmd/handrail", "TestScripts/serve_verb_alone"},
	{"one-mode-at-a-time", "value false", "./cmd/handrail", "TestScripts/serve_verbs_in_order"},
	{"mode-of-one-request", "false", "./cmd/handrail", "TestScripts/serve_verbs_in_order"},
	{"right-when-it-begins", "false", "./cmd/handrail", "TestScripts/serve_verbs_wait"},
	{"stop-ends-what-waits", "false", "./agent/session", "TestLater"},
	{"fix-is-a-request", "value strings.EqualFold(word, rest)", "./cmd/handrail", "TestScripts/serve_fix_alone"},
	{"help-shows-rights", "value err == merr && verdict == verdict && m.Name == m.Name", "./cmd/handrail", "TestScripts/serve_help"},
	{"fix-has-its-mode", "false", "./cmd/handrail", "TestScripts/serve_fix_alone"},
	{"fix-answers-nothing", "false", "./cmd/handrail", "TestScripts/serve_fix_alone"},
	{"new-request-is-no-answer", "value a.Kind == session.AskQuestion || ok", "./cmd/handrail", "TestVerbsWithoutWords/review_after_question"},
	{"asked-back-once", "call askBack r.c.askBack(r.msg, approval.AskedAside, about+r.msg.key, \"\")", "./bot", "TestWordsAreKept"},
	{"past-request", "false", "./cmd/handrail", "TestScripts/serve_approved_already"},
	{"earlier-request", "false", "./cmd/handrail", "TestScripts/serve_plan_dropped"},
	{"hidden-diff", "value false", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"hidden-hunk", "value false, nil", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"hidden-thread", "false", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"chart-of-its-commit", "value contentKey(ws, base)", "./agent/work", "TestChart"},
	{"chart-of-what-is-shown", `value fmt.Sprintf("%q", ws.shows.Paths)`, "./agent/work", "TestChart"},
	{"fork-facts", "false", "./cmd/handrail", "TestScripts/serve_fork_rules"},
	{"fork-ignore", "false", "./cmd/handrail", "TestScripts/serve_fork_rules"},
	{"past-is-read-only", "value append(ms, bind(p.spec.Git, workspace.GitInside, false))", "./agent/workspace/docker", "TestConformance"},
	{"past-is-read-only-in-bwrap", `value append(a, "--bind", at+"/git", workspace.GitInside)`, "./agent/workspace/bwrap", "TestConformance"},
	{"past-is-not-shared", "value true || share", "./gitops/base", "TestPastIsNotShared"},
	{"past-of-a-shallow-clone", "false", "./gitops/base", "TestPastOfAShallowClone"},
	{"past-of-others", "false", "./gitops/base", "TestPastsShare"},
	{"past-hides-contents", "value h.alone && len(v.Gone) > 0", "./gitops/base", "TestPastHidesWhatMoved"},
	{"hidden-is-not-there", "false", "./cmd/handrail", "TestScripts/serve_hidden_files"},
	{"base-is-checked", "false", "./gitops/base", "TestDamaged"},
	{"pooled-is-sound", "false", "./gitops/base", "TestDamaged"},
	{"object-is-its-id", "false", "./gitops/base", "TestLyingObjects"},
	{"rules-share-no-tree", "false", "./gitops/base", "TestHidden"},
	{"base-in-use", "false", "./gitops/base", "TestSweep"},
	{"layer-is-read-only", `value append(a, "--bind", at+"/layer", workspace.LayerInside)`, "./agent/workspace/bwrap", "TestConformance"},
	{"layer-is-read-only-in-docker", "value append(ms, bind(filepath.Join(p.spec.Layer, workspace.LayerTree), workspace.LayerInside, false))", "./agent/workspace/docker", "TestConformance"},
	{"layer-is-no-change", "true", "./agent/workspace/bwrap", "TestConformance"},
	{"layer-built-once", `value flock.Wait(ctx, s.at("locks", key+".build"), false)`, "./agent/layer", "TestMadeOnce"},
	{"caches-of-the-family", "without 2", "./agent/layer", "TestNewest"},
	{"layer-in-use", "false", "./agent/layer", "TestSweep"},
	{"caches-of-one-session", "value append(ms, bind(l.Cache, workspace.CacheUpperInside, true), bind(l.CacheBase, workspace.CacheInside, false))", "./agent/workspace/docker", "TestConformance/overlay/caches"},
	{"layer-is-copied", "value os.Link(from, to)", "./agent/workspace/bwrap", "TestConformance/copy/caches"},
	{"caches-are-no-links", "value err != nil && info == nil", "./agent/layer", "TestBegin$"},
	{"caches-stop-nothing", "false", "./agent/layer", "TestBeginWithWhatIsTooDeep"},
	{"caches-do-not-grow", "without 2", "./agent/layer", "TestBeginWithNone"},
	{"shared-is-the-same", "value true, error(nil)", "./agent/layer", "TestEndOfACopy"},
	{"read-of-a-secret", "false", "./policy", "TestCheckTable"},
	{"setup-file-behind-a-link", "true", "./agent/work", "TestSetUpFilesBehindLinks"},
	{"setup-judged-as-it-runs", "false", "./agent/work", "TestSetUpIsJudgedAsItRuns"},
	{"setup-network", "value repo.Reach(nil)", "./policy", "TestMergeSetUp"},
	{"setup-keys-without-effect", "false", "./policy", "TestMergeSetUpHosts"},
	{"created-of-the-base", "value e.cfg.Created(ctx, commitFiles{repo: j.Repo, commit: j.Task.Base})", "./agent/work", "TestSetUpOfDevcontainer"},
	{"setup-reaches", "call setNetwork error(nil)", "./agent/work", "TestSetUpReaches"},
	{"setup-key", `value slices.Concat(facts, s.Commands)`, "./agent/work", "TestSetUpOnce"},
	{"setup-yes-is-for-the-key of mcp-yes-is-for-the-digest", "without 2", "./agent/work", "TestSetUpWaits"},
	{"setup-denial-holds", "value usable, said, nil, nil", "./agent/work", "TestSetUpIsRefused"},
	{"setup-checked-again", `call Doubt "", error(nil)`, "./agent/work", "TestSetUpWaits"},
	{"setup-of-the-base", `value gitops.BaseWant{Commit: r.j.Task.Base, Rules: rulesOf("", r.set.hidden), Layers: ok && layered.Layers()}`, "./agent/work", "TestSetUpIsOfTheBase"},
	{"setup-output-redacted", "drop", "./agent/work", "TestSetUpFails"},
	{"setup-propose-off", "false", "./policy", "TestProposal"},
	{"setup-proposal-within", "value above.Reach(nil)", "./policy", "TestProposal"},
	{"setup-once-is-the-operators", "drop", "./policy", "TestProposal"},
	{"no-network-install", "true", "./agent/work", "TestInstallIsRefused"},
	{"missing-packages-are-told", "drop", "./cmd/handrail", "TestScripts/run_deps"},
	{"again-is-the-same-text", "value len(t.again) > 0", "./cmd/terminal", "TestAgain"},
	{"status-is-for-this-machine", "false", "./cmd/handrail", "TestStatusIsForThisMachine"},
	{"setup-hidden-stays", "false", "./agent/work", "TestSetUpOnce"},
	{"setup-leaves-the-base", "false", "./agent/work", "TestSetUpOnce"},
	{"bounded-trees", "false", "./gitops", "TestFilesLimits"},
	{"hidden-stays", "false", "./cmd/handrail", "TestScripts/serve_hidden_files"},
	{"other-repositories-of-the-operator", "value min(0, len(server)-1)", "./policy", "TestOtherRepositories"},
	{"other-repository-kept", "value -1", "./policy", "TestKeptDirectory"},
	{"other-repository-downward", "false", "./cmd/handrail", "TestScripts/serve_repositories_refused"},
	{"other-repository-of-the-requester", "value actor.Lookup != policy.Found && none && renamed", "./cmd/handrail", "TestScripts/serve_repositories_refused"},
	{"other-repository-later", "value nil", "./cmd/handrail", "TestScripts/serve_repositories_refused"},
	{"other-repository-hides", "value gitops.BaseWant{Commit: o.Commit, Rules: e.cfg.Guests.hide(gitops.BaseRules{Key: hidden.Key})}", "./cmd/handrail", "TestScripts/serve_repositories$"},
	{"other-repository-ref", "value repo.Resolve(ctx, r.Ref())", "./agent/work", "TestOtherAt"},
	{"other-repository-bound", "drop", "./agent/work", "TestOthersAreBound"},
	{"other-repository-read-only", `value append(a, mount[:2]+"bind", other(at, i), "/workspace/"+o.Path())`, "./agent/workspace/bwrap", "TestConformance/overlay/others"},
	{"other-repository-read-only-in-docker", `value append(ms, bind(others[i], "/workspace/"+o.Path(), false))`, "./agent/workspace/docker", "TestConformance/overlay/others"},
	{"other-repository-by-a-link", "true", "./agent/workspace/local", "TestConformance/others"},
	{"other-repository-copied", "value root.Chmod(name, info.Mode().Perm())", "./agent/workspace/local", "TestConformance/others"},
	{"other-repository-apart", "value into, err", "./agent/workspace/local", "TestConformance/others"},
	{"neighbor-of-the-operator", "false", "./policy", "TestWritableRepositories"},
	{"neighbor-below", "value !slices.ContainsFunc(p.open, func(dir string) bool { return strings.HasPrefix(below, dir) })", "./policy", "TestKeptDirectory"},
	{"neighbor-of-the-server", "false", "./cmd/handrail", "TestScripts/serve_two_repositories_refused"},
	{"neighbor-as-public", "false", "./cmd/handrail", "TestScripts/serve_two_repositories_refused"},
	{"neighbor-goes-on-there", "false", "./cmd/handrail", "TestScripts/serve_two_repositories_write"},
	{"neighbor-of-the-requester", "value (policy.MayPush(actor) || true) && !renamed", "./cmd/handrail", "TestScripts/serve_two_repositories_refused"},
	{"neighbor-of-the-changed", "true", "./agent/work", "TestNeighborIsMadeAnew"},
	{"part-is-held", "value map[bool]error{saves == nil: nil}[true]", "./agent/work", "TestPartIsHeld"},
	{"neighbor-of-a-mode", "false", "./agent/work", "TestNeighbor$"},
	{"part-to-the-changed", "false", "./bot", "TestPartGoesToItsRepository"},
	{"part-served", "false", "./bot", "TestPartGoesToItsRepository"},
	{"part-as-public", "false", "./bot", "TestPartGoesToItsRepository"},
	{"part-of-the-authors", "false", "./bot", "TestPartGoesToItsRepository"},
	{"part-shown-to-its-readers", "value w.cfg.Clone != nil", "./bot", "TestPartShown"},
	{"thread-names", "value false", "./policy/untrusted", "TestPostedThreads"},
	{"outside-stays", "false", "./cmd/handrail", "TestScripts/run_paths"},
	{"closed-branch", "false", "./gitops", "TestPushSafe"},
	{"fallback-branch", "false", "./gitops", "TestPushSafe"},
	{"branch-in-the-way", "false", "./gitops", "TestBranchInTheWay"},
	{"flat-branch", "false", "./gitops", "TestBranchInTheWay"},
	{"hangup-parks", "false", "./cmd/handrail", "TestScripts/run_hangup"},
	{"dropped-by-a-rewrite", "drop", "./gitops", "TestPushSafeAfterARewrite"},
	{"restored-branch", "false", "./cmd/handrail", "TestPullBranchDeletedDuringWork"},
	{"hook-words", `value ""`, "./cmd/handrail", "TestProtectedBranch"},
	{"patch-in-the-thread", "skip", "./cmd/handrail", "TestWorkflowFilesAreAskedFor"},
	{"target-gone", "value branch + repo.DefaultBranch[:0], err", "./cmd/handrail", "TestBaseBranchIsGone"},
	{"suspended-process", "true", "./bot/store/sqlite", "TestHeldByAnotherProcess"},
	{"silent-connection", "value conn, error(nil)", "./cmd/handrail", "TestSilentGitHub"},
	{"reader-of-a-pipe-ends", "true", "./cmd/handrail", "TestScripts/run_pipe"},
	{"near-with-its-words", "false", "./bot/command", "TestNear"},
	{"branch-in-the-way-here", "false", "./gitops", "TestBranchInTheWayInAClone"},
	{"one-name", "false", "./agent/tools/builtin", "TestNamesInBothCompositions"},
	{"model-outage-waits", "false", "./cmd/handrail", "TestScripts/serve_model_down"},
	{"listed-as-new", "drop", "./cmd/handrail", "TestScripts/serve_token_missed"},
	{"setup-by-code", "false", "./cmd/setup", "TestWhoMayOpen"},
	{"setup-state", "false", "./cmd/setup", "TestWhoMayOpen"},
	{"setup-overwrites-nothing", "value os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)", "./cmd/setup", "TestNothingIsOverwritten"},
	{"polled-from-now-on", "false", "./bot/sweep", "TestBothWays"},
	{"polls-wait-as-asked", "drop", "./bot/sweep", "TestPause"},
	{"no-secret-no-webhook", "true", "./cmd/handrail", "TestScripts/serve_poll$"},
	{"heard-at-once", "drop", "./cmd/handrail", "TestScripts/serve_heard"},
	{"answered-at-once", "true", "./cmd/handrail", "TestScripts/serve_heard"},
	{"seen-by-right", "false", "./cmd/handrail", "TestScripts/serve_seen$"},
	{"seen-at-once", "true", "./cmd/handrail", "TestScripts/serve_seen$"},
	{"github-away-is-told", "false", "./cmd/handrail", "TestScripts/serve_seen$"},
	{"notice-becomes-answer", "drop", "./bot", "TestNotice$"},
	{"notice-becomes-progress", "drop", "./bot", "TestNotice$"},
	{"notice-is-settled", "false", "./bot", "TestNotice$"},
	{"no-notice-beside-the-answer", "false", "./bot", "TestNoNoticeBesideTheAnswer"},
	{"check-of-the-commit-read", "false", "./bot/live", "TestCheckOfTheCommitRead"},
	{"own-text-is-known", "false", "./cmd/handrail", "TestLostRewording"},
	{"no-pages-in-the-log", "value a", "./cmd/telemetry", "TestPagesInTheLog"},
	{"nothing-waits-for-labels", "value false", "./cmd/handrail", "TestScripts/serve_labels_late"},
	{"left-writes-are-made", "value nil", "./cmd/handrail", "TestScripts/serve_check_late"},
	{"labels-are-tried-again", "value nil", "./cmd/handrail", "TestScripts/serve_labels_late"},
	{"status-says-waiting", "false", "./cmd/handrail", "TestScripts/serve_model_down"},
	{"not-ready-at-once", "drop", "./cmd/handrail", "TestMet"},
	{"asked-in-the-line", "true", "./cmd/handrail", "TestScripts/serve_line_question"},
	{"answer-where-asked", "false", "./bot", "TestAsides"},
	{"own-edits-cost-nothing", "value src, true, nil", "./bot", "TestOwnEdits"},
	{"unsigned-stays-away", "false", "./cmd/config", "TestGitHubThatDoesNotSign"},
	{"unsigned-is-told", "value commit, nil", "./cmd/config", "TestGitHubThatDoesNotSign"},
	{"progress-anew", "false", "./cmd/handrail", "TestScripts/serve_touched"},
	{"touched-is-told", "drop", "./cmd/handrail", "TestScripts/serve_touched"},
	{"true-bot-address", "drop", "./cmd/handrail", "TestScripts/serve_commits"},
	{"co-author-is-the-requester", "without 2", "./cmd/config", "TestWhoIsCredited"},
	{"no-forged-credit", "drop", "./gitops", "TestNoForgedTrailer"},
	{"signing-stays-on", "false", "./cmd/handrail", "TestScripts/serve_commits_ssh"},
	{"signed-is-the-same", "false", "./gitops", "TestSignerOfAnotherCommit"},
	{"signed-once", "false", "./cmd/config", "TestCommitOfGitHubIsMadeOnce"},
	{"commit-of-the-id", "true", "./cmd/config", "TestCommitOfGitHubIsMadeOnce"},
	{"build-leftovers", "false", "./cmd/handrail", "TestScripts/serve_leftovers"},
	{"written-stays of build-leftovers", "without 3", "./cmd/handrail", "TestScripts/serve_leftovers"},
	{"told-to-write", "without 2", "./cmd/handrail", "TestScripts/run_ignored_file"},
	{"tracked-is-carried", "value map[string]bool{}", "./cmd/handrail", "TestScripts/run_ignored_file"},
	{"moved-is-carried", "false", "./agent/workspace/local", "TestConformance"},
	{"tried-for-an-earlier-request", "false", "./agent", "TestWithdrawnIsOfItsRequest"},
	{"wrapper-proves-nothing", "true", "./agent/testrun", "TestOutputs"},
	{"gone-is-named", "false", "./agent", "TestGoneIsNamed"},
	{"git-asks-again", "true", "./gitops", "TestOneBadAnswerOfARemote"},
	{"work-tree-is-left", "false", "./agent/workspace/local", "TestConformance"},
	{"stray-in-the-files", "false", "./agent/workspace/host", "TestStrayRepositories"},
	{"stash-of-untracked", "false", "./agent/workspace/host", "TestStrayRepositories"},
	{"replaced-is-no-stray", "drop", "./agent/workspace/host", "TestStrayRepositories"},
	{"stray-is-brought", "false", "./cmd/handrail", "TestScripts/run_other_branch"},
	{"stray-is-no-end", "false", "./cmd/handrail", "TestScripts/run_other_branch"},
	{"attributes-count", "true", "./gitops", "TestAttributesOfACommit"},
	{"autocrlf-counts", "false", "./gitops", "TestAsGit"},
	{"ident-counts", "false", "./gitops", "TestAsGit"},
	{"own-ignores-count", "value ignore.Rules(nil)", "./cmd/handrail", "TestScripts/run_own_settings"},
	{"filters-are-told", "false", "./cmd/handrail", "TestScripts/run_own_settings"},
	{"filters-file-by-file", "skip", "./cmd/handrail", "TestScripts/run_apply_filters"},
	{"unfiltered-is-taken-back", "false", "./cmd/handrail", "TestScripts/run_own_settings"},
	{"case-of-attributes", "false", "./cmd/handrail", "TestScripts/run_caseless"},
	{"case-of-ignores", "false", "./cmd/handrail", "TestScripts/run_caseless"},
	{"alike-is-told", "false", "./cmd/handrail", "TestScripts/run_caseless"},
	{"owners-index-counts", "true", "./cmd/handrail", "TestScripts/run_strange_clones"},
	{"base-outlives-housekeeping", "value error(nil)", "./cmd/handrail", "TestScripts/run_gc"},
	{"lfs-is-told", "false", "./gitops", "TestLFS"},
	{"plain-stays-home", "false", "./gitops", "TestEncryptedFiles"},
	{"rewrite-wins", "false", "./gitops", "TestPushSafeAfterARewrite"},
	{"rewrite-is-told", "false", "./cmd/handrail", "TestScripts/serve_branch_rewritten"},
	{"pull-of-the-work", "false", "./cmd/handrail", "TestScripts/serve_branch_rewritten"},
	{"adopted-branch", "true", "./cmd/handrail", "TestScripts/run_branch_moves"},
	{"branch-of-work-stays", "without 4", "./cmd/handrail", "TestScripts/run_branch_moves"},
	{"killed-run-is-swept", "false", "./cmd/handrail", "TestScripts/run_killed"},
	{"half-removed-is-swept", "false", "./cmd/local", "TestHalfRemovedTempDir"},
	{"empty-groups-go", "false", "./agent/workspace/bwrap", "TestSweep"},
	{"alternates-once", "true", "./gitops", "TestAlternates"},
	{"lists-while-writing", "true", "./gitops/objects", "TestViewWhileObjectsAreWritten"},
	{"packs-of-others", "false", "./gitops/objects", "TestViewIsOpenedOnce"},
	{"own-writes of packs-of-others", "true", "./gitops/objects", "TestViewIsOpenedOnce"},
	{"kept-files", "false", "./gitops", "TestUndoKeepsFiles"},
	{"second-parent", "false", "./gitops", "TestTakeInIsAsGitMerges"},
	{"merge-stays-a-merge", "false", "./gitops", "TestPushOfAMerge"},
	{"merge-is-not-split", "false", "./gitops", "TestPushOfAMerge"},
	{"merge-not-taken-back", "false", "./gitops", "TestTakeInTwice"},
	{"base-from-then-on", "value w.Base", "./agent/session", "TestBaseThatWasTakenIn"},
	{"base-needs-no-yes", "true", "./cmd/handrail", "TestScripts/serve_rebase"},
	{"refused-as-on-the-base", "drop", "./cmd/handrail", "TestScripts/serve_rebase_asks"},
	{"diff-as-it-is", "drop", "./bot/render", "TestDiffPartsAreWhatGitTakes"},
	{"conflicts-stay-home", "false", "./cmd/handrail", "TestScripts/serve_rebase_conflict"},
	{"kept-checkpoints", "drop", "./cmd/handrail", "TestScripts/serve_keep"},
	{"done-stays-done", "false", "./cmd/handrail", "TestScripts/serve_done_stays_done"},
	{"outage-waits", "without 2", "./cmd/handrail", "TestRemoteIsDownForAWhile"},
	{"joined-packs", "value p.idx.Add(e.Hash, e.Offset+shift*0, e.CRC32)", "./gitops", "TestTidy"},
	{"own-words-inert", "false", "./cmd/handrail", "TestOwnWords"},
	{"must-limit", "false", "./cmd/handrail", "TestMustLimit"},
	{"mention-names", "without 1", "./policy/untrusted", "TestMentionNames"},
	{"mentions-behind-the-gate", "call mentions \"\"", "./policy/untrusted", "TestPostMentions"},
	{"end-by-flush", "false", "./cmd/handrail", "TestScripts/serve_told$"},
	{"quiet-end", "true", "./cmd/handrail", "TestScripts/serve_quiet"},
	{"no-progress", "false", "./cmd/handrail", "TestScripts/serve_quiet"},
	{"settled-is-said", "false", "./cmd/handrail", "TestScripts/serve_told_approvers"},
	{"keys-without-effect", "false", "./cmd/handrail", "TestEveryKeyHasAnEffect"},
	{"keys-of-the-server", "false", "./cmd/doctor", "TestFaultsOfARepository"},
	{"plan-needs-write", `value policy.Allow, ""`, "./cmd/handrail", "TestScripts/serve_plan_not_allowed"},
	{"plan-mode-allowed", "false", "./cmd/handrail", "TestScripts/serve_plan_not_allowed"},
	{"plan-replaced", "drop", "./cmd/handrail", "TestScripts/serve_plan"},
	{"modes-bind", "false", "./policy", "TestChoose|TestChoiceIsOnBothLists"},
	{"models-bind", "false", "./policy", "TestChoose|TestChoiceIsOnBothLists"},
	{"turns-bind", "false", "./cmd/handrail", "TestScripts/serve_limits"},
	{"used-while-it-runs", "call publish error(nil)", "./cmd/handrail", "TestScripts/serve_budget_at_once"},
	{"push-hold", "false", "./cmd/handrail", "TestScripts/serve_push_hold"},
	{"hold-asks", "false", "./cmd/handrail", "TestScripts/serve_push_hold"},
	{"hold-workflows", "false", "./policy", "TestHeld"},
	{"hold-named", "false", "./policy", "TestHeld"},
	{"hold-manifests", "false", "./policy", "TestHeld"},
	{"hold-untrusted", "false", "./policy", "TestHeld"},
	{"hold-requester", "value asker.ID < 0", "./cmd/handrail", "TestScripts/serve_push_untrusted"},
	{"hold-tightens", "value repo.Push.Hold", "./policy", "TestStricterHold"},
	{"allowed-model-goes-on", "false", "./cmd/handrail", "TestScripts/serve_model_gone"},
	{"model-of-the-session-before", "drop", "./cmd/handrail", "TestScripts/serve_model_gone"},
	{"mode-of-the-request", "false", "./cmd/handrail", "TestScripts/serve_mode_follow"},
	{"right-of-the-mode", "false", "./cmd/handrail", "TestScripts/serve_mode_rights"},
	{"words-to-work", "false", "./bot", "TestWordsToWork"},
	{"long-commands", "drop", "./cmd/handrail", "TestLongRunningCommands"},
	{"turns-of-a-follow-up", "value 0", "./cmd/handrail", "TestScripts/serve_followup_turns"},
	{"told-before-asked", "skip", "./cmd/handrail", "TestScripts/serve_long_plan"},
	{"run-turns-bind", "false", "./cmd/handrail", "TestScripts/run_limits"},
	{"run-one-process", "false", "./cmd/local", "TestOneProcess"},
	{"run-goes-on-allowed", "false", "./cmd/handrail", "TestScripts/run_limits"},
	{"run-mode-of-a-wish", "false", "./cmd/handrail", "TestScripts/run_followup_mode"},
	{"model-allowed", "false", "./cmd/handrail", "TestScripts/serve_model"},
	{"model-of-the-next-turn", "drop", "./cmd/handrail", "TestScripts/serve_model"},
	{"forgotten", "false", "./cmd/handrail", "TestScripts/serve_clear"},
	{"own-commands-of-the-base", `call Default "", "refs/heads/other", error(nil)`, "./cmd/handrail", "TestScripts/serve_own_command"},
})

// mark is where the control is.
func (c control) mark() (name, mark string) {
	name, mark, other := strings.Cut(c.name, " of ")
	if !other {
		mark = name
	}
	return name, mark
}

// hasTest reports whether the control's test is this one of the package, or one of the
// tests that begin so; without a package, whether it is this story.
func (c control) hasTest(pkg, name string, more bool) bool {
	if pkg == "" {
		pkg, name = "main", "TestScripts/"+name
	}
	dirs := strings.Fields(c.packages)
	return slices.ContainsFunc(strings.Split(c.test, "|"), func(test string) bool {
		test = strings.TrimSuffix(test, "$")
		return (test == name || more && strings.HasPrefix(test, name)) && slices.ContainsFunc(dirs, func(dir string) bool {
			return path.Base(dir) == pkg || pkg == "main" && dir == "./cmd/handrail"
		})
	})
}

const controlMark = "//control:"

// place is a mark in the source.
type place struct {
	source
	line int // of the statement
}

// marks finds every mark of the source.
func marks(t *testing.T) map[string]place {
	t.Helper()
	found := map[string]place{}
	for _, s := range sources(t) {
		for _, g := range s.tree.Comments {
			for _, c := range g.List {
				name, ok := strings.CutPrefix(c.Text, controlMark)
				if !ok {
					continue
				}
				name, _, _ = strings.Cut(name, " ")
				at := s.fset.Position(c.Pos())
				if old, twice := found[name]; twice {
					t.Errorf("%s: the mark %s is at %s:%d, too", at, name, old.file, old.line)
				}
				found[name] = place{s, codeLine(s, g, at.Line)}
			}
		}
	}
	return found
}

// TestSafetyDocs holds the marks, the table of controls and the pages of promises together:
// every mark is in the table, every control has a mark that its change fits, and a row.
func TestSafetyDocs(t *testing.T) {
	t.Parallel()
	marked, used := marks(t), map[string]bool{}
	names := map[string]bool{}
	tests := testNames(t)
	for _, c := range controls {
		name, mark := c.mark()
		if names[name] {
			t.Errorf("control %s is there twice", name)
		}
		names[name], used[mark] = true, true
		at, ok := marked[mark]
		if !ok {
			t.Errorf("control %s: no statement is marked %s%s", name, controlMark, mark)
			continue
		}
		if _, err := mutant(at, c.change); err != nil {
			t.Errorf("%s:%d: control %s: %v", at.file, at.line, name, err)
		}
		for one := range strings.SplitSeq(c.test, "|") {
			one, _, _ = strings.Cut(one, "/")
			if re := regexp.MustCompile(one); !slices.ContainsFunc(strings.Fields(c.packages), func(dir string) bool {
				return slices.ContainsFunc(tests[path.Clean(dir)], re.MatchString)
			}) {
				t.Errorf("control %s: no test %s in %s", name, one, c.packages)
			}
		}
	}
	for name, at := range marked {
		if !used[name] {
			t.Errorf("%s:%d: the mark %s has no row in a table of controls (controls*_test.go)", at.file, at.line, name)
		}
	}
	checkPromises(t, names)
}

var (
	promiseRow = regexp.MustCompile(`^\| (.+?) \| (.*?)(?: ?<!--(.+)-->)? \|$`)
	proofName  = regexp.MustCompile("`(?:(\\w+)\\.)?(\\w+)(\\*?)`")
)

// checkPromises holds the tables of the two pages of promises to their form: a row is a
// sentence and its proof (existing tests or stories). Every control has a row: its test is
// a proof there, or [controlsOfRows] or a comment in the row names it.
func checkPromises(t *testing.T, names map[string]bool) {
	t.Helper()
	p := promises{names: names, missing: maps.Clone(names), unused: maps.Clone(controlsOfRows), tests: allTests(t)}
	for _, page := range []string{"docs/safety.md", "docs/reliability.md"} {
		for line := range strings.Lines(document(t, page)) {
			if strings.HasPrefix(line, "| ") && line != "| promise | proof |\n" {
				p.check(t, page, strings.TrimSpace(line))
			}
		}
	}
	for name := range p.missing {
		t.Errorf("control %s has no promise: name its test as a proof in a row of docs/safety.md or docs/reliability.md, or the control in a comment of a row: <!-- %[1]s -->", name)
	}
	for proof := range p.unused {
		t.Errorf("controlsOfRows names the proof %s, which no row has", proof)
	}
}

// promises has the controls and proofs that the rows read so far lack.
type promises struct {
	names   map[string]bool   // all controls
	missing map[string]bool   // controls without a row
	unused  map[string]string // of controlsOfRows
	tests   map[string][]string
}

// check takes the controls of a row out of p.missing.
func (p promises) check(t *testing.T, page, line string) {
	t.Helper()
	row := promiseRow.FindStringSubmatch(line)
	if row == nil {
		t.Errorf("%s: a row is a promise, its proof and a comment: %s", page, line)
		return
	}
	if !strings.HasSuffix(row[1], ".") || len(strings.Fields(row[1])) > 30 {
		t.Errorf("%s: a promise is a sentence of at most 30 words: %s", page, row[1])
	}
	if rest := proofName.ReplaceAllString(row[2], ""); strings.TrimSpace(rest) != "" || row[2] == rest {
		t.Errorf("%s: a proof is names of tests and stories: %s", page, line)
	}
	named := row[3]
	for _, m := range proofName.FindAllStringSubmatch(row[2], -1) {
		if !isProof(p.tests, m[1], m[2], m[3] != "") {
			t.Errorf("%s names %s, which does not exist", page, m[0])
		}
		for _, c := range controls {
			if c.hasTest(m[1], m[2], m[3] != "") {
				name, _ := c.mark()
				delete(p.missing, name)
			}
		}
		proof := strings.Trim(m[0], "`")
		named += " " + controlsOfRows[proof]
		delete(p.unused, proof)
	}
	for pattern := range strings.FieldsFuncSeq(named, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		hit := false
		for name := range p.names {
			if ok, _ := path.Match(pattern, name); ok {
				hit = true
				delete(p.missing, name)
			}
		}
		if !hit {
			t.Errorf("%s: %s names the control %s, which does not exist", page, row[2], pattern)
		}
	}
}

// isProof reports whether a package of this name has this test, or more tests that begin
// so; without a package, whether there is such a story.
func isProof(tests map[string][]string, pkg, name string, more bool) bool {
	if pkg == "" {
		_, err := os.Stat("../../testdata/script/" + name + ".txtar")
		return err == nil
	}
	return slices.ContainsFunc(tests[pkg], func(test string) bool {
		return test == name || more && strings.HasPrefix(test, name)
	})
}
