package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/strict"
)

// source says where the values of a configuration come from.
type source struct {
	*strict.Document // the file, nil without one

	unread bool // nothing of the file could be read

	over map[string]string // key → variable of the environment that wins over the file
}

// From says where the value of a key comes from: a variable of the environment, or a line
// of the file. Both are empty where nothing sets the key.
func (c *Server) From(key string) (variable string, line int) {
	if v := c.source.over[key]; v != "" {
		return v, 0
	}
	line, _ = c.source.Has(Path(key)...)
	return "", line
}

// Idle returns the keys of the server's file that say nothing, as [strict.Document.Idle].
func (c *Server) Idle() strict.Faults { return c.source.Idle(*c) }

// Locate gives faults their places in the server's file.
func (c *Server) Locate(err error) error { return c.source.Locate(err) }

// Unread reports whether nothing of the file could be read, so that nothing is known of
// what it sets.
func (c *Server) Unread() bool { return c.source.unread }

// SaysWhere reports whether there is anything of GitHub or a model in it.
func (c *Server) SaysWhere() bool {
	g := c.GitHub
	return g.AppID != 0 || g.PrivateKeyFile != "" || g.Repository != "" || g.API != "" || c.Model.Name != "" || c.Policy.Model != ""
}

// problems are all that is wrong, so that everything is told at once.
type problems struct {
	path, hint string // of the file
	source     source
	read       error // what could not be read of the file
	all        strict.Faults
}

// when adds a problem of a key, "" for one that is about more.
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

// also adds problems. One of a value that the environment set names the variable.
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

// err returns all of them. Of a file that could not be read only that is told: what it
// lacks may stand in it.
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

// Path is a key as steps: names, and numbers for the items of lists.
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
