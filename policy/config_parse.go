package policy

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ParseConfig reads one configuration document, strictly: an unknown key, a
// value of the wrong type, a second document or an alias bomb is an error
// that names the file and the line. name is the file's name for errors.
func ParseConfig(name string, data []byte) (Config, error) {
	var c Config
	if strings.TrimSpace(string(data)) == "" {
		return c, nil
	}
	if err := yaml.Load(data, &c, yaml.WithKnownFields()); err != nil {
		return Config{}, fmt.Errorf("parse config %s: %w", name, err)
	}
	if err := c.Validate(); err != nil {
		return Config{}, fmt.Errorf("parse config %s: %w", name, err)
	}
	return c, nil
}

var approverPattern = regexp.MustCompile(`^(user:[1-9][0-9]{0,18}|team:[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+|codeowners|write|maintain|admin)$`)

// Validate reports the first key whose value cannot be used.
func (c Config) Validate() error {
	if c.Mode != "" {
		if _, err := ParseMode(c.Mode); err != nil {
			return fmt.Errorf("check mode: %w", err)
		}
	}
	for _, a := range c.Approvals.Approvers {
		if !approverPattern.MatchString(a) {
			return fmt.Errorf("check approvals.approvers: %q is not user:<id>, team:<org>/<slug>, codeowners, write, maintain or admin", a)
		}
	}
	return nil
}
