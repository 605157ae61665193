//go:build !race

package policy

// raceEnabled makes long tests shorter under the race detector.
const raceEnabled = false
