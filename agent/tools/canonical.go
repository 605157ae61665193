package tools

import (
	"strings"
	"unicode"
)

// Canonical returns the name of the tool meant by name. It normalizes spelling
// (readFile, read-file), prefixes added by some models (functions.read_file) and
// aliases (create_file). An unknown name is returned without such a prefix.
func (r *Registry) Canonical(name string) string {
	if at, ok := r.names[name]; ok {
		return r.specs[at].Name
	}
	bare := strings.TrimSpace(name)
	for _, p := range [...]string{"functions.", "function.", "functions:", "default_api.", "default_api:", "tools.", "tool.", "namespace."} {
		if rest, ok := strings.CutPrefix(bare, p); ok && rest != "" {
			bare = rest
			break
		}
	}
	bare = strings.TrimSuffix(bare, "()")
	if at, ok := r.names[snake(bare)]; ok {
		return r.specs[at].Name
	}
	return bare
}

// snake turns readFile, ReadFile, read-file and "Read File" into read_file.
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r == '-' || r == ' ' || r == '.' || r == '_':
			if b.Len() > 0 {
				b.WriteByte('_')
			}
			lower = false
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
			lower = false
		default:
			b.WriteRune(r)
			lower = true
		}
	}
	return b.String()
}
