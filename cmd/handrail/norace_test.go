//go:build !race

package main

// raceDetector is true in a build with -race.
const raceDetector = false
