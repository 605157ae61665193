//go:build race

package workspacetest

// raceDetector is true in a build with -race. The memory of the race detector does
// not fit into the limits of some tests.
const raceDetector = true
