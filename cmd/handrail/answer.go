package main

import (
	"io"
	"slices"
)

// failure is the output of a verb with --json that has no result: the command line is
// wrong, or a file cannot be read.
type failure struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// writeTracker notes whether anything was written, so that a failure is printed as JSON only
// if nothing else was.
type writeTracker struct {
	io.Writer
	yes bool
}

// Write implements [io.Writer].
func (a *writeTracker) Write(p []byte) (int, error) {
	a.yes = a.yes || len(p) > 0
	return a.Writer.Write(p)
}

// wantsJSON reports whether the caller expects JSON on standard output, even if the rest
// of the command line is invalid.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}
