// Package pattern compiles regular expressions on first use, because most runs of the
// program need only a few of them.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr on its first call and returns the result on
// every call. It panics if expr is invalid. It is safe for concurrent use.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
