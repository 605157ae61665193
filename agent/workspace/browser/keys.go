package browser

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// key is one key of the keyboard as the DevTools protocol has it.
type key struct {
	name, code string
	number     int    // of the Windows keyboard, as scripts see it in keyCode
	text       string // it writes
}

func namedKeys() []key {
	return []key{
		{"Enter", "Enter", 13, "\r"}, {"Tab", "Tab", 9, ""}, {"Escape", "Escape", 27, ""}, {"Backspace", "Backspace", 8, ""},
		{"Delete", "Delete", 46, ""}, {"Home", "Home", 36, ""}, {"End", "End", 35, ""}, {"PageUp", "PageUp", 33, ""},
		{"PageDown", "PageDown", 34, ""}, {"ArrowLeft", "ArrowLeft", 37, ""}, {"ArrowUp", "ArrowUp", 38, ""},
		{"ArrowRight", "ArrowRight", 39, ""}, {"ArrowDown", "ArrowDown", 40, ""}, {" ", "Space", 32, " "},
		{"F2", "F2", 113, ""},
	}
}

// otherNames of keys, in lower case.
var otherNames = map[string]string{
	"return": "Enter", "esc": "Escape", "del": "Delete", "space": " ", "spacebar": " ", "left": "ArrowLeft",
	"right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown", "pgup": "PageUp", "pgdn": "PageDown",
}

// The bits of the modifiers in the protocol.
var modifierBits = map[string]int{
	"alt": 1, "option": 1, "control": 2, "ctrl": 2, "meta": 4, "cmd": 4, "command": 4, "shift": 8,
}

// parseKey reads a key such as Enter, a, or Control+Shift+K.
func parseKey(s string) (k key, modifiers int, err error) {
	name := s
	for {
		head, rest, ok := strings.Cut(name, "+")
		bit := modifierBits[strings.ToLower(strings.TrimSpace(head))]
		if !ok || bit == 0 || rest == "" {
			break
		}
		modifiers, name = modifiers|bit, rest
	}
	if utf8.RuneCountInString(name) > 1 {
		name = strings.TrimSpace(name)
	}
	if other, ok := otherNames[strings.ToLower(name)]; ok {
		name = other
	}
	for _, k := range namedKeys() {
		if strings.EqualFold(k.name, name) {
			if modifiers&^8 != 0 {
				k.text = ""
			}
			return k, modifiers, nil
		}
	}
	if r, size := utf8.DecodeRuneInString(name); r != utf8.RuneError && size == len(name) && unicode.IsPrint(r) {
		k := key{name: name, text: name}
		if up := unicode.ToUpper(r); up < 128 && (unicode.IsLetter(up) || unicode.IsDigit(up)) {
			k.number, k.code = int(up), "Key"+string(up)
			if unicode.IsDigit(up) {
				k.code = "Digit" + string(up)
			}
		}
		if modifiers&^8 != 0 {
			k.text = ""
		}
		return k, modifiers, nil
	}
	return key{}, 0, fmt.Errorf("there is no key %q: use such as Enter, Tab, Escape, ArrowDown, a or Control+a", s)
}
