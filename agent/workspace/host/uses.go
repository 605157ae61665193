package host

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

const (
	minLetters = 4 // minimum length of a name: shorter ones are too ambiguous
	maxHomes   = 3 // maximum number of files that define a name: more are ambiguous
)

// uses counts the files that contain the names of definitions. Add may be called
// concurrently.
type uses struct {
	mu    sync.Mutex
	files map[string]int      // by word: number of files that contain it
	homes map[string][]string // by name: files that define it
}

// newUses returns an empty count.
func newUses() *uses { return &uses{files: map[string]int{}, homes: map[string][]string{}} }

// Add counts the words of a file and records its definitions.
func (u *uses) Add(name string, text []byte) {
	words := wordsOf(text)
	var names []string
	if !workspace.IsTest(name) {
		defs, _, _ := outline.Of(name, text)
		for _, d := range defs {
			if d.Exported && d.Kind != "namespace" && d.Kind != "extension" &&
				(d.Depth == 0 && d.Kind != "method" || d.Depth == 1 && d.IsType()) {
				names = append(names, d.Name)
			}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for w := range words {
		u.files[w]++
	}
	for _, n := range names {
		n = n[strings.LastIndexAny(n, ".:\\")+1:]
		if len(n) >= minLetters && len(n) <= 60 && !slices.Contains(u.homes[n], name) {
			u.homes[n] = append(u.homes[n], name)
		}
	}
}

// wordsOf returns the words of a text that may be names.
func wordsOf(text []byte) map[string]bool {
	words := map[string]bool{}
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && wordByte(text[i]) {
			i++
		}
		if i-from >= minLetters && i-from <= 60 && (text[from] < '0' || text[from] > '9') {
			if word := text[from:i]; !words[string(word)] {
				words[string(word)] = true
			}
		}
	}
	return words
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9'
}

// Top returns the definitions named by the most other files. most limits them.
func (u *uses) Top(most int) []workspace.Used {
	out := []workspace.Used{}
	for name, homes := range u.homes {
		if n := (u.files[name] - len(homes)) / len(homes); len(homes) <= maxHomes && n > 1 && plainWord(name) {
			slices.Sort(homes)
			out = append(out, workspace.Used{Path: homes[0], Name: name, Files: n})
		}
	}
	slices.SortFunc(out, func(a, b workspace.Used) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), max(most, 0))]
}

func plainWord(name string) bool {
	for i := range len(name) {
		if !wordByte(name[i]) {
			return false
		}
	}
	return true
}
