package telemetry

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var promtool = flag.String("telemetry.promtool", "", "promtool of Prometheus; empty skips what needs it")

// TestPromtool gives the alerts and the expressions of the board to Prometheus' own tool:
// all can be read, each alert fires in its case, and the page of metrics is as its
// conventions want it. `make promtool` runs it.
func TestPromtool(t *testing.T) {
	if *promtool == "" {
		t.Skip("needs -telemetry.promtool")
	}
	rules, err := filepath.Abs("../../docs/deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), *promtool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	run("check", "rules", rules)
	cases, err := os.ReadFile("testdata/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	run("test", "rules", write("cases.yml", strings.ReplaceAll(string(cases), "RULES", rules)))
	run("check", "rules", write("board.yml", board(t)))
	check := exec.CommandContext(t.Context(), *promtool, "check", "metrics")
	check.Stdin = strings.NewReader(page(t, full(t)))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// board returns the expressions of the board as rules.
func board(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	text, n := "groups:\n- name: board\n  rules:\n", 0
	for _, p := range b.Panels {
		for _, target := range p.Targets {
			n++
			text += fmt.Sprintf("  - {record: 'board:panel:%d', expr: %q}\n", n, target.Expr)
		}
	}
	if n < 10 {
		t.Fatalf("the board has %d expressions", n)
	}
	return text
}
