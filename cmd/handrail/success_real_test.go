package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestModels has a model of a real server mend the faults, prints how it went and puts
// a row into docs/models.md. Without the name of a model it says which there are.
func TestModels(t *testing.T) {
	if !*successFlags.real {
		t.Skip("make models asks a real model server")
	}
	fetchLibs(t)
	c := contest{program: buildHandrail(t), model: *successFlags.model, workspace: *successFlags.workspace, wall: *successFlags.wall}
	version, models := c.find(t)
	if c.model == "" {
		t.Fatalf("MODEL=… is missing; %s offers: %s", c.server, strings.Join(models, ", "))
	}
	var all standing
	done, err := resultsIn[score](*keptAt)
	must(t, err)
	for _, f := range exercises(t) {
		if !strings.Contains(f.Name, *successFlags.only) || *successFlags.tasks > 0 && all.tried == *successFlags.tasks {
			continue
		}
		l, err := f.lib(t.Context())
		if errors.Is(err, errNotHere) {
			t.Logf("%-22s left out: %v", f.Name, err)
			continue
		}
		must(t, err)
		s, err := done.once(c.model+" "+f.Name, func() score { return c.play(t, f, l) })
		must(t, err)
		all.add(s)
		t.Logf("%-22s %s %s", f.Name, s, oneLine(s.Reason))
	}
	command := "make models MODEL=" + c.model
	if *successFlags.tasks > 0 {
		command += fmt.Sprintf(" TASKS=%d", *successFlags.tasks)
	}
	if *successFlags.only != "" {
		command += " ONLY=" + *successFlags.only
	}
	if c.wall != faultTime {
		command += " WALL=" + c.wall.String()
	}
	if c.workspace != "auto" {
		command += " WORKSPACE=" + c.workspace
	}
	row := all.row(c.model, version, command)
	t.Log("\n" + modelsHead + "\n" + row)
	must(t, keepRow("../../docs/models.md", modelsHead, row, 10, 12))
}

// find takes the server that the environment names, and asks it for its models.
func (c *contest) find(t *testing.T) (version string, models []string) {
	t.Helper()
	at := os.Getenv("HANDRAIL_BASE_URL")
	if c.openAI = at != ""; !c.openAI {
		at = cmp.Or(os.Getenv("OLLAMA_HOST"), "127.0.0.1:11434")
		if !strings.Contains(at, "://") {
			at = "http://" + at
		}
	}
	var err error
	c.server, err = url.Parse(at)
	must(t, err)
	return c.offers(t)
}

// offers asks a server which it is, and for its models.
func (c contest) offers(t *testing.T) (version string, models []string) {
	t.Helper()
	get := func(path string, into any) http.Header {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(c.server.String(), "/")+path, nil)
		must(t, err)
		if key := os.Getenv("HANDRAIL_API_KEY"); key != "" && c.openAI {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("no model server answers: %v\n.ci/real-models starts one with small models; OLLAMA_HOST or HANDRAIL_BASE_URL names another", err)
		}
		defer resp.Body.Close()
		must(t, json.NewDecoder(resp.Body).Decode(into))
		return resp.Header
	}
	var list struct {
		Models []struct{ Name string }
		Data   []struct{ ID string }
	}
	if c.openAI {
		version = get("/models", &list).Get("Server")
		for _, m := range list.Data {
			models = append(models, m.ID)
		}
		return strings.TrimSpace("OpenAI-compatible " + version), models
	}
	var own struct{ Version string }
	get("/api/version", &own)
	get("/api/tags", &list)
	for _, m := range list.Models {
		models = append(models, m.Name)
	}
	return "Ollama " + own.Version, models
}

// fetchLibs brings here what npm and Debian have. What cannot be had is left out.
func fetchLibs(t *testing.T) {
	t.Helper()
	wanted := []string{tape}
	for _, f := range exercises(t) {
		if f.NPM != "" {
			wanted = append(wanted, f.NPM)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, p := range wanted {
		dir := filepath.Join(fetched(), "npm", p)
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
			continue
		}
		must(t, os.MkdirAll(dir, 0o755))
		cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", p)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("npm install %s: %v\n%s", p, err, out)
		}
	}
	if debianTests() != "" {
		return
	}
	dir := filepath.Join(fetched(), "python")
	must(t, os.MkdirAll(dir, 0o755))
	cmd := exec.CommandContext(ctx, "sh", "-c", `v=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') && apt-get download "libpython$v-testsuite" && dpkg-deb -x libpython*.deb .`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("fetch Python's tests: %v\n%s", err, out)
	}
}

// standing is what several sessions came to.
type standing struct {
	score
	tried, solved, believed int
}

func (a *standing) add(s score) {
	a.tried++
	if s.Solved {
		a.solved++
	}
	if s.FalseDone {
		a.believed++
	}
	a.Turns, a.Prompt, a.Answer = a.Turns+s.Turns, a.Prompt+s.Prompt, a.Answer+s.Answer
	a.Wall, a.Prefill = a.Wall+s.Wall, a.Prefill+s.Prefill
	a.Dropped, a.Repaired, a.Refused = a.Dropped+s.Dropped, a.Repaired+s.Repaired, a.Refused+s.Refused
}

const modelsHead = "| Model | Solved | Turns | Tokens in, out | Wall s | Prefill s | Dropped | Repaired | Sent back | False done | Server | Date | Command |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|"

func (a *standing) row(model, server, command string) string {
	return fmt.Sprintf("| %s | %d of %d | %d | %d, %d | %.0f | %.1f | %d | %d | %d | %d | %s | %s | `%s` |",
		model, a.solved, a.tried, a.Turns, a.Prompt, a.Answer, a.Wall.Seconds(), a.Prefill.Seconds(), a.Dropped, a.Repaired, a.Refused, a.believed,
		server, time.Now().Format(time.DateOnly), command)
}

// keepRow puts a row into the table under a head, in the place of the one that has
// the same in some columns.
func keepRow(path, head, row string, same ...int) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, table, ok := strings.Cut(string(data), head+"\n")
	if !ok {
		return fmt.Errorf("%s has no table with this head:\n%s", path, head)
	}
	lines := strings.Split(table, "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "|") })
	at := slices.IndexFunc(lines[:end], func(line string) bool {
		a, b := cells(line), cells(row)
		return len(a) == len(b) && !slices.ContainsFunc(same, func(i int) bool { return a[i] != b[i] })
	})
	if at < 0 {
		lines = slices.Insert(lines, end, row)
	} else {
		lines[at] = row
	}
	return os.WriteFile(path, []byte(before+head+"\n"+strings.Join(lines, "\n")), 0o644)
}

// A row goes into the table of its head, and takes the place of the one that it repeats.
func TestKeepRow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tables.md")
	head, other := "| a | b |\n|---|---|", "| c | d |\n|---|---|"
	must(t, os.WriteFile(path, []byte("one\n\n"+head+"\n\ntwo\n\n"+other+"\n| x | 1 |\n"), 0o644))
	for _, row := range []string{"| x | 1 |", "| y | 1 |", "| x | 2 |"} {
		must(t, keepRow(path, head, row, 0))
	}
	must(t, keepRow(path, other, "| z | 3 |", 0))
	got, err := os.ReadFile(path)
	must(t, err)
	want := "one\n\n" + head + "\n| x | 2 |\n| y | 1 |\n\ntwo\n\n" + other + "\n| x | 1 |\n| z | 3 |\n"
	if string(got) != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if keepRow(path, "| e |", "| 1 |", 0) == nil {
		t.Error("a table that is not there took a row")
	}
}

func cells(line string) []string {
	out := strings.Split(strings.Trim(line, "| "), "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// The table of docs/models.md holds what was measured and nothing else: each row says
// by which command, on which day, on which server. The bad models' rows say what
// TestBadModels asserts.
func TestModelsTable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/models.md")
	must(t, err)
	if !strings.Contains(string(data), modelsHead) {
		t.Fatal("docs/models.md has no table as make models writes it")
	}
	_, table, _ := strings.Cut(string(data), modelsHead+"\n")
	form := []string{`\S`, `^\d+ of \d+$`, `^\d+$`, `^\d+, \d+$`, `^\d+$`, `^\d+\.\d$`, `^\d+$`, `^\d+$`, `^\d+$`, `^\d+$`, `\d`, `^20\d\d-\d\d-\d\d$`, "^`make models"}
	bad := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := cells(strings.TrimSpace(line))
		if len(row) != len(form) {
			t.Errorf("%d cells: %s", len(row), line)
			continue
		}
		for i, want := range form {
			if !regexp.MustCompile(want).MatchString(row[i]) {
				t.Errorf("%q is no measurement, want %s: %s", row[i], want, line)
			}
		}
		for _, m := range badModels {
			if row[0] == badName(m.rate, m.text) {
				bad++
				if want := fmt.Sprintf("%d of %d", m.first, measuredFirst); row[1] != want {
					t.Errorf("%s: solved %s, and the test asserts %s", row[0], row[1], want)
				}
			}
		}
	}
	if bad != len(badModels) {
		t.Errorf("%d rows of bad models, want %d", bad, len(badModels))
	}
}
