// Devcontainer reads what a repository says of the container that people
// develop it in.

package image

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

	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Files is the tree that is read. The error for a file that does not exist wraps
// [fs.ErrNotExist].
type filesAround interface {
	ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error)
}

// Config is what a devcontainer.json says.
type containerConfig struct {
	Path     string // of the file
	Image    string
	Build    string   // with what docker build makes the image, at the root of a clone; "" for no Dockerfile
	Compose  bool     // the container is one of several
	Features []string // what is put into the image, by name
	Commands []string // what runs once the container is made, as lines for a shell
}

// places are where the file may be, the first one that is there counts.
var places = [...]string{".devcontainer/devcontainer.json", ".devcontainer.json"}

// most is how much of the file is read, in bytes.
const most = 256 << 10

// Read returns what a tree says, nil for nothing.
func readConfig(ctx context.Context, files filesAround) (*containerConfig, error) {
	for _, name := range places {
		data, _, err := files.ReadAll(ctx, name, most)
		if err != nil { // it is not there, or is no file that says anything
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

// Commands returns what runs once the container of a tree is made, and which file says so.
func Commands(ctx context.Context, files project.Files) (lines []string, from string, err error) {
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
	c := &containerConfig{Path: name, Image: said.Image, Compose: said.Compose != nil, Features: slices.Sorted(maps.Keys(said.Features))}
	if file := cmp.Or(said.Build.Dockerfile, said.DockerFile); file != "" {
		words := []string{"-f", path.Join(path.Dir(name), file)}
		if said.Build.Target != "" {
			words = append(words, "--target", said.Build.Target)
		}
		for _, arg := range slices.Sorted(maps.Keys(said.Build.Args)) {
			words = append(words, "--build-arg", fmt.Sprintf("%s=%v", arg, said.Build.Args[arg]))
		}
		c.Build = line(append(words, path.Join(path.Dir(name), cmp.Or(said.Build.Context, said.Context))))
	}
	var err error
	c.Commands, err = commands(said.Commands)
	return c, err
}

var errCommand = errors.New("postCreateCommand is neither a text nor a list of texts, nor an object of those")

// commands returns the lines of a command: a text is a line, a list is a program with its
// arguments, and an object has several of them, which are taken in the order of their names.
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
			text = line(words)
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

var plainWord = pattern.Lazy(`^[A-Za-z0-9_./:@%+,-]+$`)

// line is words as a shell reads them back.
func line(words []string) string {
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain returns JSON without the comments and the commas before a closing bracket that
// such files may have. What is left stands where it stood.
func plain(data []byte) []byte {
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // of a comma that nothing but space follows so far
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

// endOfComment returns where the comment that begins at i ends.
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
