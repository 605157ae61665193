// Package project collects the facts about a repository that an agent needs at its
// start: languages, build and test commands, layout, README, instructions for agents,
// and the files that a request names.
//
// Facts may come from any state of the files. Instructions must come from the base
// branch: anything that can change them can direct the agent.
package project

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Files is the tree to read: a workspace or a commit. The error for a missing file
// wraps [fs.ErrNotExist].
type Files interface {
	ReadAll(ctx context.Context, path string, limit int64) ([]byte, fs.FileMode, error)
	List(ctx context.Context, path string, recursive bool, limit int) (workspace.Listing, error)
}

// Limits of reading and of the prompt.
const (
	maxEntries  = 20000
	maxRead     = 256 << 10 // bytes per file
	maxReadme   = 1200
	maxDirs     = 24
	maxRoot     = 30
	maxCommands = 12
	maxNested   = 10
	maxText     = 6000
)

// Command is a way to build or check the project. Dir is its directory, "" for the
// root. From is the file that declares it.
type Command struct {
	Does string // "build", "test", "lint", "types" or "format"
	Line string
	Dir  string
	From string
}

// Facts are the findings about a project.
type Facts struct {
	Kinds    []string // "Go module example.com/x", "Node package y"
	Commands []Command
	Nested   []string // manifests below the root
	Dirs     []Dir    // directories at the root, in order
	Root     []string // files at the root
	Readme   string   // its beginning
	More     bool     // the listing is incomplete
	Tried    bool     // the machine was examined
	Has      []string // programs of the machine
	lacks    []string // missing Python modules
	files    []string // as far as listed, without third-party and generated files
	sizes    map[string]int64
	Charted  string // the most used definitions, see [Facts.Chart]
}

// Dir is a directory with the number of files in it and below, as far as they were listed.
type Dir struct {
	Name  string
	Files int
}

// tree is one listing of the files.
type tree struct {
	files Files
	names map[string]bool // files
}

func (t *tree) has(name string) bool { return t.names[name] }

// read returns the beginning of a file as text, or "" if the file is missing or
// binary.
func (t *tree) read(ctx context.Context, name string) string {
	if !t.has(name) {
		return ""
	}
	data, _, err := t.files.ReadAll(ctx, name, maxRead)
	if err != nil || slices.Contains(data, 0) {
		return ""
	}
	text, _ := tools.Decode(data)
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Discover finds the facts about a project. Unreadable files are left out. It fails
// only if the tree cannot be listed.
func Discover(ctx context.Context, files Files) (Facts, error) {
	l, err := files.List(ctx, ".", true, maxEntries)
	entries := l.Entries
	if err == nil && l.Left > 0 {
		var root workspace.Listing // the first files may all be below the first directories
		root, err = files.List(ctx, ".", false, maxEntries)
		entries = append(root.Entries, entries...)
	}
	if err != nil {
		return Facts{}, fmt.Errorf("look at the project: %w", err)
	}
	t := &tree{files: files, names: map[string]bool{}}
	count := map[string]int{}
	f := Facts{More: l.Left > 0, sizes: map[string]int64{}}
	for _, e := range entries {
		name := path.Join(strings.TrimPrefix(l.Base, "."), e.Path)
		if strings.HasSuffix(e.Path, "/") {
			if !strings.Contains(name, "/") {
				count[name] += 0 // the files below it may be beyond the limit
			}
			continue
		}
		if t.names[name] {
			continue
		}
		t.names[name] = true
		if !vendored(name) {
			f.files, f.sizes[name] = append(f.files, name), e.Size
		}
		if dir, _, below := strings.Cut(name, "/"); below {
			count[dir]++
		} else {
			f.Root = append(f.Root, name)
		}
	}
	for dir, n := range count {
		if n == 0 && !f.More {
			continue
		}
		f.Dirs = append(f.Dirs, Dir{dir, n})
	}
	slices.SortFunc(f.Dirs, func(a, b Dir) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(f.Root)
	f.workflows(ctx, t)
	f.manifests(ctx, t)
	f.looseTests(ctx, t)
	f.Readme = readme(ctx, t)
	return f, nil
}

// manifests reads the manifests at the root and lists those below. If the root gives
// no commands, it reads those one level below.
func (f *Facts) manifests(ctx context.Context, t *tree) {
	f.readManifests(ctx, t, "")
	var below []string
	for name := range t.names {
		if dir := path.Dir(name); dir != "." && isManifest(path.Base(name)) && !vendored(name) {
			below = append(below, name)
		}
	}
	slices.SortFunc(below, func(a, b string) int {
		if n := strings.Count(a, "/") - strings.Count(b, "/"); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	f.Nested = below[:min(len(below), maxNested)]
	if slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Dir == "" }) {
		return
	}
	var seen []string
	for _, name := range f.Nested {
		if dir := path.Dir(name); strings.Count(name, "/") == 1 && !slices.Contains(seen, dir) &&
			len(f.Commands) < maxCommands {
			seen = append(seen, dir)
			f.readManifests(ctx, t, dir)
		}
	}
}

func vendored(name string) bool {
	return slices.ContainsFunc(
		[]string{"node_modules", "vendor", "third_party", "testdata", "fixtures", "examples", ".venv", "dist", "target"},
		func(dir string) bool { return strings.HasPrefix(name, dir+"/") || strings.Contains(name, "/"+dir+"/") },
	)
}

// readmeName matches a README in any spelling, in the root or in docs.
var readmeName = pattern.Lazy(`(?i)^(?:docs/)?readme(?:\.(?:md|markdown|rst|adoc|asciidoc|txt))?$`)

// comment matches comments of HTML, which readers do not see, and those of Markdown: definitions
// of links to nowhere, with a title of perhaps several lines. An unterminated comment of HTML
// extends to the end.
var comment = pattern.Lazy(`(?s)<!--.*?(?:-->|$)|(?m-s:^ {0,3}\[[^\]\n]+\]:[ \t]*(?:#|<>)[ \t]*` +
	`(?:\((?:[^()\\]|\\.)*\)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|.*)$)`)

// docComment matches the comments of AsciiDoc, a block or a line.
var docComment = pattern.Lazy(`(?ms)^////+[ \t]*$.*?(?:^////+[ \t]*$|\z)|(?m-s:^//(?:[^/\n].*)?$)`)

// markup matches the blocks of reStructuredText that are no plain text, and noComment those of
// them that are no comments.
var (
	markup    = pattern.Lazy(`(?m)^\.\.(?:[ \t].*)?$(?:\n(?:[ \t]+.*|[ \t]*$))*`)
	noComment = pattern.Lazy(`^\.\.[ \t]+(?:[\w:.+-]+::|_|\[|\|)`)
)

// withoutComments returns the part of a README that its readers see.
func withoutComments(name, text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == ".rst":
		return markup().ReplaceAllStringFunc(text, func(block string) string {
			if noComment().MatchString(block) {
				return block
			}
			return ""
		})
	case strings.HasPrefix(ext, ".a"):
		text = docComment().ReplaceAllString(text, "")
	}
	return comment().ReplaceAllString(text, "")
}

// readme returns the beginning of the README without badges, pictures and comments.
func readme(ctx context.Context, t *tree) string {
	var names []string
	for name := range t.names {
		if readmeName().MatchString(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { // the root's before docs, Markdown before others
		return cmp.Or(
			strings.Count(a, "/")-strings.Count(b, "/"),
			strings.Index(b, ".md")-strings.Index(a, ".md"),
			cmp.Compare(a, b),
		)
	})
	for _, name := range names {
		text := withoutComments(name, t.read(ctx, name))
		if strings.TrimSpace(text) == "" {
			continue
		}
		var out []string
		for line := range strings.Lines(text) {
			s := strings.TrimSpace(line)
			if strings.HasPrefix(s, "[![") || strings.HasPrefix(s, "![") || strings.HasPrefix(s, "<") {
				continue
			}
			out = append(out, strings.TrimRight(line, "\r\n"))
		}
		return cut(strings.TrimSpace(strings.Join(out, "\n")), maxReadme)
	}
	return ""
}

// cut shortens s to at most n bytes, at a line end if possible, and appends a mark.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[:n], "")
	if i := strings.LastIndexByte(s, '\n'); i > n/2 {
		s = s[:i]
	}
	return s + "\n[cut]"
}

// String formats the facts for a prompt, cut to 6,000 bytes.
func (f Facts) String() string {
	return cut(strings.TrimSpace(f.Runs()+"\n"+f.About()), maxText)
}

// Runs formats the commands and the programs of the machine for a prompt. A command
// that cannot be run here is not spelled out, since models run the commands that they
// read.
func (f Facts) Runs() string {
	var b strings.Builder
	for _, c := range f.Commands {
		where := ""
		if c.Dir != "" {
			where = ", in " + c.Dir
		}
		if why := f.cannotRun(c); why != "" {
			fmt.Fprintf(&b, "- %s: cannot be run here, %s (%s%s)\n", c.Does, why, c.From, where)
			continue
		}
		fmt.Fprintf(&b, "- %s: `%s` (%s%s)\n", c.Does, c.Line, c.From, where)
	}
	if f.Tried {
		fmt.Fprintf(&b, "- Programs here: %s\n", cmp.Or(strings.Join(f.Has, ", "), "none of the usual ones"))
	}
	return strings.TrimRight(b.String(), "\n")
}

// About formats the facts other than commands, cut to 6,000 bytes.
func (f Facts) About() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, k := range f.Kinds {
		line("- %s", k)
	}
	if len(f.Nested) > 0 {
		line("- More manifests: %s", strings.Join(f.Nested, ", "))
	}
	if len(f.Dirs)+len(f.Root) > 0 {
		line("- Layout: %s", f.layout())
	} else {
		line("- The repository is empty.")
	}
	if f.Readme != "" {
		line("\nThe README begins:\n\n%s", indent(f.Readme))
	}
	return cut(strings.TrimRight(b.String(), "\n"), maxText)
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

func (f Facts) layout() string {
	var parts []string
	for i, d := range f.Dirs {
		if i == maxDirs {
			parts = append(parts, fmt.Sprintf("%d more directories", len(f.Dirs)-i))
			break
		}
		text := d.Name + "/"
		if d.Files > 0 {
			text += fmt.Sprintf(" (%d)", d.Files)
		}
		parts = append(parts, text)
	}
	for i, name := range f.Root {
		if i == maxRoot {
			parts = append(parts, fmt.Sprintf("%d more files", len(f.Root)-i))
			break
		}
		parts = append(parts, name)
	}
	out := strings.Join(parts, ", ")
	if f.More {
		out += ", and more than was counted"
	}
	return out
}
