package main

import "os"

// long reports whether tests run their long forms, as .ci/test does by
// HANDRAIL_LONG. Without it, go test runs a few cases of each.
func long() bool { return os.Getenv("HANDRAIL_LONG") != "" }

// form is a number of the short form, or of the long one.
func form(short, all int) int {
	if long() {
		return all
	}
	return short
}
