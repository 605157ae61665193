package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy"
)

const longBranch = "agent/issue-1204-the-export-of-orders-looses-its-last-page-a1b2c3"

// wideDatabase returns a database with a session and schedules of long names.
func wideDatabase(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	const repo = "northwind-traders/order-management-service"
	var m session.Memory
	task := session.Task{
		Session: "s1a2b3c4d5e6", Thread: repo + "#1204", Text: "fix the export", Mode: "code", Model: "qwen3-coder:30b", Base: "b",
		Branch: longBranch,
	}
	must(t, m.Append(t.Context(),
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}),
		session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusDone, Summary: "Done."}}),
	))
	events, err := m.Events(t.Context(), 0)
	must(t, err)
	var b bytes.Buffer
	must(t, store.WriteLog(&b, task.Session, events))
	if code, out := verb(t, b.String(), "sessions", "import", "--database", path); code != 0 {
		t.Fatalf("import ends with %d: %s", code, out)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	must(t, err)
	entry := schedule.Entry{Schedule: policy.Schedule{Name: "dependencies-of-the-week", Cron: "0 5 * * 1"}, Repository: repo}
	refused := entry
	refused.Name, refused.Refused = "日本語の予定", "it would begin every 5 minutes, and this server allows one start in an hour"
	past := schedule.State{Past: []schedule.HistoryEntry{
		{At: time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC), What: "left out: the previous run has not ended"},
	}}
	for key, v := range map[string]any{
		"schedules": []string{repo}, "schedules " + repo: schedule.Table{Entries: []schedule.Entry{entry, refused}},
		"schedule " + repo + " " + entry.Name: past,
	} {
		data, err := json.Marshal(v)
		must(t, err)
		must(t, db.Meta.Swap(t.Context(), key, nil, data))
	}
	must(t, db.Close())
	return path
}

// inEighty reports lines of more than 80 columns.
func inEighty(t *testing.T, name, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%s: %d columns: %s", name, n, line)
		}
	}
}

// TestTablesFit: what verbs list has at most 80 columns in a pipe, or those of $COLUMNS,
// and nothing of it is cut off.
func TestTablesFit(t *testing.T) {
	t.Setenv("COLUMNS", "")
	db := wideDatabase(t)
	server := filepath.Join(t.TempDir(), "the-configuration-of-the-server-of-all-teams.yml")
	must(t, os.WriteFile(server, []byte(`database: `+db+`
model: {name: "hf.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q4_K_M"}
policy: {commands: {deny: ["git push *", "curl *", "terraform apply *", "kubectl delete *", "helm uninstall *"]}}
`), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string // without spaces and line breaks
	}{
		"tools":     {[]string{"tools", "list"}, "apply_diff"},
		"sessions":  {[]string{"sessions", "list", "--database", db}, "northwind-"},
		"session":   {[]string{"sessions", "show", "s1a2b3c4d5e6", "--database", db}, longBranch},
		"schedules": {[]string{"schedule", "list", "--database", db}, "dependencies-of-the-week"},
		"settings":  {[]string{"config", "show", "--config", server}, "commands.deny"},
		"defaults":  {[]string{"config", "show", "--config", server, "--effective"}, "approvals.deadline"},
	} {
		code, out := verb(t, "", c.args...)
		if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), ""), c.want) {
			t.Errorf("%s: ends with %d, or lacks %q:\n%s", name, code, c.want, out)
		}
		inEighty(t, name, out)
	}
	var b strings.Builder
	doctor.Say(&door.Console{Out: &b}, doctor.Report{Findings: []doctor.Finding{{
		Name: "model", Detail: "http://gpu-server-of-all-teams.example.org:11434 does not answer: connection refused",
		Remedy: "Start Ollama there, or name the address of another server in model.ollama of handrail.yml", Needed: true,
	}}})
	writeDiagnosis(&console{out: &b}, doctor.Diagnosis{Model: "m", Findings: []doctor.Finding{{
		Name: "native calls", Detail: "no call came, and the answer was empty: the server dropped a call that it did not understand",
	}}, Advice: []string{"Take the form files: `model: {form: files}` in handrail.yml, or `--form files` for run, chat and resume."}})
	inEighty(t, "doctor", b.String())
	t.Setenv("COLUMNS", "300")
	if _, out := verb(t, "", "sessions", "list", "--database", db); !strings.Contains(out, longBranch) || strings.Count(out, "\n") != 2 {
		t.Errorf("not a line for each session in 300 columns:\n%s", out)
	}
}
