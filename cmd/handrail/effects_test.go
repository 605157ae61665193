package main

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
)

// effects names for each key of the server's file, with those of a repository's below
// policy, a test or a story that shows what it does.
var effects = map[string]string{
	"listen": "TestServerConfigPrecedence", "data": "TestServerConfigPrecedence", "database": "TestServerConfigPrecedence", "workspace": "TestServerConfigPrecedence",
	"commits.key": "serve_commits_ssh", "bases.size": "TestSweep", "bases.age": "TestSweep", "layers.size": "TestSweep", "layers.age": "TestSweep", "retention.logs": "TestRetention", "retention.mirrors": "TestRetention", "retention.uninstalled": "TestUninstalled",
	"github.api": "serve_budget", "github.app_id": "serve_budget", "github.private_key_file": "serve_wrong_key", "github.repository": "serve_token",
	"github.repositories": "serve_other_repository", "github.apps": "serve_other_app", "github.poll": "serve_poll", "github.partial_clone": "serve_whole_clone",

	"model.name": "TestModelOptionsOnTheWire", "model.ollama": "TestOllamaURL", "model.provider": "TestProviders", "model.base_url": "TestModelOptionsOnTheWire", "model.temperature": "TestModelOptionsOnTheWire",
	"model.context": "TestModelOptionsOnTheWire", "model.cache": "TestModelOptionsOnTheWire", "model.parallel": "serve_waits_for_a_slot", "model.max_tokens": "TestModelOptionsOnTheWire", "model.keep_alive": "TestModelOptionsOnTheWire", "model.effort": "TestModelOptionsOnTheWire",
	"model.silence": "TestSilence", "model.answer_time": "TestAnswerTime", "model.ca_file": "TestOwnAuthority", "model.headers": "TestOwnAuthority", "github.ca_file": "TestOwnAuthority", "model.form": "TestForm", "model.can.tools": "TestSomeAbilities", "model.can.thinking": "TestSomeAbilities", "model.can.vision": "TestModelOptionsOnTheWire", "model.can.context": "TestModelOptionsOnTheWire",

	"engine": "serve_acp", "acp.agent": "serve_acp", "acp.command": "serve_acp", "acp.env": "TestProgram", "acp.mode": "TestProbe", "acp.silence": "TestSilentAgent",
	"sessions.at_once": "TestSlots", "sessions.per_user": "TestSlots", "sessions.per_repo": "TestSlots",
	"quotas.sender": "TestOverAQuota", "quotas.thread": "TestTwoBots", "quotas.repository": "TestRequests", "quotas.installation": "TestRequests",
	"quotas.lookups": "TestLookups", "quotas.writes_per_minute": "TestBucket", "quotas.writes_per_hour": "TestBucket", "quotas.reserve": "TestClasses",

	"policy.model": "TestChoose", "policy.models": "serve_limits", "policy.mode": "TestChoose", "policy.modes": "serve_limits", "policy.turns": "TestTurnLimit",
	"policy.auto_approve_commands": "policy_settings", "policy.auto_approve_sensitive_edits": "policy_settings",
	"policy.commands.allow": "policy_settings", "policy.commands.deny": "policy_settings", "policy.commands.ask": "policy_settings",
	"policy.defaults.read": "TestCheckTable", "policy.defaults.write": "policy_settings", "policy.defaults.delete": "TestCheckTable", "policy.defaults.execute": "policy_settings", "policy.defaults.network": "policy_settings", "policy.defaults.post": "TestPosts",
	"policy.always_ask": "policy_settings", "policy.sensitive_files.pattern": "TestSensitiveOrder", "policy.sensitive_files.approve": "TestSensitiveOrder",
	"policy.approvals.by": "serve_approval_review", "policy.approvals.deadline": "TestReviewEndsWithoutTheEdit", "policy.approvals.not_requester": "TestApproverRules", "policy.approvals.approvers": "TestApproverRules",
	"policy.approvals.bots": "TestTwoBots", "policy.branch": "TestBranch", "policy.long_running_commands": "TestLongRunningCommands",
	"policy.mcp.servers": "serve_mcp", "policy.mcp.hosts": "TestMCPServersAtURLs", "policy.setup.propose": "TestProposal", "policy.setup.approval": "TestProposal",
	"metrics.listen": "TestMetrics", "traces.endpoint": "TestTracesOfASession", "traces.content": "TestTracesContent",
	"dashboard.listen": "TestDashboardActs", "dashboard.url": "TestLogin", "dashboard.client_id": "TestLogin", "dashboard.operators": "TestOperators",
	"policy.language_servers.name": "TestLanguageServers", "policy.language_servers.command": "TestCodeAnswers", "policy.language_servers.extensions": "TestCodeAnswers",
	"policy.setup.commands": "run_setup", "policy.setup.files": "run_setup", "policy.setup.network": "TestSetUpOnce", "policy.setup.caches": "TestSetUpCaches", "policy.setup.hosts": "TestMergeSetUpHosts", "policy.setup.presets": "TestSetUpReaches",

	"policy.workspace.engine": "TestMerge", "policy.workspace.image": "TestMerge", "policy.workspace.images": "TestMerge", "policy.workspace.pull": "TestPulls", "policy.workspace.build": "TestImageIsNotBuilt", "policy.workspace.toolchains": "TestToolchains", "policy.workspace.lsp": "lsp_install", "policy.workspace.network": "TestWalled", "policy.workspace.hosts": "TestReaches", "policy.workspace.presets": "TestReaches", "policy.workspace.inside": "TestReaches", "policy.workspace.paths": "run_paths", "policy.workspace.unlimited": "TestMustLimit",
	"policy.workspace.memory": "TestBounds", "policy.workspace.pids": "TestBounds", "policy.workspace.disk": "TestBounds", "policy.workspace.cpus": "TestBounds",

	"policy.budget.session.turns": "serve_limits", "policy.budget.session.tokens": "TestBudgets", "policy.budget.session.time": "TestWallBudget", "policy.budget.session.edits": "TestBudgets", "policy.budget.session.lines": "TestBudgets",
	"policy.budget.user_day.turns": "serve_budget_at_once", "policy.budget.user_day.tokens": "TestSharedBudgets",
	"policy.budget.user_day.time": "TestShares", "policy.budget.user_day.edits": "TestShares", "policy.budget.user_day.lines": "TestShares",
	"policy.budget.thread.turns": "TestShares", "policy.budget.thread.tokens": "TestShares", "policy.budget.thread.time": "TestShares", "policy.budget.thread.edits": "TestShares", "policy.budget.thread.lines": "TestShares",

	"policy.pull_request.draft": "serve_not_draft", "policy.pull_request.ready": "serve_ready_green", "policy.pull_request.branch": "serve_stacked", "policy.push.hold": "serve_push_builds",
	"policy.pull_request.base": "serve_pull_config", "policy.pull_request.labels": "serve_pull_config", "policy.pull_request.reviewers": "serve_pull_config",
	"policy.pull_request.team_reviewers": "serve_pull_config", "policy.pull_request.title": "serve_pull_config", "policy.pull_request.body": "serve_pull_config",
	"policy.comments.progress": "serve_quiet", "policy.comments.end": "serve_quiet", "policy.comments.inline": "serve_review_again",
	"policy.comments.after": "TestDue", "policy.comments.approval": "serve_quiet", "policy.comments.severity": "TestLeastSeverity",
	"policy.triggers.labels": "serve_triggers", "policy.triggers.assignee": "serve_triggers", "policy.triggers.dispatch": "serve_triggers", "policy.triggers.review": "serve_triggers_review",
	"policy.triggers.checks": "serve_ci_fix", "policy.ci_fix.attempts": "TestDecide", "policy.ci_fix.per_head": "TestDecide", "policy.ci_fix.wait": "TestWaits",
	"policy.triage.on": "serve_triage_opened", "policy.triage.labels": "serve_triage_opened", "policy.triage.hourly": "TestTriageOfOpened",
	"policy.schedules.name": "serve_schedules", "policy.schedules.cron": "TestClock", "policy.schedules.on": "serve_schedules", "policy.schedules.kind": "serve_schedule_kinds", "policy.schedules.task": "serve_schedules",
	"policy.schedules.days": "serve_schedule_kinds", "policy.schedules.zone": "TestClock", "policy.schedules.jitter": "TestJitter", "policy.schedules.missed": "TestClock", "policy.schedules.mode": "TestOf",
	"policy.schedules.result": "serve_schedule_kinds", "policy.schedules.number": "serve_schedule_kinds", "policy.schedules.unattended": "serve_schedule_kinds",
	"policy.schedule_limits.most": "TestOf", "policy.schedule_limits.every": "TestOf", "policy.schedule_limits.modes": "TestOf",
	"policy.tools": "run_more_time", "policy.repositories": "serve_repositories", "model.embedding": "serve_codebase_search",
	"policy.test": "run_tests_count", "policy.verify": "TestVerifies", "policy.undo": "serve_undo",
	"policy.commits.sign": "serve_commits_ssh", "policy.commits.co_author": "serve_commits", "policy.commits.sign_off": "serve_commits_ssh",
}

// Each key of the configuration has a test that shows its effect.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	known := namesOfTests(t)
	seen := map[string]bool{}
	for _, key := range keysOf(reflect.TypeFor[config.Server](), "") {
		seen[key] = true
		if name := effects[key]; name == "" {
			t.Errorf("%s: no test shows its effect: add the name of one to effects", key)
		} else if !known[name] {
			t.Errorf("%s: there is no test %s", key, name)
		}
	}
	for _, w := range []policy.Workspace{{Hosts: []string{"a.example"}}, {Presets: []string{"go"}}, {Network: "open", Hosts: []string{"a.example"}}, {Network: "allowlist", Engine: "local"}} {
		if err := (policy.Config{Workspace: w}).CheckEffect(); err == nil {
			t.Errorf("%+v has no effect and is no error", w)
		}
	}
	if err := (policy.Config{Delivery: policy.Delivery{Undo: "reset"}}).CheckEffect(); err == nil {
		t.Error("undo: reset has no effect and is no error")
	}
	for key := range effects {
		if !seen[key] {
			t.Errorf("effects names the key %s, which the configuration lacks", key)
		}
	}
}

// keysOf lists the keys of a configuration, those of lists of structs too.
func keysOf(of reflect.Type, at string) (out []string) {
	for _, f := range reflect.VisibleFields(of) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		in := f.Type
		for in.Kind() == reflect.Slice || in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() == reflect.Struct {
			out = append(out, keysOf(in, at+key+".")...)
			continue
		}
		out = append(out, at+key)
	}
	return out
}

// namesOfTests returns the names of all tests and stories of the tree.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if story, ok := strings.CutPrefix(name, "testdata/script/"); ok {
			out[strings.TrimSuffix(story, ".txtar")] = true
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			out[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
