package main

import (
	"os"
	"testing"
)

// TestReleaseStart: pages of the program's file are given back, and the program goes on.
func TestReleaseStart(t *testing.T) {
	_, before := memoryMiB(t, os.Getpid())
	releaseStart()
	if _, after := memoryMiB(t, os.Getpid()); after >= before {
		t.Errorf("%d MiB of the program's file before, %d after", before, after)
	}
}
