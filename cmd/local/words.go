package local

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// fileReference matches a file in a request: @ at the beginning of a word and the path, in quotes
// if it has spaces.
var fileReference = pattern.Lazy(`(?:^|\s)@(?:"([^"\n]+)"|(\S+))`)

// maxFile is the maximum size of a file in a request, in bytes.
const maxFile = 256 << 10

// fileReference returns the files and pictures that a text names. A missing file is an error only
// if the word looks like a path: @name may be a user.
func (c *chat) namedFiles(text string) (items []session.Item, images []session.Blob, err error) {
	for _, m := range fileReference().FindAllStringSubmatch(text, -1) {
		name := m[1]
		if name == "" {
			name = strings.TrimRight(m[2], ".,;:!?)")
		}
		info, err := os.Stat(expand(name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && m[1] == "" && !strings.ContainsAny(name, "/."):
			continue
		case err != nil:
			return nil, nil, door.Usage("@%s: %w", name, err)
		case info.IsDir():
			return nil, nil, door.Usage("@%s is a directory: name a file in it", name)
		case isPicture(name):
			found, err := Pictures([]string{expand(name)})
			if err != nil {
				return nil, nil, err
			}
			images = append(images, found...)
			continue
		case info.Size() > maxFile:
			return nil, nil, door.Usage(
				"@%s has %d bytes, more than %d: say which part of it matters",
				name,
				info.Size(),
				maxFile,
			)
		}
		data, err := os.ReadFile(expand(name))
		if err != nil {
			return nil, nil, door.Usage("@%s: %w", name, err)
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return nil, nil, door.Usage("@%s is no text", name)
		}
		items = append(items, session.Item{Kind: session.ItemExplicit, Name: name, Text: c.Redact(string(data))})
	}
	return items, images, nil
}

// expand replaces a leading ~ with the home directory.
func expand(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return name
}

func isPicture(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// Complete returns the possible continuations of a line: the rest of a command, or of a
// file's path.
func Complete(before string) (out []string) {
	if strings.HasPrefix(before, "/") && !strings.Contains(before, " ") {
		for _, name := range commandWords() {
			if rest, ok := strings.CutPrefix(name, before); ok {
				out = append(out, rest+" ")
			}
		}
		return out
	}
	word := before[strings.LastIndexByte(before, ' ')+1:]
	name, ok := strings.CutPrefix(word, "@")
	if !ok {
		return nil
	}
	dir, part := filepath.Split(name)
	list, err := os.ReadDir(expand(dir + "."))
	if err != nil {
		return nil
	}
	for _, e := range list {
		rest, ok := strings.CutPrefix(e.Name(), part)
		if !ok || strings.HasPrefix(e.Name(), ".") && part == "" {
			continue
		}
		end := " "
		if e.IsDir() {
			end = "/"
		}
		out = append(out, rest+end)
	}
	return out
}
