// Handrail is a bot for GitHub that runs coding agents on your own models,
// on your own machines. Start here.
//
// # The parts
//
// cmd chooses: cmd/handrail has a file per verb and the wiring, and is the only
// place that picks adapters; cmd/config reads what an operator writes, cmd/check
// says what of it will not work and where each value comes from, cmd/doctor what
// of all that a server needs is not there. cmd/door asks
// one part a question, without a session, and cmd/reader lets tools read what
// bot/ghapp/reads finds, cmd/clone answers for the bot from a clone.
// cmd/buildinfo says what the program was built from.
// cmd/setup is how a server begins. cmd/simulate tries a payload out on a GitHub of its own.
// cmd/terminal shows a session to the person at it, cmd/local has it work in a clone of theirs,
// cmd/chat talks with it line by line, and cmd/worktree asks git about the files there. cmd/action is what a workflow run says of itself.
// cmd/schedules shows what is scheduled, cmd/watchers fills the table of what hears events,
// cmd/usage is about how the command line is written, and what a shell completes.
// cmd/sessions lists sessions and moves their logs, cmd/runs keeps those of this machine, cmd/logs shows and checks them, cmd/records opens a server's database. cmd/commits says how commits look, and who signs them,
// cmd/setups where set-ups are kept, cmd/retention has a server delete what it does not need.
//
// bot talks to GitHub, and never heard of Ollama, Docker or SQLite. bot is the
// loop over one thread, and what people ask for there. bot/live is a session that runs, and what people see of it. bot/outbox sends what is meant for GitHub, under a lease
// and once. bot/fault says what errors mean. bot/ready knows what the server lacks. bot/webhook takes deliveries in, bot/sweep those that
// were missed, bot/poll asks for what happened where none come, bot/queue gives a bot/thread to one worker; bot/command reads
// what was asked, bot/custom the commands of a repository's own, bot/trigger what begins without one, bot/ci what checks of a commit mean (bot/ci/mend mends them), bot/schedule what begins by the clock: the bot knows these three as bot/watch, bot/conversation lays out what was said around it, bot/pull keeps a session's pull request true, bot/approval asks people and judges what they answer,
// bot/review makes one review of what a session found, bot/reviewer posts it,
// bot/notice says who is told of an end, bot/render turns a session's state into
// Markdown, which bot/render/split cuts where it is too long; bot/render/usage says how commands are written. bot/ghapp writes to GitHub
// so that it can be repeated, within what bot/quota lets it; bot/ghapp/reads asks
// it what a thread is about, bot/ghapp/etag what has not changed since, bot/ghapp/needs what an
// App must be allowed, bot/ghapp/granted what it is, bot/ghapp/newapp creates one. bot/store has the words for what is stored:
// bot/store/sqlite and bot/store/postgres share bot/store/sqlstore, bot/store/gitref
// is a log in a git ref, bot/store/threadref all of a thread in one, bot/store/archive logs in files, bot/store/anchor signs
// the ends of logs. bot/retain deletes sessions that are over, mirrors, and all of a repository that
// the App was taken off.
//
// agent works: one session of model, tools, gate and log. Start at
// agent/loop.go. agent/session has the events, and what they add up to.
// agent/work brings a session to a branch; it alone heard of git. agent/layer keeps
// what set-ups made, on which its workspaces lie, and agent/layer/cache shares the caches in it.
// agent/prompt, agent/project, agent/compact and agent/memory make what the
// model reads, agent/project/image finds what its commands run in, also by agent/project/devcontainer, agent/speech hears what it says. agent/llm has the words for a model, agent/llm/ollama and
// agent/llm/openai reach one over agent/llm/wire, agent/llm/toolcall finds calls
// in text and agent/llm/mend mends their JSON, agent/llm/prose reads files in answers
// without calls, agent/exam tries a model out, cmd/tryout does it with the loop itself,
// cmd/forms remembers which form of answering went well,
// agent/seat shares it among runs. agent/tools has the words for a tool;
// agent/tools/builtin joins agent/tools/file, agent/tools/edit,
// agent/tools/search, agent/tools/shell, agent/tools/report and agent/tools/talk, agent/tools/github
// reads the thread; agent/patch mends edits, agent/patch/fragment puts a definition into its
// file, agent/patch/syntax finds a text that does not parse.
// agent/workspace is where they work: agent/workspace/host runs inside,
// behind agent/workspace/docker, agent/workspace/bwrap or no wall,
// agent/workspace/local; agent/workspace/members has each command of a line tell its end,
// agent/workspace/find says which files and lines a query means, and
// agent/workspace/outline which definitions a file has;
// agent/workspace/gitdir makes the repository in there;
// agent/workspace/egress lets a workspace reach single hosts, and agent/workspace/forward carries
// what commands say to it. agent/workspace/beside has it opened by another process. agent/workspace/cgroup has the kernel hold a session to
// its limits, agent/workspace/watch does it where the kernel does not, and
// agent/workspace/seccomp has the filters of system calls.
// agent/testrun finds in what ran the tests and how they went.
//
// gitops saves: mirrors, branches, checkpoints, pushes. It runs no git and
// trusts nothing that a workspace wrote. gitops/objects reads and writes trees,
// commits and packs; gitops/flock has locks that end with a process, gitops/base keeps the files of commits as directories for
// workspaces; gitops/lines compares and merges texts, gitops/merge trees,
// gitops/trailer writes messages, gitops/sign signs; gitops/wire speaks git's
// protocol.
//
// policy decides: what a mode allows, which paths are sensitive, who may approve;
// policy/shell says what a command can do: policy/shell/walk follows it,
// policy/shell/rules says what programs do, policy/shell/wrappers what those do that run
// others, policy/shell/around what holds for all; policy/shell/known holds what is data,
// policy/shell/finding what is found, with policy/shell/word, policy/shell/argv,
// policy/shell/filter for words,
// policy/shell/zone, policy/shell/mark for paths and what is not known, policy/shell/code
// for other languages (policy/shell/code/vocabulary knows names that say what a function
// does, policy/shell/code/decode hidden texts, policy/shell/code/lex takes them apart); policy/untrusted makes foreign text safe to read and ours to post: policy/untrusted/visible
// says what a reader of GitHub sees of it, policy/untrusted/marks breaks the control marks of
// chat templates;
// policy/secret finds credentials; policy/pattern has regular expressions that wait,
// policy/reach says which hosts and addresses may be reached, policy/typo counts typing errors, policy/strict finds every fault of a file, policy/inforce says where settings come from,
// policy/ignore reads files like .gitignore.
//
// Small real counterparts, for tests and the demo: bot/ghapp/ghtest, with
// bot/ghapp/ghtest/hub, bot/ghapp/ghtest/graphql, bot/ghapp/ghtest/webflow, bot/ghapp/ghtest/bare and
// bot/ghapp/ghtest/ghcheck, is a GitHub; agent/llm/llmtest, with agent/llm/llmcheck and agent/llm/llmtest/openaitest, a scripted model.
// bot/store/storetest, agent/workspace/workspacetest and agent/tools/toolstest
// say what each store, workspace and tool must do; agent/workspace/docker/dockertest is a registry of images; policy/untrusted/githubcheck
// says what GitHub shows of a text, by GitHub's own parser.
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
//  5. gitops brings the mirror up to date and takes the base; a workspace
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
// between the parts, docs/safety.md what is promised, and docs/decisions.md
// why it is so.
package main
