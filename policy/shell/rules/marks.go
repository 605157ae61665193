package rules

import "github.com/handrail-bot/handrail/policy/shell/mark"

// Short names for what is said on every other line.
const (
	unknown = mark.Unknown
	secret  = mark.Secret
	remote  = mark.Remote
)
