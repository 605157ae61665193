// Package ghtest is a GitHub small enough to run in a test, and in the demo.
//
// It serves GitHub's REST API, its git transport and its webhooks on loopback
// and keeps the state behind them: users with roles, repositories in real git,
// issues, comments, reactions, pull requests whose head follows the branch,
// reviews, checks, app installations with tokens that expire. It answers in
// GitHub's shapes and refuses what GitHub refuses.
//
// Every request and every answer is compared with GitHub's official OpenAPI
// description; what does not fit fails with status 500 and is kept in
// [Server.Violations], so a client that passes here says what GitHub
// understands.
//
// People are played through the exported methods: [Server.OpenIssue],
// [Server.Comment], [Server.Review] and the others change the state as that
// person would and send the signed webhook. [Server.Thread] returns what a
// person would see. [Server.Wait] waits for a state without polling.
//
// Faults can be injected, see [Faults].
package ghtest
