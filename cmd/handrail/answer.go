package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// jsonLine writes v as one line of JSON, with < > & as they are.
func jsonLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// failure is what a verb prints with --json when it cannot print what it is
// for: the command line is wrong, or a file cannot be read.
type failure struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// answered notes whether anything was written, so that a failure is printed
// as JSON only where nothing else was.
type answered struct {
	io.Writer
	yes bool
}

// Write implements [io.Writer].
func (a *answered) Write(p []byte) (int, error) {
	a.yes = a.yes || len(p) > 0
	return a.Writer.Write(p)
}

// wantsJSON reports whether the caller reads standard output as JSON, also when
// the rest of the command line is not understood.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// hyphened moves a command line or a path that begins with a hyphen behind "--", so
// that scripts can give any text to `policy explain`. A word that looks like a flag
// stays.
func hyphened(args []string) []string {
	at := explainArgs(args)
	if at < 0 || slices.Contains(args, "--") {
		return args
	}
	found := -1
	for i := at; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--config", a == "--mode", a == "--log-level":
			i++ // its value
		case !strings.HasPrefix(a, "-") || a == "-":
			return args // this one is it
		case !flagLike(a) && found >= 0:
			return args
		case !flagLike(a):
			found = i
		}
	}
	if found < 0 {
		return args
	}
	out := slices.Delete(slices.Clone(args), found, found+1)
	return append(out, "--", args[found])
}

// explainArgs returns the index behind `policy explain command` or `file`, or -1.
func explainArgs(args []string) int {
	for i := range args {
		if i+2 < len(args) && args[i] == "policy" && args[i+1] == "explain" && (args[i+2] == "command" || args[i+2] == "file") {
			return i + 3
		}
	}
	return -1
}

// flagLike reports whether a word is, or was meant as, a flag: -h, --json,
// --mode=ask.
func flagLike(word string) bool {
	if word == "-h" {
		return true
	}
	name, _, _ := strings.Cut(word, "=")
	name, ok := strings.CutPrefix(name, "--")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" && !strings.HasPrefix(name, "-")
}
