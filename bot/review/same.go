package review

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/session"
)

// markBegins is what marks of findings begin with.
const markBegins = "finding-"

// IsMark reports whether the key of a comment is the fingerprint of a finding.
func IsMark(key string) bool { return strings.HasPrefix(key, markBegins) }

// Mark is the fingerprint of a finding: of its file, of the definition around it and of
// what it claims. Where the lines are does not count, since they move with every push.
func Mark(f session.Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Path, f.In, strings.Join(telling(f.Claim), " ")}, "\x00")))
	return markBegins + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// Same reports whether two findings of different looks say the same: models never write
// a sentence twice in the same words.
func Same(a, b session.Finding) bool {
	return a.Path == b.Path && a.Old == b.Old && a.In == b.In && alike(a, b)
}

// twin reports whether two findings of one look say the same.
func twin(a, b session.Finding) bool {
	return Same(a, b) && a.Line <= b.Last() && b.Line <= a.Last()
}

// alike reports whether two claims have most of their telling words in common.
func alike(a, b session.Finding) bool {
	x, y := telling(a.Claim), telling(b.Claim)
	common := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			common++
		}
	}
	all := len(x) + len(y) - common
	return all == 0 || 2*common >= all
}

// telling are the words of a claim that say what it is about, each once and in order.
func telling(claim string) []string {
	words := strings.FieldsFunc(strings.ToLower(claim), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(fillers, w) })
	for i, w := range words {
		words[i] = stem(w)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// stem takes off the endings by which the forms of a word differ.
func stem(w string) string {
	for _, end := range [...]string{"ing", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) > 3 {
			return rest
		}
	}
	return w
}

// fillers are words that tell nothing of what a claim is about.
var fillers = strings.Fields(`a an the this that these those it its is are was were be been being will would can could may might must should shall
	of in on at to for from by with as into onto here there where when if then and or but so because since while than
	do does did has have had which what who how also just only always potentially possibly probably likely`)
