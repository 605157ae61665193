package tools

import (
	"fmt"
	"strings"
)

// Shorten cuts a line at n bytes and marks the cut.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("… [%d characters cut]", len(s)-n)
}

// Plural returns the plural "s" for n things, "" if n is 1.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// PathNames returns the argument names that models use for a path.
func PathNames() []string {
	p := PathParam("", false)
	return append([]string{p.Name}, p.Aliases...)
}
