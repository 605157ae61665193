package shell

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestJoinedLists: a quoted list is one word, as bash has it.
func TestJoinedLists(t *testing.T) {
	for _, command := range []string{
		`set -- rm -rf src; bash -c "$*"`,
		`a=(rm -rf src); bash -c "${a[*]}"`,
		`set -- rm -rf src; sh -c "$* -v"`,
		`a=(rm -rf src); x="${a[*]}"; eval "$x"`,
		`IFS=,; set -- rm -rf src; x="$*"; bash -c "${x//,/ }"`,
		`set -- f -rf src; bash -c "r${1/#f/m} ${*:2}"`,
	} {
		if v := Analyze(command); v.Severity < Medium {
			t.Errorf("%q is %s, want at least medium", command, v.Severity)
		}
	}
}

// TestEvaluatedVariables: bash evaluates what a variable holds where it wants
// a number, and with that runs the substitutions in its subscripts.
func TestEvaluatedVariables(t *testing.T) {
	for _, command := range []string{
		`x='a[$(rm -rf /)]'; echo $((x))`,
		`x='a[$(rm -rf /)]'; echo $((x + 1))`,
		`x='a[$(rm -rf /)]'; (( x > 3 ))`,
		`x='a[$(rm -rf /)]'; let y=x`,
		"x='a[`rm -rf /`]'; echo $((x))",
		`x='1 + a[$(rm -rf /)]'; echo $((x))`,
		`x='a[$(rm -rf /)]'; y=x; echo $((y))`,
		`x='a[y]'; y='b[$(rm -rf /)]'; echo $((x))`,
		`x='a[$(rm -rf /)]'; [[ $x -eq 0 ]] && ls`,
		`x='a[$(rm -rf /)]'; [[ x -gt 0 ]]`,
		`x='a[$(rm -rf /)]'; b=(1 2); echo ${b[x]}`,
		`x='a[$(rm -rf /)]'; b=(1 2); echo ${b[$x]}`,
		`x='a[$(rm -rf /)]'; b[x]=1`,
		`x='a[$(rm -rf /)]'; s=abc; echo ${s:x:1}`,
		`x='a[$(rm -rf /)]'; for ((i=x; i<3; i++)); do ls; done`,
	} {
		if v := Analyze(command); v.Severity != Critical {
			t.Errorf("%q is %s, want critical", command, v.Severity)
		}
	}
	for _, command := range []string{
		`i=0; while ((i < 3)); do echo $i; i=$((i+1)); done`,
		`n=$(wc -l < a.txt); echo $((n + 1))`,
		`a=(1 2 3); i=1; echo ${a[i]} ${a[$i]}`,
		`x='a[1]'; a=(4 5); echo $((x))`,
		`x='a[x]'; echo $((x))`,
		`x='$(rm -rf /)'; [[ $x == y ]]`,
	} {
		if v := Analyze(command); v.Severity != None {
			t.Errorf("%q is %s, want none: %v", command, v.Severity, v.Reasons)
		}
	}
}

// TestExpansionsAsBash holds what the analysis takes a word for to what bash
// makes of it. A word that is not known may be anything; one that is known
// must be the same.
func TestExpansionsAsBash(t *testing.T) {
	longtest.Leave(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED, expansions were not compared: there is no bash on this machine")
	}
	want := 4000
	if !longtest.Long() || raceEnabled {
		want = 1000
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	cases := make([][2]string, want)
	var script strings.Builder
	for i := range cases {
		cases[i] = [2]string{anySetup(rnd), anyWords(rnd)}
		fmt.Fprintf(&script, "(\nset -f; %s\nprintf '%%s\\0' %d %s\n) 2>/dev/null\nprintf '\\001\\0'\n", cases[i][0], i, cases[i][1])
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc")
	cmd.Args[0] = "bash"
	cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}, strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run bash: %v", err)
	}
	answers := bytes.Split(out, []byte("\x01\x00"))
	if len(answers) != want+1 {
		t.Fatalf("%d answers for %d cases", len(answers)-1, want)
	}
	exact, dim := 0, 0
	for i, c := range cases {
		got := expanded(c[0], c[1])
		fields := strings.Split(strings.TrimSuffix(string(answers[i]), "\x00"), "\x00")
		switch {
		case !isKnown(strings.Join(got, "")) || strings.Contains(strings.Join(got, ""), aNumber):
			dim++
		case fields[0] == "": // bash refuses it
		case !slices.Equal(got, fields[1:]):
			t.Errorf("case %d: %s; printf %s\n is %q, bash has %q", i, c[0], c[1], got, fields[1:])
		default:
			exact++
		}
	}
	t.Logf("%d of %d as bash, %d not known", exact, want, dim)
	if exact*4 < want {
		t.Errorf("only %d of %d expansions are known and right", exact, want)
	}
}

// expanded is what the analysis takes the words for.
func expanded(setup, words string) []string {
	w := newWalk(&finding{}, "")
	w.rules = rulesOf()
	w.program(setup)
	file, err := syntax.NewParser().Parse(strings.NewReader("x "+words), "")
	if err != nil {
		return []string{unknown}
	}
	return w.fields(file.Stmts[0].Cmd.(*syntax.CallExpr).Args[1:]...).words()
}

func anyOf(rnd *rand.Rand, list ...string) string { return list[rnd.IntN(len(list))] }

// quoted is a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// anyValue is a value, quoted for an assignment.
func anyValue(rnd *rand.Rand) string {
	return quoted(anyOf(rnd, "", "a", "rm", "rm -rf src", " a b ", "a:b:c", "x,y", "-c", "*", "a*b?", "[ab]c", `a\b`, `\*`, "foo.tar.gz", "/usr/local/bin", "ÄöÜ", "a\nb", "$x", "it's", "abcabc", "3", "017", "{a,b}", "aXbXc"))
}

func anySetup(rnd *rand.Rand) string {
	lines := []string{
		"x=" + anyValue(rnd), "y=" + anyValue(rnd), fmt.Sprintf("n=%d", rnd.IntN(12)-3), "e=", "r=" + anyOf(rnd, "x", "y", "n"),
		"a=(" + anyValue(rnd) + " " + anyValue(rnd) + " " + anyValue(rnd) + ")", "b=()", "set -- " + anyValue(rnd) + " " + anyValue(rnd),
	}
	switch rnd.IntN(8) {
	case 0:
		lines = append(lines, "set --")
	case 1:
		lines = append(lines, "IFS="+anyOf(rnd, ":", ",", "''", "' :'"))
	case 2:
		lines = append(lines, "x+="+anyValue(rnd), "a+=("+anyValue(rnd)+")")
	case 3:
		lines = append(lines, "z="+anyParam(rnd)+anyParam(rnd), "x=$z")
	case 4:
		lines = append(lines, "a[1]="+anyParam(rnd), `y="$(printf %s "$x")"`)
	}
	return strings.Join(lines, "; ")
}

// anyParam is one expansion.
func anyParam(rnd *rand.Rand) string {
	name := anyOf(rnd, "x", "y", "e", "n", "1", "2", "*", "@", "a[0]", "a[@]", "a[*]", "a[-1]", "b[@]", "a")
	switch rnd.IntN(16) {
	case 0, 1:
		if len(name) == 1 {
			return "$" + name
		}
		return "${" + name + "}"
	case 2:
		return "${" + name + anyOf(rnd, ":-", "-", ":+", "+", ":=") + anyOf(rnd, "w", "'a b'", "$x", `"$y"`) + "}"
	case 3:
		return "${u" + anyOf(rnd, ":-", "-", ":=") + anyOf(rnd, "w", "'a b'", "$x", `"$y"`, `\*`) + "}"
	case 4:
		return "${#" + anyOf(rnd, "x", "y", "e", "a[@]", "a[0]", "*", "1") + "}"
	case 5, 6:
		return "${" + name + anyOf(rnd, "#", "##", "%", "%%") + anyOf(rnd, "a", "*", "?", "*.", ".*", "*:", "[a-c]", `"*"`, `\*`, "$x", `"$x"`, "*/", "/*", "b*") + "}"
	case 7, 8:
		return "${" + name + anyOf(rnd, "/", "//", "/#", "/%") + anyOf(rnd, "a", "b", "?", "[ab]", `"*"`, `\*`, "$x", " ", ":", "/") + "/" + anyOf(rnd, "", "Z", "a b", "$y", `"$x"`, `\/`) + "}"
	case 9:
		return "${" + name + anyOf(rnd, "^", "^^", ",", ",,", "^^[a-c]", "@U", "@L", "@u") + "}"
	case 10, 11:
		return "${" + name + anyOf(rnd, ":0", ":1", ":1:2", ": -1", ":0:1", ":n", ":2:1", "::1", ":n+1:1") + "}"
	case 12:
		return "$((" + anyOf(rnd, "n+1", "n*n-2", "$n+3", "n>2?7:8", "0x1f+n", "(n+1)*2", "n%3", "1<<2", "!n", "~n", "n==3", "n++", "k=n+2", "010+1", "2**3", "-n", "n&&0", "a[0]+0", "x+1") + "))"
	case 13:
		return "${!r}"
	case 14:
		return "${!a[" + anyOf(rnd, "@", "*") + "]}"
	}
	return "$(printf '%s' \"$" + anyOf(rnd, "x", "y", "1") + "\")"
}

func anyWords(rnd *rand.Rand) string {
	words := make([]string, 1+rnd.IntN(2))
	for i := range words {
		p := anyParam(rnd)
		switch rnd.IntN(9) {
		case 0, 1:
			words[i] = p
		case 2, 3:
			words[i] = `"` + p + `"`
		case 4:
			words[i] = anyOf(rnd, "p", `"q r"`, `\ `, "''") + p + anyOf(rnd, "s", `"t"`, "'*'", "")
		case 5:
			words[i] = `"p` + p + anyOf(rnd, "s", " ", `\"`, `\$`, `\x`) + anyParam(rnd) + `"`
		case 6:
			words[i] = anyOf(rnd, "{a,b}", "{1..3}", "x{,y}", "{a,b}{c,d}", "{a}", "{x,'y z'}", "{03..1}", "{a..e..2}") + anyOf(rnd, "", p, `"`+p+`"`)
		case 7:
			words[i] = anyOf(rnd, `r\m`, `$'a\tb'`, `$'\x41\u00e4'`, `a\ b`, `'*'`, `"\$x"`, `a"b"'c'`, `\\`, `"a\b"`, `""`, `a\*b`, `$'it\'s'`)
		default:
			words[i] = p + p
		}
	}
	return strings.Join(words, " ")
}
