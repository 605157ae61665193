package config

import (
	"os"
	"strings"

	"github.com/handrail-bot/handrail/gitops"
)

// Commits is `commits:` in the server's file.
type Commits struct {
	Key string `yaml:"key" jsonschema:"description=File with the private key that signs commits."`

	Sign *gitops.SigningKey `yaml:"-"`
}

// read reads the key.
func (c *Commits) read(bad *problems) {
	if c.Key == "" {
		return
	}
	if strings.Contains(c.Key, "-----BEGIN") {
		bad.when(true, "commits.key", "must be the path of a file, not the key itself")
		return
	}
	data, err := os.ReadFile(c.Key)
	if err != nil {
		bad.when(true, "commits.key", "read the key that signs commits: %v", err)
		return
	}
	c.Sign, err = gitops.ReadSigningKey(data)
	bad.when(err != nil, "commits.key", "%s: %v", c.Key, err)
}

// checkSigning adds a problem if commits cannot be signed as configured.
func (c *Server) checkSigning(bad *problems) {
	switch kind := c.Policy.Commits.Sign; kind {
	case "ssh", "gpg":
		bad.when(
			c.Commits.Key == "",
			"policy.commits.sign",
			"it is %s: set commits.key to the file with the private key",
			kind,
		)
		bad.when(
			c.Commits.Sign != nil && c.Commits.Sign.Kind != kind,
			"policy.commits.sign",
			"it is %s, and commits.key is a key of another kind",
			kind,
		)
	case "api":
		bad.when(
			c.GitHub.Token != "",
			"policy.commits.sign",
			"it is api: GitHub signs commits of an App only, not those made with a token",
		)
	}
}
