package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var ladderFlags = struct {
	model, form, side, only, peers, workspace, keep *string
	real, write                                     *bool
	wall                                            *time.Duration
}{
	real:      flag.Bool("ladder.real", false, "ask a real model server"),
	model:     flag.String("ladder.model", "", "model that does the tasks, as its server names it"),
	form:      flag.String("ladder.form", "", "form of answering: native, text or files; as the program chooses if empty"),
	side:      flag.String("ladder.side", "tune", "tune, decide or all"),
	only:      flag.String("ladder.only", "", "only tasks whose name has one of these in it, with commas"),
	peers:     flag.String("ladder.peers", "", "programs beside this one, with commas: aider, ask"),
	workspace: flag.String("ladder.workspace", "bwrap", "where its tools run"),
	keep:      flag.String("ladder.keep", "", "directory for the sessions' logs, of the side tune"),
	write:     flag.Bool("ladder.write", false, "put rows into docs/models.md"),
	wall:      flag.Duration("ladder.wall", 7*time.Minute, "for one task"),
}

// TestLadderReal has a model of a real server do the tasks of the ladder, and other
// programs with the same model beside it, task by task.
func TestLadderReal(t *testing.T) {
	if !*ladderFlags.real {
		t.Skip("make ladder asks a real model server")
	}
	c := contest{
		model: *ladderFlags.model, workspace: *ladderFlags.workspace, form: *ladderFlags.form, wall: *ladderFlags.wall,
	}
	version, models := c.find(t)
	if !slices.Contains(models, c.model) && !slices.Contains(models, c.model+":latest") {
		t.Fatalf("MODEL=… is missing; %s offers: %s", c.server, strings.Join(models, ", "))
	}
	who := []player{players["handrail"]}
	for _, name := range strings.FieldsFunc(*ladderFlags.peers, func(r rune) bool { return r == ',' }) {
		p, ok := players[name]
		if !ok {
			t.Fatalf("PEERS=%s: peers are aider and ask", name)
		}
		who = append(who, p)
	}
	if !slices.Contains([]string{"tune", "decide", "all"}, *ladderFlags.side) {
		t.Fatalf("SIDE=%s: it is tune, decide or all", *ladderFlags.side)
	}
	c.program = buildProgram(t)
	standings := make([]ascent, len(who))
	done, err := resultsIn[played](*keptAt)
	must(t, err)
	t.Logf("%s\n%s", version, playedHead)
	for _, task := range ladderTasks(t) {
		if !chosen(task) {
			continue
		}
		task.walled = c.workspace == "bwrap"
		v, err := task.judge(t.Context(), t.TempDir(), task.solved()) // and what compilers keep is there for all
		must(t, err)
		if !v.Visible || !v.Hidden {
			t.Fatalf("%s cannot be judged here:\n%s", task.Name, v.Said)
		}
		for i, p := range who {
			came, err := done.once(
				strings.Join([]string{c.model, c.form, p.name, task.Name}, " "),
				func() played { return climbOnce(t, c, p, task) },
			)
			must(t, err)
			standings[i].add(task, came)
			t.Log(came.line(task, p.name))
		}
	}
	var out strings.Builder
	for i, p := range who {
		out.WriteString(standings[i].totals(p.name))
	}
	t.Log("\n" + out.String())
	t.Log("\n" + ladderHead)
	for i, p := range who {
		row := standings[i].row(p.name, version)
		t.Log(row)
		if *ladderFlags.write && *ladderFlags.only == "" {
			must(t, keepRow("../../docs/models.md", ladderHead, row, 0, 1, 2, 3))
		}
	}
}

func chosen(task *climb) bool {
	if side := *ladderFlags.side; side != "all" && task.Side != side {
		return false
	}
	return slices.ContainsFunc(strings.Split(*ladderFlags.only, ","), func(part string) bool {
		return strings.Contains(task.Name, part)
	})
}

// climbOnce has a player do a task in a repository of its own, and judges the files that it leaves.
func climbOnce(t *testing.T, c contest, p player, task *climb) played {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, task.Name)
	for at, text := range task.repo {
		must(t, writeAt(repo, at, text))
	}
	inGit(t, repo, "init", "-q", "-b", "main")
	inGit(t, repo, "config", "user.name", "a")
	inGit(t, repo, "config", "user.email", "a@example.com")
	inGit(t, repo, "add", "-A", "-f")
	inGit(t, repo, "commit", "-q", "-m", "start")
	came, left := p.play(t, c, task, dir)
	var err error
	came.Verdict, err = task.judge(t.Context(), filepath.Join(dir, "judge"), left)
	must(t, err)
	came.Lost, err = task.destroyed(t.Context(), left)
	must(t, err)
	if task.Side == "tune" && *ladderFlags.keep != "" && !came.solved() {
		must(t, writeAt(*ladderFlags.keep, task.Name+"."+p.name+".txt", leftBehind(task, left)+"\n"+came.Verdict.Said))
	}
	return came
}

// leftBehind are the files that differ from the repository's.
func leftBehind(task *climb, left map[string]string) string {
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(left)) {
		if text := left[p]; text != task.repo[p] {
			fmt.Fprintf(&out, "-- %s --\n%s", p, text)
		}
	}
	return out.String()
}

const playedHead = "task                program  solved  turns  tokens in, out  first s  load s   wall s  end"

func (p played) line(task *climb, name string) string {
	solved := map[bool]string{true: "yes", false: "no"}[p.solved()]
	end := oneLine(p.Said)
	if p.Done && !p.solved() {
		end += map[bool]string{true: "; hidden tests fail", false: "; VISIBLE TESTS FAIL"}[p.Verdict.Visible]
	}
	if len(p.Lost) > 0 {
		end += "; DESTROYED: " + strings.Join(p.Lost, ", ")
	}
	return fmt.Sprintf("%-19s %-8s %-6s %6d %15s %8.1f %7.1f %8.1f  %s", task.Name, name, solved,
		p.Asked, fmt.Sprintf("%d, %d", p.Prompt, p.Answer), p.First.Seconds(), p.Load.Seconds(), p.Wall.Seconds(), end)
}

// ascent is the result of all tasks of a player.
type ascent struct {
	tried, solved map[string]int // by rung
	red, hidden   int            // done beside visible tests that fail, and beside hidden ones only
	lost          int            // files
	all           []played
}

func (a *ascent) add(task *climb, p played) {
	if a.tried == nil {
		a.tried, a.solved = map[string]int{}, map[string]int{}
	}
	a.tried[task.Rung]++
	switch {
	case p.solved():
		a.solved[task.Rung]++
	case p.Done && !p.Verdict.Visible:
		a.red++
	case p.Done:
		a.hidden++
	}
	a.lost += len(p.Lost)
	a.all = append(a.all, p)
}

// counts are how many tasks were solved on each rung, and in all.
func (a *ascent) counts() []string {
	var out []string
	tried, solved := 0, 0
	for _, r := range rungs {
		out = append(out, fmt.Sprintf("%d of %d", a.solved[r], a.tried[r]))
		tried, solved = tried+a.tried[r], solved+a.solved[r]
	}
	return append(out, fmt.Sprintf("%d of %d", solved, tried))
}

func (a *ascent) totals(name string) string {
	n := a.counts()
	return fmt.Sprintf("%-8s line %s, function %s, files %s; in all %s; "+
		"%d files destroyed; done beside red tests %d, hidden tests fail %d\n", name, n[0], n[1], n[2], n[3],
		a.lost, a.red, a.hidden)
}

// median returns the middle one of a figure.
func median[T cmp.Ordered](all []played, of func(played) T) (middle T) {
	var figures []T
	for _, p := range all {
		figures = append(figures, of(p))
	}
	slices.Sort(figures)
	if len(figures) > 0 {
		middle = figures[len(figures)/2]
	}
	return middle
}

const ladderHead = "| Model | Program | Form | Side | Line | Function | Files | Solved | Destroyed " +
	"| Done beside red | Done, hidden fail | Turns | Tokens in, out | First word, wall s | Tokens/s " +
	"| Server | Date | Command |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"

// row is the line of docs/models.md; turns, tokens and times are medians of one task.
func (a *ascent) row(name, server string) string {
	form := map[string]string{"handrail": cmp.Or(*ladderFlags.form, "auto"), "aider": "whole", "ask": "whole files"}[name]
	command := "make ladder MODEL=" + *ladderFlags.model
	for _, f := range [][2]string{
		{"FORM", *ladderFlags.form}, {"SIDE", *ladderFlags.side}, {"ONLY", *ladderFlags.only}, {"PEERS", *ladderFlags.peers},
	} {
		if f[1] != "" {
			command += " " + f[0] + "=" + f[1]
		}
	}
	counts := func(of func(played) int) int { return median(a.all, of) }
	figure := func(of func(played) float64) float64 { return median(a.all, of) }
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %d | %d | %d | %d | %d, %d | %.1f, %.1f | %.0f | %s | %s | `%s` |",
		*ladderFlags.model, name, form, *ladderFlags.side, strings.Join(a.counts(), " | "), a.lost, a.red, a.hidden,
		counts(func(p played) int { return p.Asked }),
		counts(func(p played) int { return p.Prompt }), counts(func(p played) int { return p.Answer }),
		figure(func(p played) float64 { return p.First.Seconds() }),
		figure(func(p played) float64 { return p.Wall.Seconds() }),
		figure(func(p played) float64 { return float64(p.Answer) / max(p.Writing.Seconds(), 0.001) }),
		server, time.Now().Format(time.DateOnly), command)
}

// The ladder's table holds measurements only, in the form that make ladder writes.
func TestLadderTable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/models.md")
	must(t, err)
	_, table, ok := strings.Cut(string(data), ladderHead+"\n")
	if !ok {
		t.Fatal("docs/models.md has no table as make ladder writes it")
	}
	of, n := `^\d+ of \d+$`, `^\d+$`
	form := []string{`\S`, `^(handrail|aider|ask)$`, `\S`, `^(tune|decide|all)$`, of, of, of, of, n, n, n, n,
		`^\d+, \d+$`, `^\d+\.\d, \d+\.\d$`, n, `\d`, `^20\d\d-\d\d-\d\d$`, "^`make ladder"}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := cells(strings.TrimSpace(line))
		if len(row) != len(form) {
			t.Errorf("%d cells, want %d: %s", len(row), len(form), line)
			continue
		}
		for i, want := range form {
			if !regexp.MustCompile(want).MatchString(row[i]) {
				t.Errorf("%q is no measurement, want %s: %s", row[i], want, line)
			}
		}
	}
}
