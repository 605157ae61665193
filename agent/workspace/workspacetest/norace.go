//go:build !race

package workspacetest

// raceDetector is true in a build with -race.
const raceDetector = false
