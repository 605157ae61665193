package config

import (
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Schema returns the JSON schema of the server's file, made from [Server].
func Schema() ([]byte, error) {
	return strict.Schema(
		&Server{},
		"Handrail server",
		"The file of handrail serve --config. Secrets are not in it.",
		policy.Words(),
	)
}
