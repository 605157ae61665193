package merge

import "strings"

// Selection says which paths of a tree count.
type Selection struct {
	under  map[string]bool // these and what is below them; empty means all
	above  map[string]bool // the directories on the way there
	invert bool            // all but these
}

// Only returns the selection of some paths, of all for none.
func Only(paths []string) Selection {
	s := Selection{under: map[string]bool{}, above: map[string]bool{}}
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

// Except returns the selection of all but some paths.
func Except(paths []string) Selection {
	s := Only(paths)
	s.invert = true
	return s
}

// Whole reports whether path counts with all that is below it.
func (s Selection) Whole(path string) bool {
	if len(s.under) == 0 || s.under[""] {
		return true
	}
	if s.above[path] && !s.under[path] || path == "" { //control:file-over-directory
		return false
	}
	return s.inside(path) != s.invert
}

// Some reports whether something at or below path counts.
func (s Selection) Some(path string) bool { return path == "" || s.above[path] || s.Whole(path) }

func (s Selection) inside(path string) bool {
	for !s.under[path] {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
	return true
}
