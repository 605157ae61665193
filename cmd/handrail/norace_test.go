//go:build !race

package main

import "testing"

// raceDetector is true in a build with -race.
const raceDetector = false

func skipUnderRace(*testing.T) {}
