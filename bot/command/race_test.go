//go:build race

package command

// raceEnabled makes long tests shorter under the race detector.
const raceEnabled = true
