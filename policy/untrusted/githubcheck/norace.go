//go:build !race

package githubcheck

// Race reports whether the race detector is on, under which pools forget what they hold
// and everything takes ten times as long.
const Race = false
