# Long forms of the tests that count. `go test ./...` runs short ones.
GO ?= go
CRASH = $(GO) test ./cmd/handrail -count=1 -run '^TestCrash$$' -v

.PHONY: build test bench crash-short crash load stale

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o handrail ./cmd/handrail

test:
	$(GO) test ./...

# SIGKILL at every step of a story. Ends with: crash: kills N, lost 0, duplicates 0
crash-short:
	@$(CRASH) -args -crash.steps=2 -crash.random=20 | grep -v '^=== '

# At every step, then 2,000 times at random, with secondary rate limits too.
crash:
	@$(CRASH) -timeout 4h -args -crash.steps=1 -crash.random=2000 -crash.limits | grep -v '^=== '

# 1,000 signed deliveries a second for a minute, from a second process.
load:
	@$(GO) test ./cmd/handrail -count=1 -run '^TestLoad$$' -v -timeout 10m -args -load.rate=1000 -load.time=60s | grep -v '^=== '

# A server that is stopped in the middle of its work and continued writes nothing. Needs PostgreSQL.
stale:
	@HANDRAIL_REQUIRE_ENGINES=postgres $(GO) test ./cmd/handrail -count=1 -run '^TestStale$$' -v -args -stale.rounds=20 | grep -v '^=== '

# The numbers of docs/performance.md. What needs docker or bwrap is skipped
# where they are missing, and says so.
bench:
	$(GO) test -run '^$$' -bench 'Run33|Turn|Demo|Start|Webhook|Parse|Prompt|Replay' -benchtime 10x -timeout 10m ./cmd/handrail
	$(GO) test -run '^$$' -bench 'Open|Commit' -benchtime 3x -timeout 30m ./cmd/handrail
	$(GO) test -run '^$$' -bench Inside -benchtime 20x -timeout 20m ./agent/workspace
	$(GO) test -run '^$$' -bench . ./agent/workspace/host ./agent/patch ./agent/tools ./policy
	$(GO) test -run '^$$' -bench Load -benchtime 10x ./bot/webhook
