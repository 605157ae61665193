// Handrail is a bot for GitHub that runs coding agents on your own models, on your own
// machines. This page introduces the code: its five parts, the ten steps of a request,
// and the files to read first. `go doc` has the details of each package.
//
// # Five parts
//
// cmd chooses, bot talks to GitHub, agent works, gitops saves, policy decides.
//
// policy and gitops import no other part. agent does not know GitHub, and knows git only
// in agent/work. bot does not know Ollama, Docker or SQLite. cmd is the only part that
// reads the environment and picks adapters: a model provider, a workspace engine, a
// store.
//
// The brain is outside, the hands are inside. This process holds the model client, the
// GitHub client, the keys and the real repository. The workspace, a container or a
// sandbox, holds only a copy of the code and a small tool host: no token, no key, and no
// network unless the operator allows it.
//
// # One comment becomes a commit
//
//  1. bot/webhook verifies the signature over the raw bytes, stores the delivery and
//     answers 202.
//  2. bot/queue gives the thread to one worker, which handles its deliveries in order, each
//     as the table of kinds in bot/kinds.go says.
//  3. bot/command reads "/agent …" in the comment; policy decides whether its author may
//     give it.
//  4. bot opens or continues the thread's session, reacts with 👀 and posts the progress
//     comment (bot/live, bot/render).
//  5. gitops updates the mirror and takes the base; agent/workspace opens on it.
//  6. agent/loop.go builds the prompt, streams the answer and parses calls; agent/gate.go
//     decides on each; agent/tools run in the workspace.
//  7. A call that needs an approval: the request is recorded, then posted with its id and
//     digest (bot/approval). The session parks, and the worker is free. The delivery with
//     the answer continues at step 6.
//  8. After each turn that changed files: a checkpoint commit, pushed.
//  9. Done: the tests are run on the saved files, the branch becomes a draft pull request
//     (bot/pull), and the progress comment becomes the result.
//  10. "/agent also do …" in the thread: back to step 2, with the same session.
//
// # Where to look first
//
// agent/loop.go and agent/gate.go are the core, five minutes each. agent/session has the
// events, and the only fold of them into a state: conversation, progress comment, check
// run and terminal are functions of that log. agent/tools/tools.go defines a tool,
// agent/tools/builtin/find_files.go is one to copy. bot/outbox sends each write to GitHub
// once, even after a crash. bot/store/store.go has the contract of every store.
//
// The specification is testdata/script: whole stories, with a fake GitHub
// (bot/ghapp/ghtest) and a scripted model (agent/llm/llmtest) that are small real
// servers. testdata/ladder has tasks for real models.
//
// # Change X: these files
//
//	a tool             docs/add-a-tool.md
//	a model provider   docs/add-a-provider.md
//	a comment command  a row and a handler in bot/commands.go, its line of help in
//	                   bot/render/usage/usage.go, its replies in bot/render/replies.go, a
//	                   row in docs/comments.md; go test ./bot -run Command
//	a text of the bot  the function of bot/render with these words (git grep finds it), then
//	                   go test ./bot/render -update, and the stories and tests of bot with
//	                   the old words
//	a trigger          a row of EventKinds and the fields of its payload in bot/ghapp/event.go;
//	                   without a text: its key and its task in bot/trigger/trigger.go, a key
//	                   of policy/watch.go that switches it on, and a story
//	a setting          a field in cmd/config (server) or policy/config.go (repository), a row
//	                   in docs/configuration.md, a test named in effects_test.go, and
//	                   go run ./cmd/handrail config schema [--server] > docs/schema/…
//	a store            a package beside bot/store/sqlite that passes bot/store/storetest, and
//	                   its choice in cmd/records/records.go
//
// A failed test of structure or of a golden file names the place or the command that
// mends it.
//
// # The rules that keep it safe
//
// The session is its event log; an event is stored before anything is shown or done. The
// gate is the only way to a tool, and the bytes approved are the bytes run. A test
// enforces the imports between the parts (deps_test.go). docs/safety.md lists the
// guarantees with their tests, docs/decisions.md the reasons.
package main
