//go:build !race

package githubcheck

// race reports whether the race detector is on. Under it, pools drop their items and
// everything is ten times as slow.
const race = false
