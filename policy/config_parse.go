package policy

import (
	"fmt"
	"reflect"

	"github.com/handrail-bot/handrail/policy/strict"
)

// ParseConfig parses one configuration document strictly: an unknown key, a value of the
// wrong type or an invalid one, a second document or an alias bomb is an error that names
// the file and, for each fault, the line and a suggestion. name is the file's name, for
// errors only. An empty document is the zero Config.
func ParseConfig(name string, data []byte) (Config, error) {
	c, _, err := Load(data)
	if err != nil {
		return Config{}, fmt.Errorf("parse config %s: %w", name, err)
	}
	return c, nil
}

// Load is like [ParseConfig], and also returns the document and the raw faults, as
// [strict.Read] does.
func Load(data []byte) (Config, *strict.Document, error) {
	var c Config
	doc, err := strict.Read(data, &c)
	return c, doc, strict.Both(err, doc.Locate(c.Validate()))
}

// Schema returns the JSON schema of the configuration, derived from [Config].
func Schema() ([]byte, error) {
	return strict.Schema(
		&Config{},
		"Handrail configuration",
		"The file .github/agent.yml, and the limits that a server sets in the same form.",
		Words(),
	)
}

// Words returns the types of a configuration that are written as one word.
func Words() map[reflect.Type]strict.Words {
	return map[reflect.Type]strict.Words{
		reflect.TypeFor[Duration](): {
			Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`,
			Means:   "A length of time, such as 90s, 30m, 72h or 90d.",
		},
		reflect.TypeFor[Size](): {
			Pattern: `^[0-9]+ ?([kKmMgG]([iI]?[bB])?|[bB])?$`,
			Means:   "A number of bytes, such as 512m or 4g.",
			Number:  true,
		},
		reflect.TypeFor[Repository](): {
			Pattern: repositoryPattern,
			Means:   "A repository, such as owner/name, or owner/name@ref for a branch or a tag.",
			Switch:  "write",
		},
	}
}
