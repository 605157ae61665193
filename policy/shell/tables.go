package shell

import (
	_ "embed"
	"slices"
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

// row is a line of the tables: the columns after its programs.
type row [3][]string

// knowledge holds the tables.
type knowledge struct {
	Rules  map[string]ruleRow
	rows   map[string]map[string][]row // by kind of line and program
	within map[string][]string         // names of the lists that contain a word
}

// tables returns the tables, which are read on first use.
var tables = sync.OnceValue(readTables)

// rowsOf returns the lines of a kind for a program.
func rowsOf(kind, program string) []row { return tables().rows[kind][program] }

// rowOf returns the last line of a kind for a program.
func rowOf(kind, program string) (row, bool) {
	if rows := rowsOf(kind, program); len(rows) > 0 {
		return rows[len(rows)-1], true
	}
	return row{}, false
}

// inList reports whether word is in the given list.
func inList(list, word string) bool { return slices.Contains(tables().within[word], list) }

// wordsIn returns the sorted words of a list.
func wordsIn(list string) []string {
	r, _ := rowOf("list", list)
	return r[0]
}

func readTables() *knowledge {
	k := &knowledge{
		Rules:  map[string]ruleRow{},
		rows:   map[string]map[string][]row{},
		within: map[string][]string{},
	}
	for line := range strings.SplitSeq(rulesText, "\n") {
		if f := strings.Split(line, "\t"); len(f) == 5 {
			k.Rules[f[0]] = ruleRow{f[0], f[1], f[2], f[3], f[4]}
		}
	}
	for line := range strings.SplitSeq(tablesText, "\n") {
		kind, rest, ok := strings.Cut(line, " ")
		if !ok || kind == "#" {
			continue
		}
		names, rest, _ := strings.Cut(rest, " |")
		var r row
		for i, column := range strings.SplitN(rest, " |", len(r)) {
			r[i] = strings.Fields(column)
		}
		if kind == "list" {
			slices.Sort(r[0])
			for _, w := range r[0] {
				k.within[w] = append(k.within[w], names)
			}
		}
		if k.rows[kind] == nil {
			k.rows[kind] = map[string][]row{}
		}
		for name := range strings.FieldsSeq(names) {
			name = strings.Replace(name, "git:", "git ", 1)
			k.rows[kind][name] = append(k.rows[kind][name], r)
		}
	}
	return k
}
