package review

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/session"
)

// markBegins is the prefix of all marks.
const markBegins = "finding-"

// isMark reports whether the key of a comment is the fingerprint of a finding.
func isMark(key string) bool { return strings.HasPrefix(key, markBegins) }

// findingMark returns the fingerprint of a finding: of its file, the enclosing definition and
// its claim. Line numbers are left out, since every push moves them.
func findingMark(f session.Finding) string {
	sum := sha256.Sum256(
		[]byte(strings.Join([]string{f.Path, f.In, strings.Join(significantWords(f.Claim), " ")}, "\x00")),
	)
	return markBegins + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// same reports whether findings of different looks are the same fault: on the same lines, or in
// one definition of a file, on lines that overlap, in whatever words, or with the same claim. The
// lines are those of one commit, see [Follow].
func same(a, b session.Finding) bool {
	if a.Path != b.Path || a.Old != b.Old {
		return false
	}
	if onSameLines(a, b) { //control:definition-renamed
		return true
	}
	return a.In == b.In && (overlap(a, b) || alike(a, b)) //control:same-place
}

func onSameLines(a, b session.Finding) bool {
	return a.Line > 0 && a.Line == b.Line && a.Last() == b.Last()
}

// overlap reports whether two findings have a line in common. Lines that are gone have none.
func overlap(a, b session.Finding) bool {
	return a.Line > 0 && b.Line > 0 && a.Line <= b.Last() && b.Line <= a.Last()
}

// sameInLook reports whether findings of one look are the same: on the same lines in
// whatever words, or with the same claim on lines that overlap.
func sameInLook(a, b session.Finding) bool {
	if a.Path != b.Path || a.Old != b.Old || !overlap(a, b) {
		return false
	}
	return onSameLines(a, b) || a.In == b.In && alike(a, b)
}

// alike reports whether two claims share at least half of their significant words.
func alike(a, b session.Finding) bool {
	x, y := significantWords(a.Claim), significantWords(b.Claim)
	common := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			common++
		}
	}
	all := len(x) + len(y) - common
	return all == 0 || 2*common >= all
}

// significantWords returns the significant words of a claim, sorted and without duplicates.
func significantWords(claim string) []string {
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

// stem removes common inflectional endings from a word.
func stem(w string) string {
	for _, end := range [...]string{"ing", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) > 3 {
			return rest
		}
	}
	return w
}

// fillers are words without significance for the meaning of a claim.
var fillers = strings.Fields(
	`a an the this that these those it its is are was were be been being will would can could may might must should shall
	of in on at to for from by with as into onto here there where when if then and or but so because since while than
	do does did has have had which what who how also just only always potentially possibly probably likely`,
)
