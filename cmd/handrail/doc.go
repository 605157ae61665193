// Handrail is a bot for GitHub that runs coding agents on your own models,
// on your own machines. Start here.
//
// # The parts
//
//   - cmd/handrail chooses: one file per verb; the only place that picks
//     adapters and reads the environment. engine.go is where the brain meets
//     the hands.
//   - bot talks to GitHub: deliveries in, sessions run, comments and pull
//     requests out. It never heard of Ollama, Docker or SQLite.
//   - agent works: one session, made of model, tools, gate and log. It never
//     heard of GitHub or git. Start at agent/loop.go.
//   - gitops saves: mirrors, branches, checkpoints, undo. It runs no git and
//     trusts nothing that a workspace wrote.
//   - policy decides: what a mode allows, which paths are sensitive, who may
//     ask and approve. Below it, shell says what a command can do, untrusted
//     makes foreign text safe to read and our text safe to post, secret finds
//     and redacts. All of it is pure.
//
// # One comment becomes a commit
//
//  1. bot/webhook verifies the signature over the raw bytes, stores the
//     delivery, answers 202.
//  2. bot/queue hands the thread to one worker; deliveries of one thread are
//     worked in order.
//  3. bot/command finds "/agent …"; policy decides whether this person may
//     ask for this.
//  4. bot opens or continues the thread's session, reacts with 👀, posts the
//     progress comment.
//  5. gitops brings the mirror up to date and exports the base; a workspace
//     opens on it.
//  6. agent/loop.go builds the prompt, streams the answer, reads calls;
//     agent/gate.go decides each; tools run in the workspace.
//  7. A call that needs a person: the request is recorded, then posted with
//     its id and digest; the session parks and the worker is free. The
//     answer's delivery resumes it at step 6.
//  8. After each turn that changed files: a checkpoint commit, pushed.
//  9. Done: the branch becomes a draft pull request, and the progress comment
//     says so.
//  10. "/agent also do …" in the thread: back to step 2, same session.
//
// # The rules that keep it safe
//
// The session is its event log; an event is stored before anything is shown
// or done. The gate is the only way to a tool, and the bytes approved are the
// bytes run. The workspace holds a copy of the code and nothing else: no
// token, no key, no network unless allowed. deps_test.go holds the arrows
// between the parts.
package main
