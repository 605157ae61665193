package main

import "strings"

// controlsOfRows names, for the first proof of a row of docs/safety.md or
// docs/reliability.md, those controls of the promise that another test notices. Controls
// whose own test is a proof of the row need no mention.
var controlsOfRows = controlsByProof(`
agent.TestApprovalGoesStale: approval-digest unapproved-step recorded-kind
agent.TestApprovalOverruled: denial-after-approval last-moment
bot.TestApprovalIsCheckedAgain: second-look edited-comment
bot.TestForgedApprovals: taken-is-kept
command.TestNear: near-miss ids-are-no-words dashes-of-phones
bot.TestWordsAreKept: talk-withdraws-nothing
bot.TestAsides: own-words-no-answer
agent.TestPlanIsCheckedAgain: plan-as-shown plan-digest plan-in-front plan-replaced
serve_mode_rights: words-to-work mode-of-the-request
policy.TestPosts: posts-have-limits labels-are-no-paths
agent.TestSubTaskRights: no-people-inside turns-inside-count turns-inside-are-kept turns-inside-are-shown
    budget-inside
work.TestWalled: walled-verdict
builtin.TestDirectoryStays: loop-words cwd-outside
builtin.TestBackground: bounded-jobs redact-background
builtin.TestFileInAPath: policy-path-length
session.TestApprovedUntilPublished: rename-deletes
agent.TestEditIsLookedAtAgainAtTheDoor: consumed-when-published
policy.TestSensitiveLinks: file-over-directory
policy.TestHeld: push-hold hold-asks hold-tightens
main.TestGitAttacks: git-paths-built
gitops.TestCheckpointLeavesGitDirectoriesOut: submodule-inside
serve_hidden_files: rules-share-no-tree
policy.TestKeptDirectory: other-repository-read-only other-repository-read-only-in-docker
    other-repository-by-a-link other-repository-copied other-repository-apart
base.TestPastHides: past-is-read-only past-is-read-only-in-bwrap past-is-not-shared past-of-a-shallow-clone
    past-of-others past-hides-contents
approval.TestForkWaits: fork-plan fork-base fork-branch fork-commit fork-ambiguous fork-moved fork-right-again
    fork-said fork-tells-who-may
serve_own_command: own-command-name own-command-arguments
gitops.TestNoForgedTrailer: true-bot-address co-author-is-the-requester
gitops.TestWhatIsMadeAnewIsSigned: signing-stays-on signed-is-the-same signed-once commit-of-the-id
    unsigned-stays-away unsigned-is-told
work.TestScanOfACommit: secret-hold scan-each-file
secret.TestRedactKnownValues: redact-events numbered-lines
work.TestLastLine: code-stays-code
egress.TestEscapes: plain-names egress-odd-bytes egress-tls egress-hidden-name
egress.TestRebinding: egress-metadata
local.TestConformance: egress-not-local egress-own-network
egress.TestTold: egress-told refused-in-the-title
policy.TestMerge: egress-bound
policy.TestMergeSetUpHosts: setup-network setup-reaches
policy.TestPulls: pull-where-allowed pull-can-be-stopped no-image-is-told
ghapp.TestOnlyPublicAddresses: picture-redirect picture-host
untrusted.TestWordsAsOnGitHub: what-a-reader-sees page-of-github older-rules behind-the-page shown-is-asked
    html-of-the-text hidden-text command-as-shown
conversation.TestIssue: same-second thread-read-later
command.TestSaid: said-in-a-paragraph inside-html begins-its-line commands-as-shown
bot.TestWhoseWordsCount: unlisted-bots
bot.TestOwnWordsWithAToken: own-edits-cost-nothing
bot.TestLinksBehindWords: code-fence
agent.TestForgedResultInTextMode: others-command-mark
reader.TestReader: github-tools-clean github-tools-fence reads-own queries-own
agent.TestWholeOutputIsRedacted: bounded-outputs
render.TestNamesStayOnTheirLine: item-no-block
terminal.TestTerminalLinesAreItsOwn: terminal-dumb
untrusted.TestPosted*: post-gate post-references own-host pages-of-the-host post-doubtful-links
    post-closing-in-code
untrusted.TestTitlesAndMessages: post-title post-commit
untrusted.TestPostMentions: mention-names mention-people
run_in_actions: runner-commands
bot.TestOutsiders: no-words-without-rights said-already
ghapp.TestLookups: outsider-remembered outsiders-apart
policy.TestChoiceIsOnBothLists: flags-behind-a-mode flags-behind-fix allowed-model-goes-on model-of-the-session-before
    turns-of-a-follow-up turns-bind turns-are-a-limit turns-of-one-request turns-name-their-request
    turns-name-their-limit
    run-mode-of-a-wish
trigger.TestDispatched: trigger-by-right own-deeds-start-nothing
schedule.TestOf: schedule-acts-for-nobody schedules-read
ci.TestDecide: a-log-that-is-gone
serve_action_inbox: schedules-of-the-repository
threadref.TestMutatedRefs: nothing-is-empty no-log-without-an-end refs-unpack-to-so-much leases-are-of-runs
serve_action_sealed: outputs-end-unguessed
bot.TestStartedIsOneTask: bots-start-nothing strangers-open-nothing issue-of-a-run-once tasks-of-a-run
main.TestDashboardActs: dashboard-fresh-right
dashboard.TestHostileSession: dashboard-ring
bwrap.TestConformance: group-entered scratch-size watched-threads layer-is-read-only-in-docker
    caches-of-one-session layer-is-copied setup-leaves-the-base setup-hidden-stays installed-one-by-one
    installed-is-put-back installed-servers-are-read-only installed-servers-are-read-only-in-docker
    installed-is-no-link installed-by-the-owner own-server-wins
main.TestMustLimit: docker-bounds
host.TestTally: watched-disk measured-afterwards closed-doors full-place full-refuses no-reserved-room
main.TestCodeHasLimitsOfItsOwn: beside-directory
bwrap.TestToolchains: writable-stays-out
base.TestDamaged: base-in-use bounded-trees
work.TestSetUpOnce: setup-denial-holds setup-file-behind-a-link setup-judged-as-it-runs
work.TestSetUpIsOfTheBase: created-of-the-base
layer.TestNewest: caches-do-not-grow caches-stop-nothing shared-is-the-same
layer.TestMadeOnce: layer-in-use
serve_action_walls: tools-hold-no-token runner-stays-out runner-stays-out-of-bwrap daemon-sees-files
main.TestForgedChain: signed-ends signed-hash
retain.TestLogs: delete-only-over delete-nothing-waits
retain.TestMirrorsThatStay: broken-off-work-stays needed-mirror-stays removed-under-locks used-mirror-is-known
retain.TestUninstalled: mirrors-of-the-gone
retain.TestNotUninstalled: unknown-installation suspend-begins-nothing
serve_model_down: waits-for-github github-away-is-told not-ready-at-once
main.TestBadGitHub: nothing-is-not-kept short-diff-is-listed
gitops.TestBadAnswersOfARemote: push-is-confirmed
serve_gone: gone-for-certain archived-ends transferred-ends
sweep.TestDeliveries: polled-from-now-on polls-wait-as-asked
serve_token_missed: listed-reviews
outbox.TestSlowStoreKeepsTheLease: slow-store-keeps-the-thread
serve_touched: strangers-edits-are-quiet
render.TestPartsSayAll: answer-parts split-fence split-numbers split-table-head told-before-asked
serve_labels_never: nothing-waits-for-labels labels-are-tried-again left-writes-are-made
serve_line_comment: answer-not-lost asked-in-the-line answer-where-asked
approval.TestDue: end-by-flush quiet-end no-progress settled-is-said plan-approver-told
ghapp.TestPermissionThatIsLacking: permission-in-words
render.FuzzRender: title-rune
main.TestWhatCannotBeSaved: left-out-named
main.TestDamagedMirrorIsMended: torn-object their-objects-stay their-commits-stay
gitops.TestPromisedIsBrought: answer-is-what-was-asked lost-is-not-promised
main.TestCrashAction: put-off-is-waited-for holder-is-not-gone yes-is-used-up lease-of-a-run-that-ended
    release-with-an-empty-inbox attempts-are-in-the-ref events-are-in-the-ref written-after-all
gitops.TestRefFilesHaveNoHistory: unfinished-are-not-forgotten old-sessions-are-forgotten
action.TestPatient: no-workspace-is-told
ghapp.TestFollow: home-of-a-pull-request
schedule.TestClock: other-times-missed-nothing hours-that-are-there-twice runs-do-not-overlap
    unread-is-read-again
ci.TestWaits: missed-checks checks-are-not-awaited-for-ever the-end-of-a-wait-is-told stuck-checks words-end-the-wait
serve_after_merge: closed-pull-begins-anew
project.TestFindLeftover: build-leftovers written-stays wanted-again
gitops.TestAsGit: attributes-count plain-stays-home
gitops.TestPushSafeAfterARewrite: adopted-branch branch-of-work-stays restored-branch target-gone
gitops.TestTakeInIsAsGitMerges: refused-as-on-the-base merge-stays-a-merge merge-is-not-split
    merge-not-taken-back base-from-then-on base-needs-no-yes conflicts-stay-home
work.TestFilesAreTheDiff: changed-back-is-no-change empty-pull-says-so
render.TestDiffPartsAreWhatGitTakes: diff-of-the-unpushed
main.TestPatchWhenNothingCanBePushed: patch-unchanged hook-words patch-in-the-thread
quota.TestRequests: write-reserve
quota.TestBucket: progress-yields budget-patience progress-pause output-is-no-event
quota.TestFairShare: refusals-logged
agent.TestShares: used-while-it-runs
main.TestEveryKeyHasAnEffect: setup-keys-without-effect keys-of-the-server long-commands
review.TestOnlyLinesOfTheDiff: finding-in-the-file review-of-the-new-head
outbox.TestNotesOfAReview: github-gate-notes
review.TestOnlyTriedSuggestions: suggestion-as-written suggestion-parses suggestion-balances
    suggestion-for-all-its-lines
review.TestThreadsWhoseCodeIsGone: said-twice refuted-is-dropped
review.TestOrderAndMaximum: made-is-skipped logic-before-tests
agent.TestWordsAreNoWork: cleaning-is-work tried-is-not-made tried-needs-no-reason words-without-work claims-in-files
    tried-is-no-answer same-again an-answer-is-taken blank-is-no-change
session.TestEarlyEnds: end-of-the-newest-request verb-carries-its-task fix-is-a-request new-request-is-no-answer
    fix-answers-nothing fix-has-its-mode
agent.TestReadingEnds: reading-begins-anew
agent.TestLastTestRunCounts: sigpipe-is-no-failure tests-are-old known-tests tests-run-nothing
    unknown-runner-proves-nothing tests-are-told
testrun.TestEnds: pipeline-ends
agent.TestRedIsNotDone: fault-before-the-kill failed-before-the-kill endless-tests tests-pass-the-gate broken-is-not-done tries-end cut-is-taken-back sample-is-no-file
ollama.TestDroppedCall: other-calls-ran garbled-before-dead page-is-no-answer cut-is-told context-cut
    older-calls name-in-pieces
agent.TestAnswerInCircles: few-words said-twice-before file-a-third-time shown-repetition silence-is-said
    bounded-answer tiny-answers
agent.TestRunWaitsForTheServer: memory-is-waited-for outgrown-memory free-the-hung
seat.TestTake: seat-given-back waiting-is-said waiting-is-free operators-window window-is-asked refused-cache
agent.TestStuckSessionEnds: cut-off-is-no-repetition mistakes-by-answers forgotten-calls
builtin.TestEditsByHand: no-prose-in-code once-in-the-original
agent.TestUnseenIsNotReplaced: no-other-file methods-stay no-invented-folder exports-stay unused-import only-the-function
builtin.TestEncodingIsKept: case-asks-back
builtin.TestOneWrongCharacter: syntax-told faults-are-told most-lines-stay edits-keep-syntax broken-is-taken-back made-once
project.TestRulesAt: included-rules
agent.TestPrefixIsNeverTouched: mode-is-told recorded-cuts
agent.TestFailedTurnIsTakenBack: refused-edit-is-taken-back
agent.TestSummariesReplaceEachOther: earlier-summary no-rubbish-summed-up only-words-ask
agent.TestResultsTakeAFifth: not-sent-again large-rules weak-models small-rules small-chart
project.TestTry: example-of-this-project network-is-told
agent.TestApprovalInterleavings: orders-* bot-orders-*
main.TestApprovalAgainstPrograms: programs-computed
bot.TestClassify: review-is-looked-at
approval.TestJudge: review-commit review-head review-target review-owner review-checked-again review-dismissed
    review-branch-of-others
shell.TestCommandCorpus: followed-links evaluated-names elided-text said-texts said-settings shaped-variables
    running-options written-options unknown-options obeyed-files destroying-verbs destroyed-data
    remote-database
work.TestProposedLanguageServer: language-servers-of-the-server language-servers-are-asked
    language-server-name-is-taken language-server-digest
host.TestServerEnds: servers-edit-nothing server-message-size server-restarts-once server-idles server-memory
host.TestOutsideSource: outside-is-source
work.TestProposedServer: mcp-servers-are-proposals mcp-proposals-are-asked mcp-digest
    mcp-yes-is-for-the-digest
work.TestOperatorsServers: mcp-walled-only mcp-host-of-a-proposal mcp-hosts
work.TestToolsArePinned: mcp-pinned mcp-tools-in-digest
policy.TestServersOfARepository: mcp-name-is-taken mcp-auto-is-the-operators mcp-repository-headers
    mcp-no-environment
policy.TestCallsOfServers: mcp-tools-deny mcp-shown-whole
builtin.TestWrongCalls: mcp-schema-first mcp-local-references mcp-endless-references
mcp.TestWordsOfServers: mcp-unfit-is-told mcp-marks mcp-definitions-redacted mcp-budget
mcp.TestRugPull: mcp-frozen mcp-rug-pull
mcp.TestHostileServers: mcp-connect-deadline mcp-call-deadline mcp-flood mcp-too-many-tools
builtin.TestResults: mcp-fenced mcp-pages-fenced mcp-redacted
main.TestMCPServersAtURLs: mcp-allowlist mcp-one-origin mcp-no-redirects mcp-tokens-known
mcp.TestSamplingAndRoots: mcp-no-sampling mcp-quiet-stream mcp-no-addresses mcp-answer-once
work.TestGuestsBehindAWall: guest-behind-a-wall guest-masked guest-settings-hidden
guest.TestProbe: guest-mode-read-back guest-option-read-back
guest.TestPermission: acp-by-kind guest-never-always guest-allows-the-request guest-unallowed-is-rejected
    guest-grant-is-for-the-request
guest.TestHistory: guest-history
guest.TestRequests: guest-unknown-asks guest-shown-whole
guest.TestModelOfAnAgent: guest-last-words guest-time-bound guest-model-only guest-one-model
    guest-one-model-of-google guest-model-waits guest-tokens-bound guest-turns-bound guest-idle-bound
    inner-turns-count
acp.TestDeafAgent: acp-deaf guest-flood acp-long-message guest-await-bounded guest-workspace-gone
agent.TestToolThatPanics: panic-is-an-error host-panic fault-is-an-end
guest.TestKilled: guest-killed
bot.TestDeadlySession: deadly-session begun-is-no-progress
host.TestProblemsOfTheBase: base-of-no-other-file known-is-of-the-base known-names
lsp.TestFreshness: lists-in-order fresh-diagnostics fresh-of-all-files fresh-answer disk-is-read-again
    problem-in-the-text only-fresh-is-shown only-fresh-is-told
host.TestIncompleteAnswers: comments-are-no-uses first-answer-waits work-in-stages asked-once-more limit-is-told
    limit-of-outlines-is-told incomplete-is-told incomplete-is-said
run_killed: killed-run-is-swept empty-groups-go
gitops.TestUndoAndRedo: kept-files kept-checkpoints redo-counts-steps undo-of-a-file nothing-is-not-done
gitops.TestAlternates: alternates-once lists-while-writing packs-of-others own-writes
agent.TestFormsThatModelsSend: text-after-two forms-by-mode forms-no-example forms-in-text form-is-shown
    meant-tool all-thinking
toolcall.TestHostileIsLinear: longest-call
agent.TestImitatingModel: shown-call own-calls-stay shown-as-written filled-template worked-edit
work.TestImageIsBuiltAsApproved: built-for-others
`)

// controlsByProof reads lines "proof: control control …"; those that begin with a space go
// on with the line above.
func controlsByProof(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\n ", " ")) {
		if proof, names, ok := strings.Cut(line, ":"); ok {
			out[proof] = names
		}
	}
	return out
}
