package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/ignore"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// ruleFiles hold a repository's instructions for agents. placeFiles may be in any
// directory, for the files below it.
var (
	ruleFiles  = [...]string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules"}
	placeFiles = [...]string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"}
)

// scopedIn are the directories of instructions that name the files to which they apply, with
// the ending of their names.
var scopedIn = [...]struct{ dir, ending string }{
	{".github/instructions", ".instructions.md"},
	{".cursor/rules", ".mdc"},
}

// Limits of instructions.
const (
	maxRule     = 8000  // bytes per file
	maxRules    = 16000 // bytes at the start of a session
	maxScoped   = 50    // files
	maxIncludes = 20    // files that one file includes, directly or not
	maxDepth    = 5     // of includes
)

// Rules are the instructions of a repository for agents. Files must be the base branch:
// anything that can change them can direct the agent.
type Rules struct {
	Files  Files
	scoped []scoped // read on first use
	read   bool
	left   int               // files beyond maxScoped
	places map[string]string // by name of a file of a place: its text, "" if there is none
}

// scoped is a file of instructions that names the files to which it applies.
type scoped struct {
	name, text string
	about      string // its description
	always     bool
	applies    ignore.Rules
	except     ignore.Rules // files of them to which it does not apply
}

// Start returns the instructions that hold for every file. Files with equal contents are
// included once. Instructions that are read on demand are named.
func (r *Rules) Start(ctx context.Context) (string, error) {
	var b strings.Builder
	var seen, names []string
	add := func(name, text string) error {
		if text == "" || slices.Contains(seen, text) || slices.Contains(names, name) {
			return nil
		}
		seen = append(seen, text)
		text, err := r.include(ctx, name, text, &names)
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", name, text)
		return err
	}
	for _, name := range ruleFiles {
		text, err := r.text(ctx, name)
		if err == nil {
			err = add(name, text)
		}
		if err != nil {
			return "", err
		}
	}
	list, err := r.scopes(ctx)
	if err != nil {
		return "", err
	}
	var named []string
	for _, s := range list {
		switch {
		case s.always:
			if err := add(s.name, s.text); err != nil {
				return "", err
			}
		case len(s.applies) == 0 && s.about != "":
			named = append(named, fmt.Sprintf("- %s: %s", s.name, cut(s.about, maxAbout)))
		}
	}
	if r.left > 0 {
		named = append(named, fmt.Sprintf("- %d more files in %s and %s", r.left, scopedIn[0].dir, scopedIn[1].dir))
	}
	more, err := r.onDemand(ctx)
	if err != nil {
		return "", err
	}
	for _, o := range more {
		named = append(named, o.line())
	}
	if len(named) > 0 {
		fmt.Fprintf(&b, "## Read if it fits the task\n\n%s\n\n", strings.Join(named, "\n"))
	}
	return cut(strings.TrimSpace(b.String()), maxRules), nil
}

// maxAbout is the maximum length of the description of instructions, in bytes.
const maxAbout = 200

// At returns the instructions that hold for some files in addition to those of
// [Rules.Start]: of the directories above them, the nearest last, and of instructions
// that name them. Names of known instructions are left out.
func (r *Rules) At(ctx context.Context, files, known []string) (out []session.Item, err error) {
	known = slices.Clone(known)
	add := func(name, text string) error {
		if text == "" || slices.Contains(known, name) {
			return nil
		}
		text, err := r.include(ctx, name, text, &known)
		out = append(out, session.Item{Kind: session.ItemRules, Name: name, Text: text})
		return err
	}
	for _, file := range files {
		for _, dir := range above(file) {
			before := ""
			for _, name := range placeFiles {
				text, err := r.placed(ctx, path.Join(dir, name))
				if err == nil && text != before {
					err = add(path.Join(dir, name), text) //control:rules-by-place
				}
				if err != nil {
					return nil, err
				}
				before = text
			}
		}
	}
	list, err := r.scopes(ctx)
	for _, s := range list {
		if err == nil && !s.always && slices.ContainsFunc(files, s.matches) { //control:rules-by-name
			err = add(s.name, s.text)
		}
	}
	return out, err
}

// above returns the directories above a file, except the root, from top to bottom.
func above(file string) (out []string) {
	file = path.Clean(file)
	if !inside(file) {
		return nil
	}
	for i, c := range file {
		if c == '/' {
			out = append(out, file[:i])
		}
	}
	return out
}

func (s scoped) matches(file string) bool {
	file = path.Clean(file)
	in := func(rules ignore.Rules) bool {
		return ignore.Match(file, false, func(dir string) ignore.Rules {
			if dir == "." {
				return rules
			}
			return nil
		})
	}
	return len(s.applies) > 0 && inside(file) && in(s.applies) && !in(s.except) //control:rules-have-exceptions
}

// placed is [Rules.text] for a file of a place, which is read once: many files are in one
// directory.
func (r *Rules) placed(ctx context.Context, name string) (string, error) {
	if text, ok := r.places[name]; ok {
		return text, nil
	}
	text, err := r.text(ctx, name)
	if err == nil {
		if r.places == nil {
			r.places = map[string]string{}
		}
		r.places[name] = text
	}
	return text, err
}

// text returns the text of a file of instructions, or "" if there is none.
func (r *Rules) text(ctx context.Context, name string) (string, error) {
	data, _, err := r.Files.ReadAll(ctx, name, maxRead)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, workspace.ErrNotFile), errors.Is(err, workspace.ErrIgnored):
		return "", nil
	case errors.Is(err, workspace.ErrTooLarge): //control:large-rules
		return fmt.Sprintf("It has more than %d bytes and is not shown here: read it in parts.", maxRead), nil
	case err != nil:
		return "", fmt.Errorf("read instructions: %w", err)
	}
	text, _ := tools.Decode(data)
	if strings.IndexByte(text, 0) >= 0 {
		return "", nil
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(text, ""), "\ufeff")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), nil
}

// scopes reads the instructions that name the files to which they apply.
func (r *Rules) scopes(ctx context.Context) ([]scoped, error) {
	if r.read {
		return r.scoped, nil
	}
	var out []scoped
	for _, in := range scopedIn {
		list, err := r.Files.List(ctx, in.dir, true, maxEntries)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrIgnored) || errors.Is(err, workspace.ErrNotFile) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list instructions: %w", err)
		}
		for _, e := range list.Entries {
			name := e.Path
			switch {
			case !strings.HasSuffix(name, in.ending):
				continue
			case len(out) == maxScoped:
				r.left++
				continue
			}
			text, err := r.text(ctx, name)
			if err != nil {
				return nil, err
			}
			out = append(out, parseScoped(name, text))
		}
	}
	r.scoped, r.read = out, true
	return out, nil
}

// parseScoped reads instructions with their front matter. Without one they are read on
// demand. Editors write patterns there that are not valid YAML.
func parseScoped(name, text string) scoped {
	s := scoped{name: name, text: text}
	fence, rest, _ := strings.Cut(text, "\n")
	head, body, ok := strings.Cut("\n"+rest, "\n---")
	if !ok || strings.TrimRight(fence, " \t") != "---" {
		return s
	}
	_, body, _ = strings.Cut(body, "\n")
	s.text = strings.TrimSpace(body)
	values := map[string][]string{}
	key := ""
	for line := range strings.Lines(head) {
		item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		k, v, found := strings.Cut(line, ":")
		switch {
		case listed:
			values[key] = append(values[key], plainValue(item))
		case found && strings.TrimLeft(k, " \t") == k:
			key = strings.TrimSpace(k)
			values[key] = append(values[key], plainValue(v))
		}
	}
	unquote := func(v string) string { return strings.Trim(strings.TrimSpace(v), `"'`) }
	s.about = unquote(strings.Join(values["description"], " "))
	s.always = unquote(strings.Join(values["alwaysApply"], "")) == "true"
	var lines, except []string
	every := false
	for _, v := range append(values["applyTo"], values["globs"]...) {
		for _, p := range splitPatterns(v) {
			p = strings.TrimPrefix(unquote(p), "./")
			every = every || p == "**" || p == "**/*" || p == "*"
			if not, negated := strings.CutPrefix(p, "!"); negated {
				except = append(except, braces(strings.TrimPrefix(not, "./"))...)
				continue
			}
			lines = append(lines, braces(p)...)
		}
	}
	s.always = s.always || every && len(except) == 0
	s.applies, s.except = ignore.Parse(strings.Join(lines, "\n")), ignore.Parse(strings.Join(except, "\n"))
	return s
}

// plainValue returns a value of front matter without a comment and the brackets of a list.
func plainValue(v string) string {
	v = strings.TrimSpace(v)
	if v != "" && !strings.ContainsRune(`"'`, rune(v[0])) {
		v, _, _ = strings.Cut(v, " #")
		v = strings.TrimSpace(v)
	}
	if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
		return v[1 : len(v)-1]
	}
	return v
}

// splitPatterns splits a list of patterns at the commas outside of braces.
func splitPatterns(list string) (out []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			out, from = append(out, list[from:i]), i+1
		}
	}
	return append(out, list[from:])
}

// maxBraces is the maximum number of patterns that one with braces stands for.
const maxBraces = 64

// braces returns the patterns that one with alternatives in braces stands for.
func braces(p string) []string {
	end := strings.IndexByte(p, '}')
	open := strings.LastIndexByte(p[:max(end, 0)], '{') // the innermost ones first
	if open < 0 {
		return []string{p}
	}
	var out []string
	inner, rest := p[open+1:end], p[end+1:]
	for _, choice := range strings.Split(inner, ",") {
		for _, one := range braces(p[:open] + strings.TrimSpace(choice) + rest) {
			if len(out) < maxBraces {
				out = append(out, one)
			}
		}
	}
	return out
}

// included matches a file that instructions include: "@docs/style.md".
var included = pattern.Lazy(`(?:^|[\s(])@(\.{0,2}/?[\w.-]+(?:/[\w.-]+)*)`)

// include adds the files that instructions include, and shortens long ones. It adds the names
// to those that are shown; none is included again.
func (r *Rules) include(ctx context.Context, name, text string, shown *[]string) (string, error) {
	var b strings.Builder
	b.WriteString(shortened(name, text))
	*shown = append(*shown, name)
	from := len(*shown)
	var follow func(from, text string, depth int) error
	follow = func(by, text string, depth int) error {
		for _, found := range included().FindAllStringSubmatch(outsideCode(text), -1) {
			said := strings.TrimRight(found[1], ".")
			if !strings.ContainsAny(said, "./") {
				continue
			}
			for _, at := range []string{path.Join(path.Dir(by), said), path.Clean(said)} {
				if slices.Contains(*shown, at) {
					break
				}
				if len(*shown)-from >= maxIncludes || !inside(at) {
					continue
				}
				more, err := r.text(ctx, at)
				if err != nil {
					return err
				}
				if more == "" {
					continue
				}
				*shown = append(*shown, at)
				fmt.Fprintf(&b, "\n\n### %s\n\n%s", at, shortened(at, more)) //control:included-rules
				if depth < maxDepth {
					if err := follow(at, more, depth+1); err != nil {
						return err
					}
				}
				break
			}
		}
		return nil
	}
	err := follow(name, text, 1)
	return b.String(), err
}

// shortened cuts a long text and names the file with the rest.
func shortened(name, text string) string {
	if more := len(text) - maxRule; more > 0 {
		return fmt.Sprintf("%s %d bytes more: read %s", cut(text, maxRule), more, name)
	}
	return text
}

// codeSpan matches code within a line of Markdown.
var codeSpan = pattern.Lazy("`[^`\n]*`")

// outsideCode returns the lines of Markdown without code.
func outsideCode(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		mark := s[:len(s)-len(strings.TrimLeft(s, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence = mark
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
		default:
			b.WriteString(codeSpan().ReplaceAllString(line, ""))
		}
	}
	return b.String()
}
