package shell

import (
	"regexp"
	"sync"
)

// lazily returns a regular expression that is compiled when it is first
// needed: most programs that start look at no command.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
