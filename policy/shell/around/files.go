package around

import (
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// given is an option as it stands in a command, with what may be its value.
type given struct {
	name   string // without its dashes
	value  string
	long   bool // it begins with two dashes
	joined bool // the value stands in the same argument
}

// namedByOptions follows what the options of a command name. Those of a wrapper
// end where the command begins that it runs.
func namedByOptions(c *walk.Command) {
	options, end := known.Tables().Options[c.Name], len(c.List)
	if walk.Wraps(c.Name) {
		if at := c.Command(known.Tables().Wraps[c.Name].Takes...); at >= 0 {
			end = at
		}
	}
	alone := len(options) > 0 && known.In("single-dash", c.Name)
	for i := range c.List[:end] {
		s := c.At(i)
		if s == "--" {
			break
		}
		if len(s) < 2 || s[0] != '-' {
			continue
		}
		g := given{name: strings.TrimLeft(s, "-"), long: s[1] == '-'}
		for _, sign := range []string{"=", ":"} {
			if before, after, ok := strings.Cut(g.name, sign); ok && !g.joined {
				g.name, g.value, g.joined = before, after, true
			}
		}
		if !g.joined {
			g.value = c.At(i + 1)
		}
		if kind, value := listed(options, g, s, alone); kind != "" {
			named(c, kind, g.name, value)
		} else if strings.HasPrefix(s, "-Wl,") {
			namedByOptions(c.With("ld", argv.Of(strings.Split(s[4:], ",")...)))
		} else {
			unlisted(c, g, s)
		}
	}
	operands(c)
}

// listed finds an option in those of the tables.
func listed(options []known.NamingOption, g given, s string, alone bool) (kind, value string) {
	for _, t := range options {
		for _, o := range t.Options {
			if value, ok := g.byName(t.Kind, o); ok {
				return t.Kind, value
			}
			if value, ok := g.inCluster(t.Kind, o, s); ok && (!alone || s[1] == o[0]) {
				return t.Kind, value
			}
		}
	}
	return "", ""
}

// byName is the value of an option of the tables that is given by its name or,
// if it is long, by the beginning of its name.
func (g given) byName(kind, option string) (string, bool) {
	short := g.long && len(option) > 1 && strings.HasPrefix(option, g.name) && (len(g.name) > 2 || kind == "writes")
	if option != g.name && !short {
		return "", false
	}
	follows := g.value != "" && g.value[0] != '-' && kind != "joins"
	return g.value, kind == "load" || g.joined && g.value != "" || follows
}

// inCluster is the value of an option of one letter that stands among others,
// or before its value.
func (g given) inCluster(kind, letter, s string) (string, bool) {
	at := strings.Index(s, letter)
	if len(letter) != 1 || g.long || at < 1 || at > 5 || len(s) < 3 {
		return "", false
	}
	rest := s[at+1:]
	switch {
	case rest == "":
		return g.value, kind == "writes" && !g.joined && g.value != ""
	case strings.ContainsRune("/~.", rune(rest[0])):
		return rest, kind != "load"
	}
	return rest, at == 1 && (kind == "text" || kind == "writes" || kind == "run" && strings.Contains(rest, " "))
}

// named follows what an option of the tables names.
func named(c *walk.Command, kind, option, value string) {
	switch kind {
	case "run":
		if !known.In("packers", walk.ProgramName(walk.FirstWord(value+" x"))) {
			c.Runs(c, value)
		}
	case "load":
		c.Hit("program-runs")
	case "text":
		c.Nested(value)
	case "variable":
		walk.Pass(c.Walk, strings.ToUpper(strings.ReplaceAll(option, "-", "_")), value)
	case "config":
		if strings.Contains(value, "/") && outside(c, value) {
			c.Hit("outside-code")
		}
	case "writes", "joins":
		switch {
		case value == "", value == "-", temporary(c, value):
		case option != "" && (value[0] == '|' || value[0] == '!'): // a command that reads what is written
			c.Runs(c, value[1:])
		default:
			c.Write(value)
			writes(c, value)
		}
	}
}

// What the name of an option says of the file that it names: it is written,
// surely or if the option has a value at all; it is read; it is a place.
var (
	writingName = walk.Lazily(`(?i)out|log|dump|save|report|trace|write|junit|prof|cov|cache|dest|export|backup|partial|reject|stderr|warnings|timing|html|json|xml|[ic]idfile|metadata|artifact|result|record|snapshot|keylog|pid-?file|te?mp|diagnostic|buildinfo|history|status|(?:install|target|download|data|state)-?(?:dir|file|path)`)
	valuedName  = walk.Lazily(`(?i)(?:out|output|dest|destination|basetemp|file|dir|directory|path|location|archive)$|.(?:xml|html|json|junit|report|profile|log|tmp|temp)$`)
	readingName = walk.Lazily(`(?i)timeout|layout|without|rout|statedir|log-?in|catalog|logo|template|from|conf|import|input|exclude|ignore|driver|^export-dynamic`)
	placeName   = walk.Lazily(`(?i)cert|^ca|key|inc|source|src|root|prefix|dir|path|cwd|with|mount|volume|bind|device|home|shell|python|exec|program|user|host|socket|sock|ur[il]|base|newer|match|pattern|filter|grep|message|title|body|text|name|label|env|define|(?-i:^[A-Z])|lib|sys|zone|time|reference|regex|policy|secret|token|identity|image|runtime|args`)
)

// unlisted rates what an option names that is not in the tables: its name says
// that it is written, or nothing says that it is not.
func unlisted(c *walk.Command, g given, s string) {
	if g.name == "" || !strings.ContainsAny(g.value, "/~._ ") || known.In("speaks", c.Name) {
		return
	}
	switch {
	case s[1] != 'o' || known.In("flag-o", c.Name):
	case len(s) == 2, len(g.name) == 1 && g.joined:
		writes(c, g.value)
	case strings.ContainsRune("/~.", rune(s[2])):
		writes(c, s[2:])
	}
	suspected(c, g)
	if len(g.name) < 2 || !g.joined && g.value[0] == '-' || !rated(c, g.value) {
		return
	}
	switch {
	case readingName().MatchString(g.name):
	case writingName().MatchString(g.name) && (g.joined || valuedName().MatchString(g.name)):
		writes(c, g.value)
	case g.joined && !placeName().MatchString(g.name) && needed(c, g.value):
		c.Hit("option-path") //control:unknown-files
	}
}

// suspected looks at a text that begins with a program whose arguments matter:
// the option may run it.
func suspected(c *walk.Command, g given) {
	if !g.joined || !strings.Contains(g.value, " ") || known.In("text-takers", c.Name) || known.In("text-options", "--"+g.name) {
		return
	}
	if walk.Dangerous(walk.ProgramName(walk.FirstWord(g.value))) {
		c.OnlyCritical(argv.Of("sh", "-c", g.value), c.Line()) //control:unknown-options
	}
}

// writes rates a file that an option names, or the parts of its value that are
// the path of one: type=local,dest=/srv.
func writes(c *walk.Command, value string) {
	for _, p := range pathsIn(value) {
		if rated(c, p) {
			c.Write(p) //control:written-options
		}
	}
}

// pathsIn lists the parts of a value that may be paths: an address has none.
func pathsIn(value string) []string {
	if strings.Contains(value, "://") {
		return nil
	}
	return argv.PathsIn(value)
}

// rated reports whether writing what an option names counts.
func rated(c *walk.Command, value string) bool {
	return slices.ContainsFunc(pathsIn(value), func(p string) bool {
		switch zone.Of(c.Resolve(p)) {
		case zone.Outside:
			return !temporary(c, p)
		case zone.Workspace, zone.Nowhere, zone.Temp, zone.Root, zone.Unknown:
			return false
		}
		return true
	})
}

// temporary reports whether a path is a directory for temporary files itself:
// an option that names it names where files are made.
func temporary(c *walk.Command, p string) bool {
	return walk.OneOf(c.Resolve(p), "/tmp", "/var/tmp", "/private/tmp")
}

// needed reports whether an option names a file that the machine needs, and no
// program or library.
func needed(c *walk.Command, value string) bool {
	return slices.ContainsFunc(pathsIn(value), func(s string) bool {
		p := c.Resolve(s)
		switch zone.Of(p) {
		case zone.Vital, zone.System, zone.Startup, zone.Device:
			return !zone.Under(p, "/usr", "/bin", "/lib", "/lib64", "/proc", "/sys", "/var/run") && p != "/" && p != "~"
		}
		return false
	})
}

// operands rates the operands that a program writes: at a place, or all of them
// when an option says so.
func operands(c *walk.Command) {
	name := c.Name
	if name == "git" {
		name = "git " + c.At(c.Index("bundle", "init"))
	}
	t, ok := known.Tables().Edits[name]
	if !ok {
		return
	}
	ops := c.OperandsAfter(t.Takes...)
	place, _ := strconv.Atoi(t.Place)
	switch {
	case place > 0 && len(ops) >= place && c.Is("git"):
		writes(c, ops[place-1].S)
	case place > 0 && len(ops) >= place:
		named(c, "writes", "", ops[place-1].S)
	case place < 0 && len(ops) > 1:
		named(c, "writes", "", ops[len(ops)-1].S)
	case place == 0 && c.Fits(t.Words):
		for _, a := range ops {
			writes(c, a.S)
		}
	}
}
