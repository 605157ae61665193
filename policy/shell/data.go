package shell

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// rulesText and tablesText are what is known as data; each says its own form.
//
//go:embed rules.txt
var rulesText string

//go:embed tables.txt
var tablesText string

// ruleText is one rule of a finding. The example matches it, the
// counter-example does not.
type ruleText struct {
	name             string
	tier             Severity
	text             string
	example, counter string
}

// subRule says what a sub-command of a program means.
type subRule struct{ subs, rule, unless []string }

// wrap describes a program that runs the command in its arguments.
type wrap struct {
	takes []string // options that have a value of their own
	skip  int      // operands before the command
	rule  string   // what it means by itself
}

// programOption is options whose value is a program, or a file of commands.
type programOption struct {
	options []string
	file    bool
}

// knowledge is the tables, by the name of the program.
type knowledge struct {
	rules    map[string]ruleText
	order    []string // of the rules
	subs     map[string][]subRule
	settings map[string]subRule
	tasks    map[string][]string
	wraps    map[string]wrap
	options  map[string][]programOption
	takes    map[string][]string
	code     map[string][]string
	lists    map[string]map[string]bool
}

// tables is what the tables say. They are read when the first command is
// looked at.
var tables = sync.OnceValue(readTables)

// in reports whether a word is in one of the lists.
func in(list, word string) bool { return tables().lists[list][word] }

func readTables() *knowledge {
	k := &knowledge{
		rules: map[string]ruleText{}, subs: map[string][]subRule{}, settings: map[string]subRule{}, tasks: map[string][]string{}, wraps: map[string]wrap{},
		options: map[string][]programOption{}, takes: map[string][]string{}, code: map[string][]string{}, lists: map[string]map[string]bool{},
	}
	for line := range strings.SplitSeq(rulesText, "\n") {
		if f := strings.Split(line, "\t"); len(f) == 5 {
			k.rules[f[0]] = ruleText{f[0], map[string]Severity{"medium": Medium, "high": High, "critical": Critical}[f[1]], f[2], f[3], f[4]}
			k.order = append(k.order, f[0])
		}
	}
	for line := range strings.SplitSeq(tablesText, "\n") {
		kind, rest, ok := strings.Cut(line, " ")
		if !ok || kind == "#" {
			continue
		}
		var f [4][]string
		for i, column := range strings.SplitN(rest, " |", 4) {
			f[i] = strings.Fields(column)
		}
		for _, name := range f[0] {
			k.add(kind, name, f[1:])
		}
	}
	return k
}

// add reads one line of the tables for one program.
func (k *knowledge) add(kind, name string, columns [][]string) {
	a, b, c := columns[0], columns[1], columns[2]
	switch kind {
	case "sub":
		k.subs[name] = append(k.subs[name], subRule{a, b, c})
	case "set":
		k.settings[name] = subRule{rule: a, unless: b}
	case "task":
		k.tasks[name] = append(k.tasks[name], a...)
	case "wrap":
		skip, _ := strconv.Atoi(strings.Join(b, ""))
		k.wraps[name] = wrap{a, skip, strings.Join(c, "")}
	case "run", "load":
		k.options[name] = append(k.options[name], programOption{a, kind == "load"})
	case "takes":
		k.takes[name] = a
	case "code":
		k.code[name] = a
	case "list":
		k.lists[name] = map[string]bool{}
		for _, w := range a {
			k.lists[name][w] = true
		}
	}
}
