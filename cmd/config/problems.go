package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/strict"
)

// source locates the values of a configuration.
type source struct {
	*strict.Document // the file, nil without one

	unread bool // no part of the file could be read

	over map[string]string // key → environment variable that overrides the file
}

// From returns the source of a key's value: an environment variable, or a line of the
// file. Both are zero if the key is not set.
func (c *Server) From(key string) (variable string, line int) {
	if v := c.source.over[key]; v != "" {
		return v, 0
	}
	line, _ = c.source.Has(Path(key)...)
	return "", line
}

// Idle returns the keys of the server's file without effect, see [strict.Document.Idle].
func (c *Server) Idle() strict.Faults { return c.source.Idle(*c) }

// Locate adds positions in the server's file to faults.
func (c *Server) Locate(err error) error { return c.source.Locate(err) }

// Unread reports whether no part of the file could be read: its settings are unknown.
func (c *Server) Unread() bool { return c.source.unread }

// NamesServices reports whether the configuration names GitHub or a model.
func (c *Server) NamesServices() bool {
	g := c.GitHub
	return g.AppID != 0 || g.PrivateKeyFile != "" || g.Repository != "" || g.API != "" || c.Model.Name != "" ||
		c.Policy.Model != ""
}

// problems collects all faults, to report them at once.
type problems struct {
	path, hint string // of the file
	source     source
	read       error // error of reading the file
	all        strict.Faults
}

// when adds a problem of a key if bad. An empty key means a problem of several keys.
func (p *problems) when(bad bool, key, format string, args ...any) {
	if bad {
		p.add(key, fmt.Errorf(format, args...))
	}
}

func (p *problems) add(key string, err error) {
	if err == nil {
		return
	}
	for _, f := range strict.Of(err) {
		f.Path = append(Path(key), f.Path...)
		f.Key = strict.Join(f.Path)
		p.also(strict.Faults{f})
	}
}

// also adds problems. A problem of a value from the environment names the variable.
func (p *problems) also(found strict.Faults) {
	for _, f := range found {
		if v := p.source.over[f.Key]; v != "" {
			f.Key = v
		} else {
			f = strict.Of(p.source.Locate(f))[0]
		}
		p.all = append(p.all, f)
	}
}

// err returns all problems. If no part of the file could be read, it returns only that:
// seemingly missing values may be in the file.
func (p *problems) err() error {
	all := strict.Both(p.read, p.all.Err())
	if p.source.unread {
		all = p.read
	}
	switch {
	case all == nil:
		return nil
	case p.path == "":
		return fmt.Errorf("configuration: %w", all)
	}
	return fmt.Errorf("read configuration %s: %w%s", p.path, all, p.hint)
}

// Path splits a key into steps: names, and numbers for list items.
func Path(key string) []any {
	if key == "" {
		return nil
	}
	var out []any
	for _, step := range strings.Split(key, ".") {
		if n, err := strconv.Atoi(step); err == nil {
			out = append(out, n)
			continue
		}
		out = append(out, step)
	}
	return out
}
