package untrusted

import (
	"regexp"
	"sync"
)

// lazily returns a regular expression that is compiled when it is first needed. Most
// runs of the program need none.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
