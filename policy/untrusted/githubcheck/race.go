//go:build race

package githubcheck

// race reports whether the race detector is on, under which pools forget what they hold
// and everything takes ten times as long.
const race = true
