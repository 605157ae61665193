package walk

import "strings"

// Fits reports whether the arguments of the command are as the words of a
// table say: tables.txt tells their forms.
func (c *Command) Fits(words []string) bool {
	asked, fits := false, false
	for _, w := range words {
		if not, ok := strings.CutPrefix(w, "!"); ok {
			if c.fits(not) {
				return false
			}
			continue
		}
		asked = true
		fits = fits || c.fits(w)
	}
	return fits || !asked
}

func (c *Command) fits(word string) bool {
	if one, other, ok := strings.Cut(word, "&"); ok {
		return c.fits(one) && c.fits(other)
	}
	switch word {
	case "?":
		return c.AsksHelp()
	case "0":
		return len(c.List) == 0
	case "*":
		return len(c.OperandsAfter()) > 0
	case "**":
		return len(c.OperandsAfter()) > 1
	}
	switch rest := word[1:]; word[0] {
	case '~':
		return c.Has(rest)
	case '%':
		return c.Contains(rest)
	case '^':
		return c.OperandsAfter().At(0) == rest
	}
	return c.Exactly(word)
}
