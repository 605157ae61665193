// Package pattern has regular expressions that are compiled when they are first
// needed. Most runs of the program need few of those that there are.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that returns the expression expr, which it compiles once. It
// panics when expr is none. The function is safe for concurrent use.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
