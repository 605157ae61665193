package agent

import "os"

// long reports whether tests run their long forms, as make long does by
// HANDRAIL_LONG. Without it, go test runs a few cases of each.
func long() bool { return os.Getenv("HANDRAIL_LONG") != "" }
