package walk

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/known"
)

// project looks at what a program that builds or tests a project would run of
// it: files that the line itself wrote, and a project that was downloaded.
func project(c *Command) {
	sources := known.Tables().Sources[c.Name]
	if len(sources) == 0 || len(c.Content) == 0 || c.AsksHelp() {
		return
	}
	for _, s := range sources {
		for _, name := range slices.Sorted(maps.Keys(c.Content)) {
			if text := c.Content[name]; slices.ContainsFunc(s.Names, func(end string) bool { return strings.HasSuffix(name, end) }) && !strings.HasPrefix(name, "/dev/") && text != unknown {
				ScanCode(c.With(s.Language, nil), text) //control:project-files
			}
		}
	}
	if !known.In("project-runners", c.Name) {
		return
	}
	dirs := []string{"."}
	if dir, ok := c.Value("C", "directory", "prefix", "cwd", "project-directory", "manifest-path", "f"); ok {
		dirs = append(dirs, dir)
	}
	for _, a := range c.OperandsAfter() {
		if strings.Contains(a.S, "/") {
			dirs = append(dirs, a.S)
		}
	}
	for _, dir := range dirs {
		if p := c.Resolve(dir); p != "." && c.downloaded(p) || dir == "." && c.Content["."] == RemoteDir {
			c.Hit("remote-code")
		}
	}
}

// downloaded reports whether a directory, or one that it lies in, came from
// elsewhere as a whole.
func (s *files) downloaded(p string) bool {
	for ; p != "." && p != "/" && p != ""; p = path.Dir(p) {
		if s.Content[p] == RemoteDir {
			return true
		}
	}
	return false
}
