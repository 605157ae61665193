package speech

import "strings"

// completeMark is the completion signal of a model without the completion tool. It is
// never shown.
const completeMark = "[TASK_COMPLETE]"

// stripComplete removes completion marks, and an incomplete one at the end of the
// text.
func stripComplete(s string) string {
	s, _ = cutComplete(s)
	for n := min(len(s), len(completeMark)-1); n > 0; n-- {
		if strings.EqualFold(s[len(s)-n:], completeMark[:n]) {
			return strings.TrimRight(s[:len(s)-n], " \t\n")
		}
	}
	return s
}

// cutBroken removes a completion mark that the length limit cut off. Its first few
// letters may be something else and are kept.
func cutBroken(s string) string {
	for n := len(completeMark) - 1; n >= len("[TASK_"); n-- {
		if len(s) >= n && strings.EqualFold(s[len(s)-n:], completeMark[:n]) {
			return strings.TrimSpace(s[:len(s)-n])
		}
	}
	return s
}

// cutComplete removes every completion mark and reports whether there was one.
func cutComplete(s string) (string, bool) {
	found := false
	for i := 0; i+len(completeMark) <= len(s); {
		j := strings.IndexByte(s[i:], '[')
		if j < 0 || i+j+len(completeMark) > len(s) {
			break
		}
		i += j
		if strings.EqualFold(s[i:i+len(completeMark)], completeMark) {
			s, found = s[:i]+s[i+len(completeMark):], true
			continue
		}
		i++
	}
	if found {
		s = strings.TrimSpace(s)
	}
	return s, found
}
