// Package door holds the verbs of the command line that ask one part of Handrail a
// question: the policy's decision on a command, the calls in a model's answer, the effect
// of one tool. They need no session, and run the same code as a session.
package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
)

// Console is the part of the process that a verb may use.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Raw      io.Writer // unfiltered standard output, for output that is hashed
	Log      *slog.Logger
	Width    int // of tables, in columns; 0 means 80
}

// UsageError reports wrong use of the command line.
type UsageError struct{ Err error }

// Error implements error.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e UsageError) Unwrap() error { return e.Err }

// Usage returns a [UsageError]. Its format is that of [fmt.Errorf].
func Usage(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// ErrFailed is returned by a verb that failed and has already printed the reason.
var ErrFailed = errors.New("failed")

// JSONLine writes v as one line of JSON. It does not escape <, > and &.
func JSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// PlainEnvironment returns the part of this process's environment that is safe for
// commands: enough to find programs and caches, without possible secrets.
func PlainEnvironment() []string {
	names := []string{
		"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "SHELL", "GOPATH", "GOROOT", "GOCACHE",
		"GOMODCACHE", "GOFLAGS", "GOPROXY", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT",
		"VIRTUAL_ENV",
	}
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, k := range names {
			if name == k {
				env = append(env, kv)
			}
		}
	}
	return env
}

// SeparateHyphens moves a command line or path that begins with a hyphen behind "--", so that
// scripts can pass any text to `policy explain`. A word that looks like a flag is not
// moved.
func SeparateHyphens(args []string) []string {
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
			return args // the argument needs no "--"
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

// explainArgs returns the index after `policy explain command` or `file`, or -1.
func explainArgs(args []string) int {
	for i := range args {
		if i+2 < len(args) && args[i] == "policy" && args[i+1] == "explain" &&
			(args[i+2] == "command" || args[i+2] == "file") {
			return i + 3
		}
	}
	return -1
}

// flagLike reports whether a word is, or was meant to be, a flag: -h, --json,
// --mode=ask.
func flagLike(word string) bool {
	if word == "-h" {
		return true
	}
	name, _, _ := strings.Cut(word, "=")
	name, ok := strings.CutPrefix(name, "--")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" && !strings.HasPrefix(name, "-")
}
