//go:build race

package main

// raceDetector says whether this program carries the race detector, which is
// too slow for the short leases of some tests.
const raceDetector = true
