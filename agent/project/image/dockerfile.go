package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxDockerfile is the maximum number of bytes of a Dockerfile: approvers read all of it.
const maxDockerfile = 16 << 10

// Recipe returns the recipe for the image of a tree's development container; nil if it
// names no Dockerfile.
func Recipe(ctx context.Context, files project.Files) (*project.Recipe, error) {
	c, err := readConfig(ctx, files)
	if c == nil || err != nil || c.Recipe.File == "" || c.Image != "" || c.Compose {
		return nil, err
	}
	r := c.Recipe
	for _, name := range []string{r.File, r.Context} {
		if name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
			return nil, fmt.Errorf("read %s: %s is outside of the repository", c.Path, name)
		}
	}
	data, _, err := files.ReadAll(ctx, r.File, maxDockerfile+1)
	if err == nil && len(data) > maxDockerfile {
		err = fmt.Errorf("it is longer than %d bytes", maxDockerfile)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s, which %s names: %w", r.File, c.Path, err)
	}
	r.Text = string(data)
	if err := readStages(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.File, err)
	}
	return &r, nil
}

var errEscape = errors.New("its directive \"escape\" is not supported")

// readStages sets the images that a recipe begins with or copies from, and whether the
// daemon itself fetches anything else.
func readStages(r *project.Recipe) error {
	stages := map[string]bool{"scratch": true}
	known := map[string]string{}
	from := 0
	for _, line := range instructions(r.Text) {
		words := strings.Fields(line)
		for len(words) > 1 && strings.EqualFold(words[0], "ONBUILD") { // it runs in a stage that begins with this one
			words = words[1:]
		}
		verb, rest := strings.ToUpper(words[0]), words[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "--") {
			if name, ok := strings.CutPrefix(rest[0], "--from="); ok && !stages[strings.ToLower(name)] && !isNumber(name) {
				r.Bases = append(r.Bases, name)
			}
			rest = rest[1:]
		}
		switch {
		case verb == "ARG" && from == 0 && len(rest) > 0:
			name, value, _ := strings.Cut(rest[0], "=")
			if own, ok := r.Args[name]; ok {
				value = own
			}
			known[name] = strings.Trim(value, `"'`)
		case verb == "FROM" && len(rest) > 0:
			from++
			name, err := expand(rest[0], known)
			if err != nil {
				return err
			}
			if !stages[strings.ToLower(name)] {
				r.Bases = append(r.Bases, name)
			}
			if len(rest) == 3 {
				stages[strings.ToLower(rest[2])] = true
			}
		case verb == "ADD" && !plainPaths().MatchString(strings.Join(rest, " ")): // quotes, too, can hide an address
			r.Fetches = true
		}
	}
	if from == 0 {
		return errors.New("it has no FROM")
	}
	if escapes().MatchString(r.Text) {
		return errEscape
	}
	return nil
}

var (
	escapes    = pattern.Lazy(`(?im)^\s*#\s*escape\s*=\s*[^\s\\]`)
	plainPaths = pattern.Lazy(`^[\w./*?, +-]*$`)
	variable   = pattern.Lazy(`\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})`)
)

// expand replaces the variables in the name of an image.
func expand(name string, known map[string]string) (out string, err error) {
	out = variable().ReplaceAllStringFunc(strings.Trim(name, `"'`), func(text string) string {
		m := variable().FindStringSubmatch(text)
		return cmp.Or(known[m[1]+m[2]], m[3], "$")
	})
	if out == "" || strings.ContainsAny(out, "$ ") { // unknown
		err = fmt.Errorf("the image in FROM %s is not known before the build", name)
	}
	return out, err
}

// instructions returns the instructions of a Dockerfile, each in a line.
func instructions(text string) (list []string) {
	var line strings.Builder
	for part := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		part = strings.TrimSpace(part)
		if part == "" || strings.HasPrefix(part, "#") {
			continue
		}
		more := strings.HasSuffix(part, `\`)
		line.WriteString(strings.TrimSuffix(part, `\`) + " ")
		if more {
			continue
		}
		if s := strings.TrimSpace(line.String()); s != "" {
			list = append(list, s)
		}
		line.Reset()
	}
	if s := strings.TrimSpace(line.String()); s != "" {
		list = append(list, s)
	}
	return list
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
