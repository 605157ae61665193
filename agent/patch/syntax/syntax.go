// Package syntax checks that a text is in the language of its file name: Go, JSON, YAML,
// TOML, XML and shell by their parsers, Python and JavaScript by their quotes and brackets.
// It is pure and reports only certain faults. Unknown languages, and texts that may
// be templates of another program, pass.
package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Fault is the position of a syntax error. Line and Column count from 1; Column is 0
// if unknown.
type Fault struct {
	Line, Column int
	Reason       string
}

// Error names the position and the reason, without the file.
func (e *Fault) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// maxText is the maximum length in bytes of a text to check.
const maxText = 1 << 20

// Check returns the first fault of a text, a [Fault], or nil. The file name
// determines the language.
func Check(name, text string) error {
	check := language(name)
	if check == nil || len(text) > maxText || !utf8.ValidString(text) {
		return nil
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	fault := check(text)
	gaps := template
	if extension(name) == ".go" {
		gaps = goTemplate
	}
	if fault == nil || gaps().MatchString(text) {
		return nil
	}
	return fault
}

// Parsed reports whether a parser checks files of this name. Without a fault, the
// text is then certainly in the language.
func Parsed(name string) bool {
	switch extension(name) {
	case ".go", ".json", ".jsonc", ".yaml", ".yml", ".toml", ".xml", ".svg", ".plist":
		return true
	}
	return false
}

func extension(name string) string { return strings.ToLower(path.Ext(name)) }

// language returns the check for files of this name, or nil.
func language(name string) func(string) *Fault {
	switch extension(name) {
	case ".go":
		return golang
	case ".json":
		if annotated(name) {
			return commented
		}
		return plain
	case ".jsonc":
		return commented
	case ".yaml", ".yml":
		return documents
	case ".toml":
		return table
	case ".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj", ".fsproj", ".props", ".targets", ".resx":
		return markup
	case ".sh", ".bash":
		return shell
	case ".py", ".pyi", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return balanced(name)
	}
	return nil
}

// template matches the placeholders of texts that another program completes first.
var template = pattern.Lazy(
	`(?:^|[^$])\{\{-?\s*(?:[.$#/]|[\w.]+\s*[|}]|(?:if|range|end|define|include|template|with|toYaml)\b)|` +
		`\{%|<%|cookiecutter\.`,
)

// goTemplate matches those in Go code, in which two brackets in a row are ordinary.
var goTemplate = pattern.Lazy(`\{\{-?\s*\.|\{%|<%|cookiecutter\.`)

func golang(text string) *Fault {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	var list scanner.ErrorList
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list) && len(list) > 0:
		return &Fault{Line: list[0].Pos.Line, Column: list[0].Pos.Column, Reason: list[0].Msg}
	}
	return &Fault{Line: 1, Reason: err.Error()}
}

// annotated reports whether the usual readers of a JSON file of this name accept
// comments.
func annotated(name string) bool {
	base := strings.ToLower(path.Base(name))
	const takers = "tsconfig jsconfig devcontainer api-extractor tslint deno biome turbo nx renovate ."
	for begin := range strings.FieldsSeq(takers) {
		if strings.HasPrefix(base, begin) {
			return true
		}
	}
	return strings.Contains(path.Clean("/"+name), "/.") // configuration of an editor or a tool
}

func plain(text string) *Fault {
	d := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	err := d.Decode(&v)
	for err == nil { // several values in a file are a stream
		before := text[:d.InputOffset()]
		rest := strings.TrimLeft(text[len(before):], " \t\r\n")
		if rest == "" {
			return nil
		}
		between := text[len(before) : len(text)-len(rest)]
		if !strings.Contains(between, "\n") || rest[0] != '{' || before[len(before)-1] != '}' {
			return at(text, len(text)-len(rest), "there is more behind the end of the value")
		}
		err = d.Decode(&v)
	}
	var wrong *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && !errors.Is(err, io.ErrUnexpectedEOF):
		return at(text, max(0, int(wrong.Offset)-1), wrong.Error())
	case errors.Is(err, io.EOF):
		return at(text, 0, "the file is empty, which is no JSON")
	}
	return at(text, len(text), "the value is not complete")
}

// at returns a fault at a byte offset of the text.
func at(text string, offset int, reason string) *Fault {
	before := text[:min(offset, len(text))]
	line := strings.LastIndexByte(before, '\n') + 1
	return &Fault{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1, Reason: reason}
}

// trailing matches a comma before a closing bracket.
var trailing = pattern.Lazy(`,\s*[}\]]`)

// commented checks JSON with comments and trailing commas. Comments are those of JavaScript.
func commented(text string) *Fault {
	code, bare, ok := outline.Uncommented("a.js", text)
	if !ok || len(bytes.TrimSpace(code)) == 0 {
		return nil
	}
	for _, comma := range trailing().FindAllIndex(bare, -1) {
		code[comma[0]] = ' '
	}
	return plain(string(code))
}

// balanced returns a check of the strings and brackets of files of a name.
func balanced(name string) func(string) *Fault {
	return func(text string) *Fault {
		tagged := strings.Contains(text, "</") || strings.Contains(text, "/>") || strings.Contains(text, "<!--")
		if outline.Language(name) != "python" && tagged { // markup has words with an apostrophe
			return nil
		}
		if offset, reason := outline.Unclosed(name, text); reason != "" {
			return at(text, offset, reason)
		}
		return nil
	}
}

// placed matches the position in an error of the YAML parser.
var placed = pattern.Lazy(`\bat (?:L\d+\.C\d+-)?L(\d+)\.C(\d+): (.*)`)

func documents(text string) *Fault {
	d, err := yaml.NewLoader(strings.NewReader(text))
	for err == nil {
		var doc yaml.Node
		err = d.Load(&doc)
	}
	said := err.Error()
	m := placed().FindStringSubmatch(said)
	switch {
	case errors.Is(err, io.EOF), strings.Contains(said, "in composer"), strings.Contains(said, "before directive"):
		return nil // may refer to an anchor of another file
	case m == nil:
		return &Fault{Line: 1, Reason: strings.TrimPrefix(said, "yaml: ")}
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return &Fault{Line: max(line, 1), Column: column, Reason: m[3]}
}

func table(text string) *Fault {
	var v map[string]any
	err := toml.Unmarshal([]byte(text), &v)
	var wrong *toml.DecodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		line, column := wrong.Position()
		return &Fault{Line: line, Column: column, Reason: strings.TrimPrefix(wrong.Error(), "toml: ")}
	}
	return &Fault{Line: 1, Reason: strings.TrimPrefix(err.Error(), "toml: ")}
}
