package main

// controlsOfGuests are those that stand between a session and an external agent.
var controlsOfGuests = []control{
	{"acp-long-message", "false", "./agent/acp", "TestLines"},
	{"acp-by-kind", "false", "./agent/acp", "TestOnly"},
	{"guest-never-always", "false", "./agent/guest", "TestPermission"},
	{"guest-allows-the-request", "without 3", "./agent/guest", "TestPermission"},
	{"guest-unallowed-is-rejected", "drop", "./agent/guest", "TestPermission"},
	{"guest-grant-is-for-the-request", "value len(g.grants) > 0", "./agent/guest", "TestGrant"},
	{"guest-history", "false", "./agent/guest", "TestHistory"},
	{"guest-mode-read-back", "false", "./agent/guest", "TestProbe"},
	{"guest-option-read-back", "without 2", "./agent/guest", "TestProbe"},
	{"guest-flood", "false", "./agent/guest", "TestSilentAgent"},
	{"guest-turns-bound", "without 2", "./agent/guest", "TestTurnsEndAnAnswer"},
	{"inner-turns-count", "drop", "./agent/session", "TestAllTurns"},
	{"guest-idle-bound", "false", "./agent/guest", "TestIdleAnswersAreTurns"},
	{"guest-workspace-gone", "false", "./agent/guest", "TestWorkspaceGone"},
	{"guest-await-bounded", "false", "./agent/guest", "TestAwaitIsBounded"},
	{"guest-tokens-bound", "without 3", "./agent/guest", "TestTokensEndAnAnswer"},
	{"guest-last-words", "false", "./agent/guest", "TestLastTurnIsHeard"},
	{"guest-unknown-asks", "value policy.Action{Kind: policy.Converse, Display: r.display()}", "./agent/guest", "TestRequests"},
	{"guest-model-waits", "false", "./agent/guest", "TestModelOfAnAgent"},
	{"guest-model-only", "without 2", "./agent/guest", "TestModelOfAnAgent"},
	{"guest-one-model", "drop", "./agent/guest", "TestModelOfAnAgent"},
	{"guest-masked", "false", "./agent/guest", "TestMasks"},
	{"guest-settings-hidden", "value hides", "./cmd/handrail", "TestScripts/^serve_acp$"},
	{"guest-behind-a-wall", "without 2", "./agent/work", "TestGuestsBehindAWall"},
}
