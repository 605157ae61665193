package shell

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rulesText and tablesText are the data files, which describe their own format: the rules,
// each with an example, and the meaning of programs, sub-commands, options and variables.
//
//go:embed rules.txt
var rulesText string

//go:embed tables.txt
var tablesText string

// ruleRow is one rule. Example matches it, Counter does not.
type ruleRow struct {
	Name             string
	Tier             string
	Text             string
	Example, Counter string
}

// subRule is the rule of a program's sub-commands.
type subRule struct{ Subs, Rule, Unless []string }

// findsRow are the rules that match if the words of a command fit.
type findsRow struct{ Words, Rules []string }

// wrapRow describes a program that runs the command in its arguments.
type wrapRow struct {
	Takes []string // options with a separate value
	Skip  int      // number of operands before the command
	Rule  string   // rule of the wrapper itself
}

// namingOption describes options that name a program or a file. Kind, the first word of
// the line, is its use.
type namingOption struct {
	Kind    string
	Options []string
}

// editsRow describes the operands that a program writes: the one at Place, or all if its
// Words fit.
type editsRow struct {
	Takes []string // options with a value
	Place string
	Words []string
}

// knowledge holds the tables, mostly by program name.
type knowledge struct {
	Rules   map[string]ruleRow
	Order   []string // names of the rules, in order
	Subs    map[string][]subRule
	Finds   map[string][]findsRow
	Reads   map[string][]string // words with which a program only reads
	Setup   map[string][]string // words with which it prints a shell's set-up code
	Tasks   map[string][]string // words that destroy a database
	Wraps   map[string]wrapRow
	Options map[string][]namingOption
	Edits   map[string]editsRow
	Takes   map[string][]string
	Code    map[string][]string
	Lists   map[string]map[string]bool
	within  map[string][]string // names of the lists that contain a word
	words   map[string][]string // sorted words of each list
}

// tables returns the tables, which are read on first use.
var tables = sync.OnceValue(readTables)

// inList reports whether word is in the given list.
func inList(list, word string) bool { return slices.Contains(tables().within[word], list) }

// wordsIn returns the sorted words of a list.
func wordsIn(list string) []string { return tables().words[list] }

func readTables() *knowledge {
	k := &knowledge{
		Rules:   map[string]ruleRow{},
		Subs:    map[string][]subRule{},
		Finds:   map[string][]findsRow{},
		Reads:   map[string][]string{},
		Setup:   map[string][]string{},
		Tasks:   map[string][]string{},
		Wraps:   map[string]wrapRow{},
		Options: map[string][]namingOption{},
		Edits:   map[string]editsRow{},
		Takes:   map[string][]string{},
		Code:    map[string][]string{},
		Lists:   map[string]map[string]bool{},
		within:  map[string][]string{},
		words:   map[string][]string{},
	}
	for line := range strings.SplitSeq(rulesText, "\n") {
		if f := strings.Split(line, "\t"); len(f) == 5 {
			k.Rules[f[0]] = ruleRow{f[0], f[1], f[2], f[3], f[4]}
			k.Order = append(k.Order, f[0])
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
			k.add(kind, strings.Replace(name, "git:", "git ", 1), f[1:])
		}
	}
	return k
}

// add adds a line of the tables for one program.
func (k *knowledge) add(kind, name string, columns [][]string) {
	a, b, c := columns[0], columns[1], columns[2]
	switch kind {
	case "sub":
		k.Subs[name] = append(k.Subs[name], subRule{a, b, c})
	case "finds":
		k.Finds[name] = append(k.Finds[name], findsRow{a, b})
	case "reads":
		k.Reads[name] = a
	case "setup":
		k.Setup[name] = a
	case "task":
		k.Tasks[name] = append(k.Tasks[name], a...)
	case "wrap":
		skip, _ := strconv.Atoi(strings.Join(b, ""))
		k.Wraps[name] = wrapRow{a, skip, strings.Join(c, "")}
	case "edits":
		k.Edits[name] = editsRow{a, strings.Join(b, ""), c}
	case "run", "load", "text", "config", "variable", "writes":
		k.Options[name] = append(k.Options[name], namingOption{kind, a})
	case "takes":
		k.Takes[name] = a
	case "code":
		k.Code[name] = a
	case "list":
		k.Lists[name] = map[string]bool{}
		k.words[name] = slices.Sorted(slices.Values(a))
		for _, w := range a {
			k.Lists[name][w] = true
			k.within[w] = append(k.within[w], name)
		}
	default:
		panic("tables: no kind of line: " + kind)
	}
}
