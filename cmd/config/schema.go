package config

import (
	"reflect"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Schema returns the JSON schema of the server's file, made from [Server].
func Schema() ([]byte, error) {
	words := policy.Words()
	words[reflect.TypeFor[ProviderName]()] = strict.Words{OneOf: ProviderNames()}
	return strict.Schema(
		&Server{},
		"Handrail server",
		"The file of handrail serve --config. Secrets are not in it.",
		words,
	)
}
