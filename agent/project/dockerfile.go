package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// maxDockerfile is the maximum number of bytes of a Dockerfile: approvers read all of it.
const maxDockerfile = 16 << 10

// FindRecipe returns the recipe for the image of a tree's development container; nil if it
// names no Dockerfile.
func FindRecipe(ctx context.Context, files Files) (*Recipe, error) {
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

// unclear is the error of an instruction that a builder may read in another way than this package.
func (i instruction) unclear() error {
	return fmt.Errorf("line %d can be read in two ways, by its quotes, backslashes or spaces", i.line)
}

// readStages sets the images that a recipe begins with or copies from, and whether the
// daemon itself fetches anything else.
func readStages(r *Recipe) error {
	stages := map[string]bool{"scratch": true}
	known := map[string]string{}
	from, stage := 0, "" // stage is that of the instruction; only later ones can copy from it
	list, err := instructions(r.Text)
	if err != nil {
		return err
	}
	for _, i := range list {
		words := strings.Fields(i.text)
		for len(words) > 1 && strings.EqualFold(words[0], "ONBUILD") { // it runs in a stage that begins with this one
			words = words[1:]
		}
		verb, rest := strings.ToUpper(words[0]), words[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "--") {
			if strings.ContainsAny(rest[0], quoting) && verb != "RUN" && verb != "HEALTHCHECK" { //control:recipe-flags
				return i.unclear()
			}
			if name, ok := strings.CutPrefix(rest[0], "--from="); ok && !stages[strings.ToLower(name)] && !isNumber(name) {
				r.Bases = append(r.Bases, name)
			}
			rest = rest[1:]
		}
		switch {
		case verb == "ARG" && from == 0:
			if !setArguments(known, rest, r.Args) {
				return i.unclear()
			}
		case verb == "FROM" && len(rest) > 0:
			from++
			stages[stage] = true
			name := strings.Trim(rest[0], `"'`)
			if strings.ContainsAny(name, quoting) {
				return i.unclear()
			}
			if name, err = expand(name, known); err != nil {
				return err
			}
			if !stages[strings.ToLower(name)] {
				r.Bases = append(r.Bases, name)
			}
			if stage = ""; len(rest) == 3 {
				stage = strings.ToLower(rest[2])
			}
		case verb == "ADD" && !plainPaths().MatchString(strings.Join(rest, " ")): // quotes, too, can hide an address
			r.Fetches = true
		}
	}
	if from == 0 {
		return errors.New("it has no FROM")
	}
	return nil
}

// quoting are the characters that a builder takes out of words.
const quoting = "\"'\\"

// setArguments adds the arguments of an instruction to the known ones; own are those of the
// build. It returns false if a builder may read them in another way.
func setArguments(known map[string]string, words []string, own map[string]string) bool {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		for _, q := range []string{`"`, "'"} {
			if len(value) > 1 && strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
				value = value[1 : len(value)-1]
				break
			}
		}
		if strings.ContainsAny(name, quoting+"$") || strings.ContainsAny(value, quoting) { //control:recipe-arguments
			return false
		}
		if given, ok := own[name]; ok {
			value = given
		}
		known[name] = value
	}
	return true
}

var (
	escapes    = pattern.Lazy(`(?i)^#\s*escape\s*=\s*[^\s\\]`)
	plainPaths = pattern.Lazy(`^[\w./*?, +-]*$`)
	variable   = pattern.Lazy(`\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})`)
)

// expand replaces the variables in the name of an image.
func expand(name string, known map[string]string) (out string, err error) {
	out = variable().ReplaceAllStringFunc(name, func(text string) string {
		m := variable().FindStringSubmatch(text)
		return cmp.Or(known[m[1]+m[2]], m[3], "$")
	})
	if out == "" || strings.ContainsAny(out, "$ ") { // unknown
		err = fmt.Errorf("the image in FROM %s is not known before the build", name)
	}
	return out, err
}

// instruction is an instruction of a Dockerfile, in one line, and the number of its first line.
type instruction struct {
	text string
	line int
}

// instructions returns the instructions of a Dockerfile. Lines are joined as a builder joins
// them: a blank before or behind the line break is kept, and none is added.
func instructions(text string) (list []instruction, err error) {
	var at instruction
	n, more := 0, false
	for part := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		part = strings.TrimRight(part, "\r\n")
		bare := strings.TrimSpace(part)
		if escapes().MatchString(bare) { //control:recipe-escape
			return nil, errEscape
		}
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		if !more {
			at = instruction{line: n}
			part = strings.TrimLeft(part, " \t")
		}
		part = strings.TrimRight(part, " \t")
		if strings.ContainsFunc(part, unusual) || strings.HasSuffix(part, `\\`) { //control:recipe-lines
			return nil, instruction{line: n}.unclear()
		}
		part, more = strings.CutSuffix(part, `\`)
		at.text += part
		if !more {
			list = append(list, at)
		}
	}
	if more {
		list = append(list, at)
	}
	return slices.DeleteFunc(list, func(i instruction) bool { return strings.TrimSpace(i.text) == "" }), nil
}

// unusual reports whether a builder may take a character for a space, or for none.
func unusual(r rune) bool {
	return r != ' ' && r != '\t' && (unicode.IsSpace(r) || unicode.IsControl(r))
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
