//go:build race

package main

import "testing"

// raceDetector says whether this program carries the race detector, which is
// too slow for the short leases of some tests.
const raceDetector = true

// skipUnderRace leaves long stories of the whole program to the build without
// the detector, in which .ci/test runs them too.
func skipUnderRace(t *testing.T) {
	t.Helper()
	t.Skip("LEFT TO THE BUILD WITHOUT -race: it takes many minutes here")
}
