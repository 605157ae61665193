package terminal

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/handrail-bot/handrail/cmd/door"
)

// sample is a command line with what the real one has: verbs of verbs, arguments, flags
// with a list of words, paths, and one that may be given again.
type sample struct {
	Run struct {
		Repo  string   `type:"path" help:"The clone."`
		Mode  string   `help:"How."`
		Place string   `enum:"auto,docker,local" default:"auto" help:"Where."`
		Many  []string `help:"Again."`
		Task  string   `help:"What to do."`
		Turns int
		Heat  float64
		Yes   bool `short:"y"`
	} `cmd:"" help:"Work."`
	Sessions struct {
		List struct {
			JSON bool `name:"json"`
		} `cmd:"" help:"List them."`
		Export struct {
			Session string `arg:"" help:"Which one."`
		} `cmd:"" help:"Export one."`
	} `cmd:"" help:"Sessions."`
	Explain struct {
		Word string `arg:"" optional:""`
	} `cmd:"" help:"Explain a word."`
	Inside struct{} `cmd:"" hidden:""`

	Level string `enum:"debug,info" default:"info"`
}

func parser(t *testing.T) *kong.Kong {
	t.Helper()
	k, err := kong.New(&sample{}, kong.Name("tool"), kong.Exit(func(int) {}), kong.Writers(&bytes.Buffer{}, &bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestHelped(t *testing.T) {
	for line, want := range map[string]string{
		"help":                     "--help",
		"help run":                 "run --help",
		"run help":                 "run --help",
		"sessions help":            "sessions --help",
		"sessions help list":       "sessions list --help",
		"--level debug help":       "--level debug --help",
		"run --mode help":          "run --mode help",
		"run --mode=x help":        "run --mode=x --help",
		"run -y help":              "run -y --help",
		"explain help":             "explain help",
		"sessions export help":     "sessions export help",
		"run -- help":              "run -- help",
		"nothing help":             "nothing help",
		"run --repo x --mode help": "run --repo x --mode help",
	} {
		if got := strings.Join(RewriteHelp(parser(t).Model.Node, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// What is wrong is said in one line, with what was probably meant.
func TestWrong(t *testing.T) {
	for line, want := range map[string]string{
		"rnu":                   "`tool` has no verb \"rnu\", did you mean tool run? (see `tool --help`)",
		"sess":                  "`tool` has no verb \"sess\", did you mean tool sessions? (see `tool --help`)",
		"export":                "`tool` has no verb \"export\", did you mean tool sessions export? (see `tool --help`)",
		"zzz":                   "`tool` has no verb \"zzz\": it has run, sessions or explain (see `tool --help`)",
		"sessions":              "`tool sessions` needs a verb: list or export (see `tool sessions --help`)",
		"sessions lst":          "`tool sessions` has no verb \"lst\", did you mean tool sessions list? (see `tool sessions --help`)",
		"sessions export":       "`tool sessions export` needs SESSION: Which one (see `tool sessions export --help`)",
		"sessions export a b":   "unexpected argument b: SESSION is one word; put quotes around a text with spaces (see `tool sessions export --help`)",
		"sessions list b":       "unexpected argument b (see `tool sessions list --help`)",
		"run --turns many":      "--turns takes a number, not \"many\" (see `tool run --help`)",
		"run --heat hot":        "--heat takes a number, not \"hot\" (see `tool run --help`)",
		"run --turns -1":        "--turns needs a value; one that begins with a hyphen is given as --turns=-1 (see `tool run --help`)",
		"run --task -x":         "--task needs a value; one that begins with a hyphen is given as --task=-x (see `tool run --help`)",
		"run --mdoe x":          "unknown flag --mdoe, did you mean --mode? (see `tool run --help`)",
		"run --x":               "unknown flag --x (see `tool run --help`)",
		"run --mode":            "--mode needs a value (see `tool run --help`)",
		"run --place dokcer":    "--place is auto, docker or local, not \"dokcer\", did you mean docker? (see `tool run --help`)",
		"run --level zzz":       "--level is debug or info, not \"zzz\" (see `tool run --help`)",
		"fix·the·typo":          "`tool` has no verb \"fix the typo\", did you mean tool run \"fix the typo\"? (see `tool --help`)",
		"a\u202eb\x1b[2Jb":      "`tool` has no verb \"a\\u202eb\\u001b[2Jb\": it has run, sessions or explain (see `tool --help`)",
		"run a\u202eb\nc\x1b[m": "unexpected argument a\\u202eb\\nc\\u001b[m: the task goes behind --task, in quotes, as in --task \"fix it\" (see `tool run --help`)",
	} {
		k := parser(t)
		args := strings.Split(line, " ")
		for i, word := range args {
			args[i] = strings.ReplaceAll(word, "·", " ")
		}
		_, err := k.Parse(args)
		if err == nil {
			t.Fatalf("%s: no error", line)
		}
		err = UsageErrorOf(k.Model.Node, args, err)
		if err.Error() != want || !errors.As(err, new(door.UsageError)) {
			t.Errorf("%s:\n got %s\nwant %s", line, err, want)
		}
	}
}

func TestComplete(t *testing.T) {
	known := func(name string) []string {
		if name == "session" {
			return []string{"s1\tfix it", "t2"}
		}
		return nil
	}
	for line, want := range map[string]string{
		"":                             "run sessions explain",
		"s":                            "sessions",
		"sessions ":                    "list export",
		"sessions e":                   "export",
		"sessions export ":             "s1 t2 :files",
		"sessions export s":            "s1 :files",
		"sessions export s1 ":          "",
		"run --":                       "--heat --help --level --many --mode --place --repo --task --turns --yes",
		"run --mode x --m":             "--many",
		"run --many x --ma":            "--many",
		"run --place ":                 "auto docker local",
		"run --place d":                "docker",
		"run --place=d":                "--place=docker",
		"run --place = d":              "docker", // as bash takes it apart
		"run --place =":                "auto docker local",
		"run --repo ":                  ":dirs",
		"run -y --place ":              "auto docker local",
		"--level debug sessions ":      "list export",
		"help se":                      "sessions",
		"nothing ":                     "run sessions explain",
		"run --yes ":                   "",
		"explain -- --":                "",
		"sessions export --level info": "info",
	} {
		var out strings.Builder
		if err := Complete(&out, parser(t).Model.Node, strings.Split(line, " "), known); err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			got = append(got, word)
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %s", line, got, want)
		}
	}
}
