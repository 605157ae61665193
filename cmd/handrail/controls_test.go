package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// control is a statement that keeps a promise of docs/safety.md. A comment
// "//control:NAME" on its line, or on the line above, marks it in the source.
// The mark moves with the statement.
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

var controls = []control{
	{"approval-digest", "without 2", "./agent", "TestApprovalOfSomethingElse"},
	{"denial-wins", "element 1", "./agent ./policy", "TestApprovalOverruled|TestApprovalWords"},
	{"gate-on-the-tree", "without 3", "./agent", "TestShellRouteToASensitiveFile"},
	{"secret-hold", "false", "./agent", "TestSecretHoldsTheCommit"},
	{"secret-hidden-in-request", "call Hide $1", "./agent", "TestSecretHoldsTheCommit"},
	{"redact-events", "drop", "./agent", "TestResultsAreCleaned"},
	{"clean-results", "ignore 1", "./agent", "TestResultsAreCleaned"},
	{"redact-arguments", "ignore 1", "./agent", "TestArgumentsLoseKnownSecrets"},
	{"fence-results", "call fenced told(c)", "./agent", "TestForgedResultInTextMode"},
	{"fence-nonce", "drop", "./agent", "TestForgedResultInTextMode"},
	{"github-gate", "drop", "./bot/ghapp", "TestEveryWritePassesTheGate"},
	{"github-gate-inline", "drop", "./bot/ghapp", "TestEveryWritePassesTheGate"},
	{"redact-loose", "drop", "./policy/secret", "TestRedactKnownValues"},
	{"random-values", "false", "./policy/secret", "TestFromEnvironment"},
	{"signed-ends", "false", "./bot/store/anchor", "TestForgedSignatures"},
	{"signed-hash", "without 3", "./bot/store/anchor", "TestForgedSignatures"},
	{"sealed-contents", "value data, error(nil)", "./cmd/handrail", "TestContentsAreSealed"},
	{"least-rights", "drop", "./bot/ghapp", "TestLeastRights"},
	{"what-a-reader-sees", "value visible.Seen{Text: s}, true", "./policy/untrusted", "TestCleanTextHides"},
	{"behind-the-page", "false", "./policy/untrusted", "TestCleanTextHides"},
	{"fence-ends", `value ok || rest == ""`, "./policy/untrusted", "TestPostedLists"},
	{"tabs-in-lists", "false", "./policy/untrusted", "TestPostedLists"},
	{"address-begins-line", "false", "./policy/untrusted/visible", "TestWordsAsOnGitHub"},
	{"address-in-brackets", "value false", "./policy/untrusted/visible", "TestWordsAsOnGitHub"},
	{"links-of-the-raw-text", "skip", "./bot", "TestLinksBehindWords"},
	{"marks-broken", "drop", "./agent", "TestMarksOfChatTemplates"},
	{"marks-mended", "drop", "./agent", "TestMarksOfChatTemplates"},
	{"post-gate", "value g.clean(s)", "./bot/ghapp", "TestEveryWriteIsInert"},
	{"post-title", "value g.clean(s)", "./bot/ghapp", "TestEveryWriteIsInert"},
	{"post-commit", "drop", "./agent/work", "TestCommitMessageIsInert"},
	{"post-backticks", "call replace p.keep(n)", "./policy/untrusted", "TestPostedKinds"},
	{"post-html", "call replace p.keep(1)", "./policy/untrusted", "TestPostedKinds"},
	{"post-doubtful-links", "call replace p.keep(1)", "./policy/untrusted", "TestPostedKinds"},
	{"post-references", "drop", "./policy/untrusted", "TestReferencesSayTheirAddress"},
	{"own-host", "value err != nil && home == nil", "./policy/untrusted", "TestReferencesOnAnEnterpriseServer"},
	{"pages-of-the-host", "drop", "./bot/ghapp", "TestSite"},
	{"post-drawings", "false", "./policy/untrusted", "TestPostedAsPlain"},
	{"post-images", "without 1", "./policy/untrusted", "TestPostedKinds"},
	{"post-links of post-images", "without 2", "./policy/untrusted", "TestPostedKinds"},
	{"post-mentions", "call show p.keep(1)", "./policy/untrusted", "TestPostedKinds"},
	{"post-closing", "call WriteString b.WriteString(text)", "./policy/untrusted", "TestPostedKinds"},
	{"post-closing-in-code", "drop", "./policy/untrusted", "TestCleanOutputClosingKeywords"},
	{"post-message", "drop", "./policy/untrusted", "TestTitlesAndMessages"},
	{"runner-commands", "drop", "./policy/untrusted", "TestNoRunnerCommands"},
	{"runner-lines-of-doors", "drop", "./cmd/handrail", "TestScripts/run_in_actions"},
	{"log-redaction", "call attr $1", "./cmd/handrail", "TestLogsAreRedacted"},
	{"scan-each-file", "skip", "./cmd/handrail", "TestScripts/run_many_files"},
	{"elided-text", "without 2", "./policy/shell", "TestLongDocuments"},
	{"copied-program", "false", "./policy/shell", "TestCommandCorpus"},
	{"remote-output", "false", "./policy/shell", "TestCommandCorpus"},
	{"suspected-texts", "skip", "./policy/shell", "TestCommandCorpus"},
	{"followed-links", "false", "./policy/shell", "TestCommandCorpus"},
	{"outside-code", "drop", "./policy/shell", "TestCommandCorpus"},
	{"evaluated-text", "drop", "./policy/shell", "TestCommandCorpus"},
	{"evaluated-remote", "drop", "./policy/shell", "TestCommandCorpus"},
	{"remote-database", "drop", "./policy/shell", "TestCommandCorpus"},
	{"own-branch", `value to != ""`, "./policy/shell", "TestOwnBranch"},
	{"said-texts", "skip", "./policy/shell", "TestCommandCorpus"},
	{"evaluated-names", "false", "./policy/shell", "TestCommandCorpus"},
	{"moved-descriptors", "false", "./policy/shell", "TestCommandCorpus"},
	{"destroying-verbs", "drop", "./policy/shell", "TestCommandCorpus"},
	{"named-programs", "drop", "./policy/shell", "TestCommandCorpus"},
	{"written-project-files", "drop", "./policy/shell", "TestCommandCorpus"},
	{"leaked-credential", "false", "./policy/shell", "TestCommandCorpus"},
	{"shaped-variables", "drop", "./policy/shell", "TestCommandCorpus"},
	{"running-options", "drop", "./policy/shell", "TestCommandCorpus"},
	{"obeyed-files", "value Workspace", "./policy/shell", "TestCommandCorpus"},
	{"project-files", "drop", "./policy/shell", "TestCommandCorpus"},
	{"destroyed-data", "drop", "./policy/shell", "TestCommandCorpus"},
	{"unknown-program", "false", "./policy", "TestUnknownPrograms"},
	{"unknown-program-wall", "without 1", "./agent/work", "TestWalled"},
	{"left-locks", "false", "./gitops", "TestSetRef"},
	{"scan-binary", "call Contains len(data) < 0", "./agent/work", "TestScanOfACommit"},
	{"failed-lookup", "value a.Lookup == NotAsked", "./policy ./bot", "Test.*Ask|Test.*Approve|TestPermissionTable"},
	{"account-number", "false", "./bot", "TestPermissionTable"},
	{"least-permission", `value "read"`, "./bot", "TestPermissionTable"},
	{"team-lookup", "value in || err == nil, nil", "./bot", "TestApproverRules"},
	{"every-path-owned", "without 2", "./bot", "TestApproverRules"},
	{"checked-again", "false", "./bot", "TestApprovalIsCheckedAgain"},
	{"denial-after-approval", "drop", "./bot", "TestDenialAfterApproval"},
	{"bound-facts", "drop", "./agent", "TestApprovalGoesStale"},
	{"second-look", "false", "./agent", "TestApprovalGoesStale"},
	{"unapproved-step", "drop", "./agent", "TestUnforeseenStepInBetween"},
	{"recorded-kind", "value oldKinds[c.Name]", "./agent ./agent/session", "TestKindIsRecorded|TestUnchecked"},
	{"last-moment", "false", "./agent", "TestDenialRightBeforeTheStart"},
	{"panic-is-an-error", "false", "./agent", "TestToolThatPanics|TestRunThatPanics"},
	{"dropped-call", "value false", "./agent/llm/ollama ./agent/llm/openai", "TestDroppedCall"},
	{"text-after-two", "false", "./agent", "TestTextCallsAfterTwo"},
	{"stopped-circles", "false", "./agent ./agent/speech", "TestCircles|TestAnswerInCircles"},
	{"another-temperature", "value true", "./agent", "TestAnswerInCircles"},
	{"cut-is-told", "false", "./agent", "TestAnswerAtItsLimit"},
	{"context-cut", "false", "./agent", "TestContextCutBehindOurBack"},
	{"measured-patience", "value true", "./agent/llm/wire", "TestPatienceByThePrompt"},
	{"patient-run", "value false", "./agent", "TestRunWaitsForTheServer"},
	{"free-the-hung", "false", "./agent/llm/ollama", "TestHungRunnerIsFreed"},
	{"fixed-prompt", "false", "./agent", "TestPrefixIsNeverTouched"},
	{"recorded-cuts", "value nil", "./agent", "TestPrefixBeginsAnewForAReason"},
	{"bounded-results", "true", "./agent", "TestResultsFitTheRoom"},
	{"forgotten-calls", "drop", "./agent", "TestReadingAgainAfterACompaction"},
	{"one-summary", "false", "./agent", "TestSummariesReplaceEachOther"},
	{"earlier-summary", "value compact.Fallback(messages, limit/4)", "./cmd/handrail", "TestScripts/run_compaction"},
	{"no-rubbish-summed-up", "without 2", "./agent", "TestRubbishIsNotSummarized"},
	{"only-words-ask", "value over", "./agent", "TestOnlyWordsAsk"},
	{"garbled-before-dead", "false", "./agent/llm/ollama", "TestGarbledIsNotDead"},
	{"bounded-answer", "drop", "./agent/llm/ollama", "TestAnswersAreBounded"},
	{"host-panic", "false", "./agent/workspace/host", "TestHostThatPanics"},
	{"fault-is-an-end", "false", "./bot", "TestRunThatPanics"},
	{"left-out-named", "false", "./agent", "TestLeftOutIsNamedOnce"},
	{"left-out", "false", "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"closed-directory", "false", "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"keep-what-is-left-out", `call Find o.Find(tree, path+".gone")`, "./cmd/handrail", "TestWhatCannotBeSaved"},
	{"synced-objects", "call Sync error(nil)", "./cmd/handrail", "TestPowerCut"},
	{"synced-ref", "value nil", "./cmd/handrail", "TestPowerCut"},
	{"torn-object", "true", "./gitops", "TestTornObject"},
	{"lost-commit-fetched", "false", "./cmd/handrail", "TestDamagedMirrorIsMended"},
	{"title-rune", "value strings.ToUpper(t[:1]) + t[min(1, size):]", "./bot/render", "TestTitleOfAnyLetters"},
	{"cut-off-call", "false", "./agent", "TestCrashAtEveryAppend"},
	{"ever-edited", "false", "./bot", "TestForgedApprovals"},
	{"edited-comment", "false", "./bot", "TestForgedApprovals"},
	{"orders-digest of approval-digest", "without 2", "./agent", "TestApprovalInterleavings"},
	{"orders-bound of bound-facts", "drop", "./agent", "TestApprovalInterleavings"},
	{"orders-second-look of second-look", "false", "./agent", "TestApprovalInterleavings"},
	{"orders-denial of denial-wins", "element 1", "./agent", "TestApprovalInterleavings"},
	{"orders-no-return", "also Denied: {Approved}", "./policy ./agent", "TestApprovalWords|TestApprovalInterleavings"},
	{"request-was-shown", "false", "./bot", "TestForgedApprovals"},
	{"said-by", "false", "./bot", "TestForgedApprovals"},
	{"said-what", "false", "./bot", "TestForgedApprovals"},
	{"ids-are-no-words", "without 2", "./bot/command", "TestPhrases"},
	{"taken-for-it", "false", "./bot", "TestForgedApprovals"},
	{"older-than-the-answer", "without 1", "./bot", "TestAnswersWithoutID"},
	{"only-one-open", "without 1", "./bot", "TestAnswersWithoutID"},
	{"critical-is-named of only-one-open", "without 2", "./bot", "TestAnswersWithoutID"},
	{"all-but-critical", "without 2", "./bot", "TestAnswersWithoutID"},
	{"near-miss", "false", "./bot", "TestAsides"},
	{"person-asked", "without 2", "./bot", "TestAsides"},
	{"own-words-no-answer", "without 1", "./bot/command", "TestAnswered"},
	{"review-of-nothing", "false", "./bot", "TestForgedApprovals"},
	{"edit-at-the-door", "false", "./agent", "TestEditIsLookedAtAgainAtTheDoor"},
	{"random-id", `call ToLower fmt.Sprintf("%08d", len(g.Requests))`, "./agent", "TestApprovalIDs"},
	{"begun-once", "value a.State == Approved || a.State == Begun", "./policy ./agent", "TestApprovalWords|TestFailedSave"},
	{"computed-blob", `value mode != "x"`, "./agent/session", "TestApprovedUntilPublished"},
	{"rename-deletes", "value []policy.Effect{{Path: f.Path, Is: f.Blob}}", "./agent/session", "TestEffectsOfARename"},
	{"consumed-when-published", "value p.Commit, nil, w.Approved", "./agent/session", "TestApprovedUntilPublished"},
	{"approved-until-changed", "value len(happened) < 0", "./agent/session", "TestApprovedUntilPublished"},
	{"not-merged-by-lines", "false", "./gitops", "TestPushSafeGuards"},
	{"dropped-stays-off", "false", "./gitops", "TestPushSafeGuards"},
	{"pushed-before", "call Descends false, error(nil)", "./gitops", "TestPushSafeGuards"},
	{"rewound-branch", "drop", "./gitops", "TestPushSafeGuards"},
	{"programs-computed of computed-blob", `value mode != "x"`, "./cmd/handrail", "TestApprovalAgainstPrograms"},
	{"file-over-directory", "without 1", "./gitops", "TestDiffOfALinkOverADirectory"},
	{"sensitive-link", "value PathVerdict{}", "./policy", "TestSensitiveLinks"},
	{"review-commit", "false", "./bot/approval", "TestReviewOfAnotherCommit"},
	{"review-head", "false", "./bot/approval", "TestJudge"},
	{"review-target", "false", "./bot/approval", "TestJudge"},
	{"review-owner", "without 3", "./bot/approval", "TestForgedReview"},
	{"review-rejection", "false", "./bot/approval", "TestJudge"},
	{"review-permission", "true", "./bot/approval", "TestJudge"},
	{"review-merger", "false", "./bot/approval", "TestJudge"},
	{"review-checked-again", `call doubt "", error(nil)`, "./bot/approval", "TestReviewIsCheckedAgain"},
	{"review-dismissed", "false", "./bot/approval", "TestReviewIsCheckedAgain"},
	{"review-runs-on-push", "without 4", "./agent", "TestWhatIsReviewed"},
	{"review-runs-on-push-tool", "without 1", "./agent", "TestWhatIsReviewed"},
	{"review-secret of review-runs-on-push", "without 2 3", "./agent", "TestWhatIsReviewed"},
	{"review-words", "call Fence untrusted.EscapeVisible(g.Request.Answer.Reason)", "./agent", "TestRejectedInReview"},
	{"review-branch-of-others", "false", "./bot/ghapp", "TestBranchThatMovedStays"},
	{"bot-orders-edited", `value "", nil`, "./cmd/handrail", "TestApprovalInterleavings"},
	{"bot-orders-right of checked-again", "false", "./cmd/handrail", "TestApprovalInterleavings"},
	{"hidden-text", "ignore 1", "./bot", "TestUntrustedWords"},
	{"command-as-shown", "value clean(r.cmd.Text), true", "./bot", "TestWordsOfTheWholeComment"},
	{"words-above", "drop", "./bot", "TestWordsAboveTheCommand"},
	{"hidden-comment", "call Clean $2", "./bot/conversation", "TestIssue"},
	{"own-words-left-out", "without 1", "./bot/conversation", "TestIssue"},
	{"room-of-a-thread", "drop", "./bot/conversation", "TestRoom"},
	{"thread-read-later", "false", "./bot/conversation", "TestRefused"},
	{"answer-in-place", "false", "./cmd/handrail", "TestScripts/serve_line_comment"},
	{"answer-not-lost", "true", "./cmd/handrail", "TestScripts/serve_line_gone"},
	{"names-on-their-line", "call ReplaceAll $1", "./bot/render", "TestNamesStayOnTheirLine"},
	{"item-no-block", "drop", "./bot/render", "TestWordsMakeNoBlocks"},
	{"file-in-path", "false", "./agent/tools/builtin", "TestFileInAPath"},
	{"path-length", "false", "./agent/tools/builtin", "TestEndlessPaths"},
	{"cwd-outside", "false", "./agent/tools/builtin", "TestCommandsAsGiven"},
	{"policy-path-length", "without 3", "./policy", "TestEndlessNames"},
	{"terminal-bar", "call ReplaceAll $1", "./cmd/handrail", "TestTerminalLinesAreItsOwn"},
	{"code-fence", "call Fence $3", "./agent", "TestProvided"},
	{"picture-dialed", "without 3", "./bot/ghapp", "TestOnlyPublicAddresses|TestRebinding"},
	{"picture-redirect", "false", "./bot/ghapp", "TestRedirects"},
	{"github-tools-clean", "ignore 1", "./agent/tools/github", "TestStrangersWords"},
	{"github-tools-fence", "call Fence $3", "./agent/tools/github", "TestStrangersWords"},
	{"reads-own", "false", "./bot/ghapp", "TestReadsOwnRepository"},
	{"queries-own", "false", "./bot/ghapp", "TestReadsOwnRepository"},
	{"log-elsewhere", "false", "./bot/ghapp", "TestLogsElsewhere"},
	{"picture-host", "false", "./bot/ghapp", "TestPictures"},
	{"git-paths", "false", "./gitops", "TestCheckpointLeavesGitDirectoriesOut"},
	{"git-paths-built of git-paths", "false", "./cmd/handrail", "TestGitAttacks$/^local$"},
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
	{"fork-waits", "true", "./bot/approval", "TestForkWaits"},
	{"fork-base", "drop", "./bot/approval", "TestForkStartsFromTheCommit"},
	{"fork-moved", "false", "./bot/approval", "TestForkLookedAtAgain"},
	{"fork-right-again", "false", "./bot/approval", "TestForkLookedAtAgain"},
	{"fork-said", `value "", error(nil)`, "./bot/approval", "TestForkLookedAtAgain"},
	{"fork-tells-who-may", "false", "./bot/approval", "TestForkTellsWhoMay"},
	{"fork-ambiguous", "false", "./bot/approval", "TestForkAnswer"},
	{"fork-commit", "false", "./bot/approval", "TestForkAnswer"},
	{"fork-branch", "value p == nil", "./bot/approval", "TestOwnBranch"},
	{"earlier-request", "false", "./cmd/handrail", "TestScripts/serve_plan_dropped"},
	{"told-at-once", "value false", "./bot", "TestToldAtOnce"},
	{"renamed-repository", "drop", "./bot", "TestRenamedRepository"},
	{"archived-ends", "false", "./bot", "TestArchivedRepository"},
	{"transferred-ends", "drop", "./bot", "TestTransferredIssue"},
	{"hidden-diff", "value false", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"hidden-hunk", "value false, nil", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"hidden-thread", "false", "./cmd/handrail", "TestScripts/serve_hidden_diff"},
	{"fork-facts", "false", "./cmd/handrail", "TestScripts/serve_fork_rules"},
	{"fork-ignore", "false", "./cmd/handrail", "TestScripts/serve_fork_rules"},
	{"closed-branch", "false", "./gitops", "TestPushSafe"},
	{"fallback-branch", "false", "./gitops", "TestPushSafe"},
	{"dropped-by-a-rewrite", "drop", "./gitops", "TestPushSafeAfterARewrite"},
	{"restored-branch", "false", "./cmd/handrail", "TestPullBranchDeletedDuringWork"},
	{"hook-words", `value ""`, "./cmd/handrail", "TestProtectedBranch"},
	{"patch-in-the-thread", "skip", "./cmd/handrail", "TestWorkflowFilesAreAskedFor"},
	{"answer-parts", "value parts[i]", "./bot/render", "TestLongAnswer"},
	{"split-fence", "value p", "./bot/render/split", "TestPartsReadAlone"},
	{"split-footnotes", "value line", "./bot/render/split", "TestPartsSayAll"},
	{"split-numbers", "value numbered(item, n.Start+0*i)", "./bot/render/split", "TestPartsReadAlone"},
	{"split-table-head", "drop", "./bot/render/split", "TestPartsReadAlone"},
	{"patch-unchanged", "call IsControl false", "./bot/render", "TestPatchesAreWhole"},
	{"target-gone", "value branch + repo.DefaultBranch[:0], err", "./cmd/handrail", "TestBaseBranchIsGone"},
	{"model-outage-waits", "false", "./cmd/handrail", "TestScripts/serve_model_down"},
	{"refused-key-waits", "false", "./bot/ghapp", "TestRefusedKey"},
	{"suspension-waits", "drop", "./bot/ghapp", "TestRefusedKey"},
	{"nobody-is-not-nowhere", "false", "./bot/ghapp", "TestRefusedKey"},
	{"listed-as-new", "drop", "./cmd/handrail", "TestScripts/serve_token_missed"},
	{"gone-for-certain", "value 0, nil", "./bot/ghapp", "TestRefusedKey"},
	{"heard-at-once", "drop", "./cmd/handrail", "TestScripts/serve_heard"},
	{"deadly-session", "false", "./bot", "TestDeadlySession"},
	{"progress-anew", "false", "./cmd/handrail", "TestScripts/serve_touched"},
	{"touched-is-told", "drop", "./cmd/handrail", "TestScripts/serve_touched"},
	{"true-bot-address", "drop", "./cmd/handrail", "TestScripts/serve_commits"},
	{"co-author-is-the-requester", "without 2", "./cmd/commits", "TestWhoIsCredited"},
	{"no-forged-credit", "drop", "./gitops/trailer", "TestNoForgedTrailer"},
	{"signing-stays-on", "false", "./cmd/handrail", "TestScripts/serve_commits_ssh"},
	{"signed-is-the-same", "false", "./gitops", "TestSignerOfAnotherCommit"},
	{"signed-once", "false", "./cmd/commits", "TestCommitOfGitHubIsMadeOnce"},
	{"commit-of-the-id", "true", "./cmd/commits", "TestCommitOfGitHubIsMadeOnce"},
	{"build-leftovers", "false", "./cmd/handrail", "TestScripts/serve_leftovers"},
	{"written-stays of build-leftovers", "without 3", "./cmd/handrail", "TestScripts/serve_leftovers"},
	{"own-directory", "without 2", "./agent/project", "TestFindLeftover"},
	{"kept-files", "false", "./gitops", "TestUndoKeepsFiles"},
	{"kept-checkpoints", "drop", "./cmd/handrail", "TestScripts/serve_keep"},
	{"work-is-wanted", "false", "./agent", "TestWordsAreNoWork"},
	{"prose-is-no-end", "true", "./agent", "TestReasonForNoChange"},
	{"answered-is-not-done", "false", "./agent", "TestReasonForNoChange"},
	{"own-status", `call Mark $1, []string(nil)`, "./agent/workspace/local", "TestConformance"},
	{"tests-count", "false", "./agent", "TestLastTestRunCounts"},
	{"sigpipe-is-no-failure", "value !t.Passed()", "./agent", "TestTestsThatPass"},
	{"tests-are-old", "drop", "./agent", "TestTestsThatPass"},
	{"known-tests", "false", "./agent/testrun", "TestIs"},
	{"tests-are-told", `value ""`, "./bot/render", "TestTestsAreTold"},
	{"machine-is-asked", `value ""`, "./agent/project", "TestTry"},
	{"done-stays-done", "false", "./cmd/handrail", "TestScripts/serve_done_stays_done"},
	{"outage-waits", "without 2", "./cmd/handrail", "TestRemoteIsDownForAWhile"},
	{"joined-packs", "value idx.Add(e.Hash, e.Offset, e.CRC32)", "./gitops", "TestTidy"},
	{"said-in-a-paragraph", `value true, ""`, "./bot/command", "TestWhatIsSaid"},
	{"inside-html", "false", "./bot/command", "TestWhatIsSaid"},
	{"tangled-text", "false", "./bot/command", "TestTangledTexts"},
	{"yes-alone", "false", "./bot/command", "TestWhatIsSaid"},
	{"yes-and-no", "false", "./bot/command", "TestWhatIsSaid"},
	{"own-words-inert", "false", "./cmd/handrail", "TestOwnWords"},
	{"own-marker", "value true, key", "./bot", "TestOwnWordsWithAToken"},
	{"author-speaks", "value s, true", "./bot", "TestWhoseWordsCount"},
	{"moved-text", "false", "./bot", "TestWhoseWordsCount"},
	{"other-apps", "false", "./bot", "TestWhoseWordsCount"},
	{"repositories", "false", "./bot", "TestOtherRepositories"},
	{"watched-memory", "false", "./agent/workspace/watch ./agent/workspace/bwrap", "TestProcesses|TestOrdinaryUser"},
	{"watched-threads", "false", "./agent/workspace/watch", "TestProcesses"},
	{"watched-disk", "true", "./agent/workspace/local", "TestConformance/quotas"},
	{"measured-afterwards", "drop", "./agent/workspace/watch", "TestWhatEndedIsMeasured"},
	{"closed-doors", "drop", "./agent/workspace/watch", "TestClosedDoors"},
	{"full-place", "false", "./agent/workspace/bwrap", "TestConformance/overlay/limits"},
	{"full-refuses", "value nil", "./agent/workspace/local", "TestConformance/quotas"},
	{"processors", "true", "./agent/workspace/bwrap", "TestOrdinaryUser"},
	{"scratch-size", "value 1 << 30, 1 << 30, 1 << 30", "./agent/workspace/bwrap", "TestConformance/overlay/together"},
	{"left-segments", "drop", "./agent/workspace/bwrap", "TestOrdinaryUser"},
	{"group-entered", "drop", "./agent/workspace/bwrap", "TestDelegatedGroup"},
	{"wall-filter", "value nil", "./agent/workspace/docker", "TestSystemCalls"},
	{"foreign-calls", "value allow", "./agent/workspace/docker", "TestSystemCalls"},
	{"no-namespaces", "call flagged always(unix.SYS_ACCT, unix.EPERM)", "./agent/workspace/docker", "TestSystemCalls"},
	{"no-reserved-room", "call always rule{call: unix.SYS_ACCT, errno: unix.EPERM}", "./agent/workspace/bwrap", "TestConformance/overlay/quotas"},
	{"beside-directory", "false", "./agent/workspace/beside", "TestOnlySharedDirectories"},
	{"docker-bounds", "false", "./agent/workspace/docker", "TestBounds"},
	{"must-limit", "false", "./cmd/handrail", "TestMustLimit"},
	{"mention-names", "without 1", "./policy/untrusted", "TestMentionNames"},
	{"mentions-behind-the-gate", "call mentions \"\"", "./policy/untrusted", "TestPostMentions"},
	{"mention-people", "without 3", "./bot/notice", "TestPerson"},
	{"said-once", "drop", "./cmd/handrail", "TestScripts/serve_told$"},
	{"end-by-flush", "false", "./cmd/handrail", "TestScripts/serve_told$"},
	{"quiet-end", "true", "./cmd/handrail", "TestScripts/serve_quiet"},
	{"no-progress", "false", "./cmd/handrail", "TestScripts/serve_quiet"},
	{"settled-is-said", "false", "./cmd/handrail", "TestScripts/serve_told_approvers"},
	{"one-request-comment", "call Split [][]session.Asked{fresh[:min(1, len(fresh))]}", "./bot", "TestFortyRequests"},
	{"severe-first", "call bySeverity list", "./bot", "TestFortyRequests"},
	{"refusals-logged", "false", "./bot/webhook", "TestRefusalsAreCounted"},
	{"fair-share", "without 2", "./bot/quota", "TestFairShare"},
	{"request-reserve", "drop", "./bot/quota", "TestRequests"},
	{"write-reserve", "value 0", "./bot/quota", "TestClasses"},
	{"progress-yields", "value 0", "./bot/quota", "TestClasses"},
	{"outsiders-apart", "drop", "./bot/quota", "TestClasses"},
	{"writes-in-turn", "without 2", "./bot/ghapp", "TestWritesInTurn"},
	{"keys-without-effect", "false", "./cmd/handrail", "TestEveryKeyHasAnEffect"},
	{"plan-as-shown", "drop", "./agent", "TestPlanIsWhatWasShown"},
	{"plan-digest", "false", "./agent", "TestPlanIsWhatWasShown"},
	{"plan-checked-again", "false", "./agent", "TestPlanIsCheckedAgain"},
	{"plan-in-front", "drop", "./agent", "TestPlanIsCarriedOut"},
	{"plan-needs-write", `value policy.Allow, ""`, "./cmd/handrail", "TestScripts/serve_plan_not_allowed"},
	{"plan-mode-allowed", "false", "./cmd/handrail", "TestScripts/serve_plan_not_allowed"},
	{"plan-replaced", "drop", "./cmd/handrail", "TestScripts/serve_plan"},
	{"modes-bind", "false", "./policy", "TestChoose|TestChoiceIsOnBothLists"},
	{"models-bind", "false", "./policy", "TestChoose|TestChoiceIsOnBothLists"},
	{"turns-bind", "false", "./cmd/handrail", "TestScripts/serve_limits"},
	{"turns-are-a-limit", "without 2", "./agent", "TestBudgets"},
	{"flags-behind-a-mode", "false", "./bot/command", "TestPhrases"},
	{"used-while-it-runs", "call tell error(nil)", "./cmd/handrail", "TestScripts/serve_budget_at_once"},
	{"budget-patience", "value false", "./bot/ghapp", "TestWritesAreGivenBack"},
	{"outsider-remembered", "false", "./bot", "TestOutsiders"},
	{"lookup-quota", "value policy.Actor{}, 0", "./bot/ghapp", "TestLookups"},
	{"unlisted-bots", "value false", "./bot", "TestBotsOfOthers"},
	{"two-bots of unlisted-bots", "value false", "./bot", "TestTwoBots"},
	{"beyond-a-quota", "true", "./bot", "TestTwoBots"},
	{"no-words-without-rights", "value false", "./bot", "TestOutsiderAfterTheEnd"},
	{"one-sign", "call Digest s.id", "./bot", "TestOutsiders"},
	{"one-reply", "call Replies c.replies[0]", "./bot", "TestOneReply"},
	{"commands-of-a-comment", "false", "./bot", "TestOneReply"},
	{"said-already", "false", "./bot", "TestOutsiderAfterTheEnd"},
	{"progress-pause", "value every", "./bot", "TestProgressGetsRarer"},
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
	{"long-commands", "drop", "./cmd/handrail", "TestLongRunningCommands"},
	{"wanted-again", "without 2", "./agent/project", "TestWantedLeftovers"},
	{"turns-of-a-follow-up", "value 0", "./cmd/handrail", "TestScripts/serve_followup_turns"},
	{"not-the-models-words", "value line(t.Result.Content, 80)", "./bot/render", "TestNotesAreSeen"},
	{"told-before-asked", "skip", "./cmd/handrail", "TestScripts/serve_long_plan"},
	{"run-turns-bind", "false", "./cmd/handrail", "TestScripts/run_limits"},
	{"run-goes-on-allowed", "false", "./cmd/handrail", "TestScripts/run_limits"},
	{"model-allowed", "false", "./cmd/handrail", "TestScripts/serve_model"},
	{"model-of-the-next-turn", "drop", "./cmd/handrail", "TestScripts/serve_model"},
	{"forgotten", "false", "./cmd/handrail", "TestScripts/serve_clear"},
	{"diff-of-the-unpushed", "drop", "./bot/render", "TestDiffOfTheUnpushed"},
	{"own-command-name", "false", "./bot/custom", "TestStrict"},
	{"own-command-arguments", "drop", "./bot/custom", "TestCall"},
	{"own-commands-of-the-base", `call Default "", "refs/heads/other", error(nil)`, "./cmd/handrail", "TestScripts/serve_own_command"},
	{"begun-is-no-progress", "value l.state.Seq > r.TriesAt", "./bot", "TestFailingRun"},
}

// mark is where the control is.
func (c control) mark() (name, mark string) {
	name, mark, other := strings.Cut(c.name, " of ")
	if !other {
		mark = name
	}
	return name, mark
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

// TestSafetyDocs holds the marks, the table and docs/safety.md together: every
// mark is in the table and every row has a mark that its change fits; what
// the document names is there.
func TestSafetyDocs(t *testing.T) {
	marked, used := marks(t), map[string]bool{}
	names, missing := map[string]bool{}, map[string]bool{}
	tests := testNames(t)
	doc := document(t, "docs/safety.md")
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
			t.Errorf("%s:%d: the mark %s is not in the table of controls", at.file, at.line, name)
		}
	}
	named := regexp.MustCompile("\\| ((?:`[a-z*-]+`(?:, )?)+) \\|\n").FindAllStringSubmatch(doc, -1)
	for name := range names {
		missing[name] = true
	}
	for _, m := range named {
		for pattern := range strings.SplitSeq(m[1], ", ") {
			hit := false
			for name := range names {
				if ok, _ := path.Match(strings.Trim(pattern, "`"), name); ok {
					hit = true
					delete(missing, name)
				}
			}
			if !hit {
				t.Errorf("docs/safety.md names the control %s, which there is not", pattern)
			}
		}
	}
	for name := range missing {
		t.Errorf("docs/safety.md does not name the control %s", name)
	}
	all := allTests(t)
	for _, m := range regexp.MustCompile("`(\\w+)\\.((?:Test|Fuzz)\\w+)(\\*?)`").FindAllStringSubmatch(doc, -1) {
		if !slices.ContainsFunc(all[m[1]], func(name string) bool { return name == m[2] || m[3] == "*" && strings.HasPrefix(name, m[2]) }) {
			t.Errorf("docs/safety.md names %s.%s, which there is not", m[1], m[2]+m[3])
		}
	}
}
