//go:build !linux

package main

import "runtime/debug"

// releaseStart gives back the free heap of the start.
func releaseStart() { debug.FreeOSMemory() }
