// The development container of a repository, as its devcontainer.json configures it.

package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/shell"
)

// configFiles is the tree to read. The error for a missing file wraps
// [fs.ErrNotExist].
type configFiles interface {
	ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error)
}

// containerConfig is the content of a devcontainer.json.
type containerConfig struct {
	Path     string // of the file
	Image    string
	Recipe   Recipe            // without the Dockerfile's content; the zero value without one
	Compose  bool              // configured by Docker Compose
	Features []string          // names of additions to the image
	Versions map[string]string // versions of features, by name
	Commands []string          // shell lines to run after the container is created
}

// places are the possible paths of the file; the first existing one counts.
var places = [...]string{".devcontainer/devcontainer.json", ".devcontainer.json"}

// maxConfig is the maximum number of bytes to read from the file.
const maxConfig = 256 << 10

// readConfig returns the configuration in a tree, or nil if it has none.
func readConfig(ctx context.Context, files configFiles) (*containerConfig, error) {
	for _, name := range places {
		data, _, err := files.ReadAll(ctx, name, maxConfig)
		if err != nil { // missing or unreadable
			continue
		}
		c, err := parse(name, data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return c, nil
	}
	return nil, nil
}

// FindCommands returns the commands to run after the container of a tree is created, and
// the file that configures them.
func FindCommands(ctx context.Context, files Files) (lines []string, from string, err error) {
	c, err := readConfig(ctx, files)
	if c == nil {
		return nil, "", err
	}
	return c.Commands, c.Path, err
}

func parse(name string, data []byte) (*containerConfig, error) {
	var said struct {
		Image      string
		DockerFile string
		Context    string
		Build      struct {
			Dockerfile, Context, Target string
			Args                        map[string]any
		}
		Compose  any `json:"dockerComposeFile"`
		Features map[string]any
		Commands json.RawMessage `json:"postCreateCommand"`
	}
	if err := json.Unmarshal(plain(data), &said); err != nil {
		return nil, err
	}
	c := &containerConfig{
		Path:     name,
		Image:    said.Image,
		Compose:  said.Compose != nil,
		Features: slices.Sorted(maps.Keys(said.Features)),
	}
	if file := cmp.Or(said.Build.Dockerfile, said.DockerFile); file != "" {
		r := Recipe{
			Of:      name,
			File:    path.Join(path.Dir(name), file),
			Context: path.Join(path.Dir(name), cmp.Or(said.Build.Context, said.Context)),
			Target:  said.Build.Target,
			Args:    map[string]string{},
		}
		words := []string{"-f", r.File}
		if r.Target != "" {
			words = append(words, "--target", r.Target)
		}
		for _, arg := range slices.Sorted(maps.Keys(said.Build.Args)) {
			r.Args[arg] = fmt.Sprint(said.Build.Args[arg])
			words = append(words, "--build-arg", arg+"="+r.Args[arg])
		}
		r.Line = shellLine(append(words, r.Context))
		c.Recipe = r
	}
	for name, options := range said.Features {
		of, _ := options.(map[string]any)
		if version, _ := of["version"].(string); versionNumber().MatchString(version) {
			if c.Versions == nil {
				c.Versions = map[string]string{}
			}
			c.Versions[name] = versionNumber().FindString(version)
		}
	}
	var err error
	c.Commands, err = commands(said.Commands)
	return c, err
}

// bases are images without a language: a container on one gets it from a feature, or from
// its commands.
var bases = pattern.Lazy(`^(?:mcr\.microsoft\.com/(?:vscode/)?devcontainers/base|(?:docker\.io/(?:library/)?)?(?:ubuntu|debian|alpine|buildpack-deps))(?:[:@]|$)`)

// isBase reports whether the image has no language of its own.
func (c *containerConfig) isBase() bool { return bases().MatchString(c.Image) }

// hinted returns the languages that features install, with their images.
func (c *containerConfig) hinted() (out []fit) {
	for _, feature := range c.Features {
		name, _, _ := strings.Cut(path.Base(feature), ":")
		for _, l := range languages {
			if slices.Contains(l.tools, name) {
				out = append(out, fit{l.image(c.Versions[feature]), c.Path + " has the feature " + name, ""})
				break
			}
		}
	}
	return out
}

var errCommand = errors.New("postCreateCommand is neither a text nor a list of texts, nor an object of those")

// commands returns the lines of a command property. A string is a line, a list is a
// program with its arguments, and an object holds several of these, sorted by name.
func commands(data json.RawMessage) (lines []string, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	var several map[string]json.RawMessage
	if json.Unmarshal(data, &several) != nil {
		several = map[string]json.RawMessage{"": data}
	}
	for _, name := range slices.Sorted(maps.Keys(several)) {
		var text string
		var words []string
		if json.Unmarshal(several[name], &text) != nil {
			if json.Unmarshal(several[name], &words) != nil {
				return nil, errCommand
			}
			text = shellLine(words)
		}
		if strings.ContainsRune(text, 0) {
			return nil, errors.New("postCreateCommand has a NUL character")
		}
		if strings.TrimSpace(text) != "" {
			lines = append(lines, text)
		}
	}
	return lines, nil
}

// shellLine quotes words for a shell.
func shellLine(words []string) string {
	for i, w := range words {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}

// plain blanks the comments and trailing commas of a devcontainer.json. Positions in
// the rest do not change.
func plain(data []byte) []byte {
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // offset of a comma followed only by space so far
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := endOfComment(out, i)
			blank(i, end)
			i = end - 1
		case c == ',':
			comma = i
		case (c == ']' || c == '}') && comma >= 0:
			blank(comma, comma+1)
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// endOfComment returns the end of the comment that begins at i.
func endOfComment(text []byte, i int) int {
	line := text[i+1] == '/'
	for j := i + 2; j < len(text); j++ {
		if line && text[j] == '\n' {
			return j
		}
		if !line && text[j] == '*' && j+1 < len(text) && text[j+1] == '/' {
			return j + 2
		}
	}
	return len(text)
}
