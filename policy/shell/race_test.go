//go:build race

package shell

// raceEnabled makes long tests shorter under the race detector.
const raceEnabled = true
