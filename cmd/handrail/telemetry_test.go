package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/telemetry"
	"github.com/handrail-bot/handrail/cmd/telemetry/telemetrytest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// scrape returns the page of a story's metrics.
func (s *story) scrape() string {
	s.t.Helper()
	resp, err := http.Get("http://" + s.srv.scraped.String() + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s, %v", resp.Status, body, err)
	}
	return string(body)
}

// scrapeUntil scrapes until the page has lines, which it returns.
func (s *story) scrapeUntil(lines ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		page := s.scrape()
		if containsAllOf(page, lines) {
			return page
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("the page lacks one of %q:\n%s", lines, page)
		case <-tick.C:
		}
	}
}

// TestMetrics: a session from the request to the pull request raises the counters; its
// open request is a gauge, also for another server; and no name of the repository, of an
// account or of the session is on the page.
func TestMetrics(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askThenFix)
	s.cfg.Metrics.Listen = "127.0.0.1:0"
	s.restart(nil)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.until("**awaiting approval**")
	for range 2 {
		s.scrapeUntil("handrail_approvals_open 1\n", `handrail_sessions{state="awaiting approval"} 1`+"\n")
		s.restart(nil) // another server knows it, too
	}
	s.say("you", "/agent approve "+id)
	s.done()
	page := s.scrapeUntil("handrail_approvals_open 0\n", `handrail_sessions_ended_total{status="done"} 1`)
	for _, line := range []string{
		`handrail_tool_calls_total{outcome="ok",tool="run_terminal_command"} 1$`,
		`handrail_tool_call_duration_seconds_count{tool="edit_file"} 1$`,
		`handrail_turns_total{model="m"} [1-9]`,
		`handrail_tokens_total{kind="prompt",model="m"} [1-9]`,
		`handrail_time_to_first_token_seconds_count{model="m"} [1-9]`,
		`handrail_prompt_bytes_total{kind="new",model="m"} [1-9]`,
		`handrail_github_requests_total{code="2xx",method="GET"} [1-9]`,
		`handrail_queue_wait_seconds_count [1-9]`,
		`handrail_deliveries_total{outcome="done"} [1-9]`,
	} {
		if !regexp.MustCompile(`(?m)^` + line).MatchString(page) {
			t.Errorf("the page lacks %s", line)
		}
	}
	for _, name := range []string{"team", "you", "greet", id, "127.0.0.1", string(s.cfg.GitHub.WebhookSecret)} {
		if strings.Contains(page, name) {
			t.Errorf("the page has %q", name)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	if resp, err := http.Get(s.srv.url() + "/metrics"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the webhook's port answers %v, %v", resp, err)
	}
}

// TestTracesOfASession: a session that waited for an approval is two linked traces at a
// collector, the lines of the log have them, and they follow from its event log.
func TestTracesOfASession(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, askThenFix)
	c := telemetrytest.New(t)
	s.cfg.Traces.Endpoint = c.URL
	s.restart(nil)
	s.say("you", "/agent fix the greeting and clean the build")
	id := s.request()
	s.until("**awaiting approval**")
	s.say("you", "/agent approve "+id)
	s.done()
	row, err := s.srv.store.Sessions.ByThread(t.Context(), s.issue.Key())
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.srv.store.Logs.Page(t.Context(), row.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, c.Wait(ctx, "invoke_agent handrail", 2)) // a server that ends sends its last ones for a short time
	s.stop()
	traces, names := map[string]bool{}, map[string]int{}
	for _, span := range c.Spans() {
		traces[fmt.Sprintf("%x", span.GetTraceId())] = true
		names[span.GetName()]++
		if attrs := telemetrytest.Attributes(span.GetAttributes()); attrs["gen_ai.conversation.id"] != row.ID {
			t.Errorf("%s is of the conversation %q", span.GetName(), attrs["gen_ai.conversation.id"])
		}
	}
	for name, n := range map[string]int{
		"invoke_agent handrail": 2, "chat m": 3, "execute_tool run_terminal_command": 1, "execute_tool edit_file": 1, "wait_for_approval": 1,
	} {
		if names[name] < n {
			t.Errorf("%d spans %s, want %d", names[name], name, n)
		}
	}
	if names["checkpoint"]+names["save"] == 0 {
		t.Errorf("no checkpoint is among %v", names)
	}
	told := telemetry.TraceIDs(row.ID, events)
	if len(traces) != 2 || len(told) != 2 || !traces[told[0]] || !traces[told[1]] {
		t.Errorf("traces %v, and the log tells %v", traces, told)
	}
	if !regexp.MustCompile(`session"?[=:]"?`+row.ID).MatchString(s.log.String()) || !strings.Contains(s.log.String(), told[0]) {
		t.Errorf("the log has no line with the trace %s", told[0])
	}
	for _, text := range []string{"Helo", "rm -rf build", "greet.sh"} {
		if strings.Contains(c.Raw(), text) {
			t.Errorf("the traces have the content %q", text)
		}
	}
}

// TestTracesAway: a collector that is away changes nothing.
func TestTracesAway(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := newStory(t, greeting, fixGreeting)
	s.cfg.Traces.Endpoint = "http://127.0.0.1:9"
	s.restart(nil)
	s.say("you", "/agent fix the greeting")
	s.done()
}

// seriesOf returns the names of the series in a text, without the suffixes of histograms.
func seriesOf(text string) (names []string) {
	for _, name := range regexp.MustCompile(`handrail_[a-z_]+`).FindAllString(text, -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestMetricsDocs: the documentation names exactly the series that there are, and the
// board and the alerts of docs/deploy use only those.
func TestMetricsDocs(t *testing.T) {
	t.Parallel()
	has := telemetry.Names()
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, name := range has {
		if !strings.Contains(read("metrics.md"), "| `"+name+"`") {
			t.Errorf("docs/metrics.md lacks a row for %s", name)
		}
	}
	for _, file := range []string{"metrics.md", "deploy/grafana.json", "deploy/alerts.yml"} {
		for _, name := range seriesOf(read(file)) {
			if !slices.Contains(has, name) {
				t.Errorf("%s: there is no series %s", file, name)
			}
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read("deploy/alerts.yml")), &alerts); err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts.Groups[0].Rules {
		if r.Alert == "" || r.Expr == "" || r.For == "" || r.Annotations["summary"] == "" || !strings.Contains(read("metrics.md"), "`"+r.Alert+"`") {
			t.Errorf("the alert %q is incomplete, or not in docs/metrics.md", r.Alert)
		}
	}
}

// TestTelemetryIsOff: a server without the keys has no metrics and no traces.
func TestTelemetryIsOff(t *testing.T) {
	t.Parallel()
	metrics, traces, err := newTelemetry(config.Server{}, "test", nil, &console{})
	if metrics != nil || traces != nil || err != nil {
		t.Errorf("metrics %v, traces %v, %v", metrics, traces, err)
	}
	if telemetry.TraceIDs("s1", []session.Event{}) != nil {
		t.Error("an empty log has traces")
	}
}
