package gitops

import "strings"

// selection is a set of paths in a tree.
type selection struct {
	under  map[string]bool // selected paths, including everything below; empty selects all
	above  map[string]bool // their parent directories
	invert bool            // select all other paths instead
}

// only returns the selection of the given paths, or of all paths if there are none.
func only(paths []string) selection {
	s := selection{under: map[string]bool{}, above: map[string]bool{}}
	for _, p := range paths {
		p = strings.Trim(p, "/")
		s.under[p] = true
		for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p, '/') {
			p = p[:i]
			s.above[p] = true
		}
	}
	return s
}

// except returns the selection of all paths but the given ones.
func except(paths []string) selection {
	s := only(paths)
	s.invert = true
	return s
}

// Whole reports whether path is selected with everything below it.
func (s selection) Whole(path string) bool {
	if len(s.under) == 0 || s.under[""] {
		return true
	}
	if s.above[path] && !s.under[path] || path == "" { //control:file-over-directory
		return false
	}
	return s.inside(path) != s.invert
}

// Some reports whether path, or any path below it, is selected.
func (s selection) Some(path string) bool { return path == "" || s.above[path] || s.Whole(path) }

func (s selection) inside(path string) bool {
	for !s.under[path] {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
	return true
}
