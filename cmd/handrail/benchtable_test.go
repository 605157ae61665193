package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	benchTable = flag.String("bench.table", "", "make the table of docs/performance.md: short or all")
	benchBusy  = flag.Int("bench.busy", 0, "processes that use the processors meanwhile")
)

// bench is a run of go test with benchmarks in it.
type bench struct {
	short bool // belongs to the short table too
	dir   string
	args  []string // of go test
	flags []string // of the test's program
}

// benches are what is run, the quick ones first.
var benches = []bench{
	{short: true, dir: "./agent/tools/builtin", args: []string{"-bench", "^BenchmarkFind$"}},
	{short: true, dir: "./agent/llm/toolcall", args: []string{"-bench", "^BenchmarkParse4KB$"}},
	{short: true, dir: "./agent/workspace/host", args: []string{"-bench", "IsBinary"}},
	{short: true, dir: "./agent/workspace/host", args: []string{"-bench", "Ignore"}},
	{short: true, dir: "./policy/shell", args: []string{"-bench", "^BenchmarkAnalyze$", "-benchtime", "100x"}},
	{short: true, dir: "./agent/patch", args: []string{"-bench", "^BenchmarkApply$", "-benchtime", "100x"}},
	{short: true, dir: "./agent", args: []string{"-bench", "^BenchmarkReplay200Turns$", "-benchtime", "20x"}},
	{short: true, dir: "./policy/secret", args: []string{"-bench", "^BenchmarkNewScanner$", "-benchtime", "5x"}},
	{short: true, dir: "./cmd/handrail", args: []string{"-bench", "^Benchmark(Webhook|Prompt)$", "-benchtime", "200x"}},
	{short: true, dir: "./cmd/handrail", args: []string{"-bench", "^BenchmarkRest$", "-benchtime", "1x"}},
	{short: true, dir: "./cmd/handrail", args: []string{"-run", "^Test(ManySessions|ManyParked)$"}},
	{dir: "./agent/workspace", args: []string{"-bench", "^BenchmarkInside$", "-benchtime", "20x"}},
	{dir: "./agent/workspace/host", args: []string{"-bench", "^BenchmarkDefinition$", "-benchtime", "100x"}},
	{dir: "./cmd/handrail", args: []string{"-bench", "^Benchmark(Run33|Turn|Demo|Start|Reaction)$", "-benchtime", "5x"}},
	{dir: "./cmd/handrail", args: []string{"-bench", "^BenchmarkRivals$", "-benchtime", "3x"}},
	{dir: "./cmd/handrail", args: []string{"-bench", "^Benchmark(Open|Commit)$", "-benchtime", "3x"}},
	{dir: "./cmd/handrail", args: []string{"-run", "^TestManyFiles$"}, flags: []string{"-load.files=50000"}},
	{dir: "./cmd/handrail", args: []string{"-run", "^TestManySessions$"}, flags: []string{"-load.sessions=100"}},
	{dir: "./cmd/handrail", args: []string{"-run", "^TestManyParked$"}, flags: []string{"-load.copies=10000"}},
	{dir: "./agent/llm/toolcall", args: []string{"-bench", "^BenchmarkHostile10MB$", "-benchtime", "1x"}},
	{dir: "./bot/store/sqlite", args: []string{"-bench", "^BenchmarkOld$", "-benchtime", "20x"}},
	{dir: "./bot/webhook", args: []string{"-bench", "^BenchmarkLoad$", "-benchtime", "3x"}},
	{dir: "./gitops", args: []string{"-bench", "^Benchmark(Branches|ChangedFiles)$", "-benchtime", "3x"}},
}

// row is a line of the table: a figure, the one beside it that a person would get
// otherwise, and what both may be.
type row struct {
	what   string
	figure string  // name and unit, as in "Parse4KB ns/op"
	most   float64 // in the table's unit, 0 for no bar
	beside string  // name and unit
	times  float64 // most of figure/beside, 0 for no bar
}

// rows name figures by benchmark and unit; what ends in ns/op is shown as ms.
var rows = []row{
	{what: "find a tool by name", figure: "Find ns/op", most: 0.0001},
	{what: "take a call out of 4 KB, processor time", figure: "Parse4KB cpu-ns/op", most: 0.05},
	{what: "read 10 MB of the slowest hostile text, processor time", figure: "Hostile10MB/* cpu-ns/op", most: 300},
	{what: "tell text from binary", figure: "IsBinary/text ns/op", most: 0.1},
	{what: "is a path ignored", figure: "Ignore ns/op", most: 0.01},
	{what: "severity of a command", figure: "Analyze/* ns/op", most: 0.2},
	{what: "apply an edit to 1,000 lines", figure: "Apply/* ns/op", most: 2},
	{what: "rebuild a session of 200 turns", figure: "Replay200Turns ns/op", most: 20},
	{what: "memory of the scanner for secrets after a text; with every rule compiled, MiB", figure: "NewScanner/text live-MiB", beside: "NewScanner/every live-MiB"},
	{what: "build a prompt", figure: "Prompt ns/op", most: 1},
	{what: "a delivery stored, median; a bare handler", figure: "Webhook/handrail p50-ms", most: 5, beside: "Webhook/bare p50-ms", times: 5},
	{what: "read 1,000 lines, in process", figure: "Inside/local/read1000lines ns/op", most: 1},
	{what: "read 1,000 lines, docker", figure: "Inside/docker/read1000lines ns/op", most: 3},
	{what: "read 1,000 lines, bwrap", figure: "Inside/bwrap/read1000lines ns/op", most: 3},
	{what: "read five such files, docker", figure: "Inside/docker/read5files ns/op", most: 5},
	{what: "read five such files, bwrap", figure: "Inside/bwrap/read5files ns/op", most: 5},
	{what: "a command in the open shell, docker", figure: "Inside/docker/runTrue ns/op", most: 2},
	{what: "a command in the open shell, bwrap", figure: "Inside/bwrap/runTrue ns/op", most: 2},
	{what: "search 50,000 files, a literal; ripgrep there", figure: "Inside/bwrap/search/literal ns/op", beside: "Inside/bwrap/ripgrep/literal ns/op", times: 1.2},
	{what: "the same, folded case; ripgrep", figure: "Inside/bwrap/search/folded ns/op", beside: "Inside/bwrap/ripgrep/folded ns/op", times: 1.2},
	{what: "the same, alternation; ripgrep", figure: "Inside/bwrap/search/alternation ns/op", beside: "Inside/bwrap/ripgrep/alternation ns/op", times: 1.2},
	{what: "the same, literal and class; ripgrep", figure: "Inside/bwrap/search/literal_and_class ns/op", beside: "Inside/bwrap/ripgrep/literal_and_class ns/op", times: 1.2},
	{what: "the same, class; ripgrep", figure: "Inside/bwrap/search/class ns/op", beside: "Inside/bwrap/ripgrep/class ns/op", times: 1.2},
	{what: "a definition, warm, in this repository; gopls alone", figure: "Definition handrail-ms", most: 50, beside: "Definition alone-ms"},
	{what: "the same: memory of gopls, MiB", figure: "Definition MB"},
	{what: "a session of 33 turns, docker", figure: "Run33/docker ns/op", most: 1000},
	{what: "a session of 33 turns, bwrap", figure: "Run33/bwrap ns/op", most: 1000},
	{
		what:   "33 steps without a sandbox; opencode",
		figure: "Rivals/handrail ns/op",
		beside: "Rivals/opencode ns/op",
		times:  1. / 60,
	},
	{
		what:   "the same in processor time; qwen-code, ms",
		figure: "Rivals/handrail cpu-ms",
		beside: "Rivals/qwen-code cpu-ms",
		times:  1. / 30,
	},
	{what: "one more turn, docker", figure: "Turn/docker ms/turn", most: 10},
	{what: "one more turn, bwrap", figure: "Turn/bwrap ms/turn", most: 10},
	{what: "handrail demo, bwrap", figure: "Demo/bwrap ns/op", most: 15000},
	{what: "handrail version", figure: "Start ns/op"},
	{what: "a run of the Action to its reaction", figure: "Reaction ns/op", most: 1000},
	{what: "50,000 files, a known commit, bwrap; git worktree add", figure: "Open/known-bwrap ns/op", most: 200, beside: "Open/first git-worktree-add-ns/op"},
	{what: "50,000 files, ten changed, bwrap; git worktree add", figure: "Open/new-bwrap ns/op", most: 300, beside: "Open/first git-worktree-add-ns/op"},
	{what: "50,000 files, the first commit; git worktree add", figure: "Open/first ns/op", beside: "Open/first git-worktree-add-ns/op", times: 1},
	{what: "50,000 files, the first commit; git clone --depth 1", figure: "Open/first ns/op", beside: "Open/first git-clone-depth1-ns/op", times: 1},
	{what: "50,000 files, a known commit, docker; docker run", figure: "Open/known-docker ns/op", beside: "Open/docker-run ns/op", times: 1.5},
	{what: "checkpoint of ten of 50,000 files; git add, git commit", figure: "Commit/handrail ns/op", most: 50, beside: "Commit/git ns/op"},
	{what: "50,000 files, comment to first request, first time, bwrap", figure: "ManyFilesFirst/bwrap first-request-ms"},
	{what: "the same, the second time", figure: "ManyFilesKnown/bwrap first-request-ms", most: 2000},
	{what: "50,000 files, approval to done, bwrap", figure: "ManyFilesKnown/bwrap approved-to-done-ms", most: 2000},
	{what: "sessions at once, of each, by the clock", figure: "ManySessions ms/session"},
	{what: "the same: comment to first request, median", figure: "ManySessions median-first-ms"},
	{what: "the same: median of a person with a fifth; of one with four fifths", figure: "ManySessions few-first-ms", beside: "ManySessions many-first-ms", times: 1.05},
	{what: "the same: peak of memory, MiB", figure: "ManySessions peak-MiB", most: 256},
	{what: "a server at rest; without the pages of its program, MiB", figure: "Rest rest-MiB", most: 40, beside: "Rest own-MiB"},
	{what: "a server with parked sessions starts", figure: "ManyParked start-ms", most: 500},
	{what: "the same: an answer wakes one, to its first request", figure: "ManyParked wake-ms", most: 1000},
	{what: "the same: memory while all wait; without the pages of its program, MiB", figure: "ManyParked resting-MiB", most: 100, beside: "ManyParked own-MiB"},
	{what: "beside 1,000,000 old sessions: the slowest list or look; beside 10,000", figure: "Old/1000000/* ns/op", most: 50, beside: "Old/10000/* ns/op"},
	{what: "1,000 deliveries a second, 99th percentile; a bare handler", figure: "Load/handrail p99-ms", most: 10, beside: "Load/bare p99-ms"},
	{what: "20,000 branches, first mirror; 2,000", figure: "Branches/first/20000 ns/op", beside: "Branches/first/2000 ns/op", times: 10},
	{what: "20,000 branches, look-up of one; 2,000", figure: "Branches/look-up/20000 ns/op", beside: "Branches/look-up/2000 ns/op", times: 10},
	{what: "20,000 branches, fetch of a commit; 2,000", figure: "Branches/fetch/20000 ns/op", beside: "Branches/fetch/2000 ns/op", times: 10},
	{what: "20,000 branches, push of ten files; 2,000", figure: "Branches/push/20000 ns/op", beside: "Branches/push/2000 ns/op", times: 10},
	{what: "3,000 changed files; 300", figure: "ChangedFiles/3000 ns/op", beside: "ChangedFiles/300 ns/op", times: 10},
}

// TestBenchTable runs the benchmarks and prints one table: what was measured, what a
// person would use instead beside it, and which line misses its bar. It asserts
// nothing but that what it runs passes: machines differ.
func TestBenchTable(t *testing.T) {
	if *benchTable == "" {
		t.Skip("ON DEMAND: make bench-short, make bench")
	}
	keepBusy(t, *benchBusy)
	figures := map[string]float64{}
	began := time.Now()
	for _, b := range benches {
		if *benchTable == "short" && !b.short {
			continue
		}
		args := append([]string{"test", "-count=1", "-v", "-timeout", "2h"}, b.args...)
		if b.args[0] == "-bench" {
			args = append(args, "-run", "^$")
		}
		args = append(args, b.dir)
		if len(b.flags) > 0 {
			args = append(append(args, "-args"), b.flags...)
		}
		fmt.Fprintf(os.Stderr, "go %s\n", strings.Join(args, " "))
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = "../.."
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out.String())
		}
		readFigures(strings.NewReader(out.String()), figures)
	}
	fmt.Printf("| what | measured | beside | ratio | bar | |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if line, ok := r.line(figures); ok {
			fmt.Println(line)
		} else if *benchTable == "all" {
			fmt.Printf("| %s | not measured here | | | | |\n", r.what)
		}
	}
	fmt.Printf("\nin %s\n", time.Since(began).Round(time.Second))
}

// figureLine is a line of go test with a benchmark's figures.
var figureLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)`)

// readFigures keeps every figure by its name and unit; of those that are the same but for
// the part behind the last slash it also keeps the greatest, under "*".
func readFigures(out io.Reader, figures map[string]float64) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := figureLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break // words
			}
			if strings.HasSuffix(fields[i+1], "ns/op") {
				value /= 1e6
			}
			figures[m[1]+" "+fields[i+1]] = value
			if at := strings.LastIndex(m[1], "/"); at > 0 {
				all := m[1][:at] + "/* " + fields[i+1]
				figures[all] = max(figures[all], value)
			}
		}
	}
}

// line is r with its figures, if it was measured.
func (r row) line(figures map[string]float64) (string, bool) {
	value, ok := figures[r.figure]
	if !ok {
		return "", false
	}
	beside, ratio, bar, short := "", "", "", ""
	if other, ok := figures[r.beside]; ok && other > 0 {
		beside, ratio = sized(other), sized(value/other)
		if r.times > 0 && value/other > r.times {
			short = "short of its bar"
		}
	}
	var bars []string
	if r.most > 0 {
		bars = append(bars, sized(r.most))
		if value > r.most {
			short = "short of its bar"
		}
	}
	if r.times > 0 {
		bars = append(bars, sized(r.times)+" ×")
	}
	bar = strings.Join(bars, ", ")
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", r.what, sized(value), beside, ratio, cmp.Or(bar, "–"), short), true
}

// sized is a number with three figures that count.
func sized(v float64) string {
	return strconv.FormatFloat(v, 'g', max(3, len(strconv.Itoa(int(v)))), 64)
}
