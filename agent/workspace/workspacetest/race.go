//go:build race

package workspacetest

// raceDetector says whether this program carries the race detector, whose
// memory does not fit into the limits of some tests.
const raceDetector = true
