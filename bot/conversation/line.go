package conversation

import (
	"fmt"
	"strconv"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// LineOf returns the subject of a comment on a hunk of a file.
func LineOf(path, hunk string, last int) *Line {
	return &Line{Path: path, Name: path + linesOf(hunk, last), Hunk: hunk}
}

var hunkStart = pattern.Lazy(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// linesOf returns ":L3-L9" for a hunk that ends at the line of a comment, "" if the
// comment is not on a line of the new file.
func linesOf(hunk string, last int) string {
	m := hunkStart().FindStringSubmatch(hunk)
	if m == nil || last == 0 {
		return ""
	}
	from, err := strconv.Atoi(m[1])
	if err != nil || from > last {
		return fmt.Sprintf(":L%d", last)
	}
	return fmt.Sprintf(":L%d-L%d", from, last)
}
