package trigger

// For the tests.
var (
	Decide  = decide
	OwnDeed = byBot
)
