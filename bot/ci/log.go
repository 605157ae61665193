package ci

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

var (
	// stampRE matches the time at the beginning of a line of a log.
	stampRE = pattern.Lazy(`^\x{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?`)
	// exitRE matches messages of a runner, a shell or make that a step failed.
	exitRE = pattern.Lazy(
		`(?i)process completed with exit code [1-9]|\bexit(?:ed)?(?: with)?(?: code| status)?[ :]+[1-9]\d*\b|make(?:\[\d+\])?: \*\*\* |command failed|returned (?:a )?non-zero`,
	)
	// errorRE matches error messages of programs.
	errorRE = pattern.Lazy(
		`(?i)^##\[error\]|^\s*(?:--- FAIL|FAIL\b|not ok\b|panic:|fatal(?: error)?:|traceback \(|npm err!|✗|✖|×)|\b(?:error|failure|failed|exception|assert\w*)\b|undefined:|cannot find`,
	)
	stepRE = pattern.Lazy(`^##\[group\](?:Run |Post |Set up|Complete)`)
)

const (
	around    = 4   // lines kept on each side of an error message
	lastLines = 40  // lines kept before the end of the step
	maxLine   = 400 // maximum bytes of a line
)

// excerpt returns the part of a job's log that explains its failure, in at most the given
// number of bytes: the end of the first failed step, as reported by a runner or a shell,
// and its lines with error messages. Later steps, such as a cleanup, are left out.
func excerpt(log string, most int) string {
	lines := strings.Split(strings.ReplaceAll(strings.ToValidUTF8(untrusted.StripEscapes(log), "�"), "\r\n", "\n"), "\n")
	for i, l := range lines {
		l = strings.TrimRight(stampRE().ReplaceAllString(l, ""), " \r")
		if len(l) > maxLine {
			cut := maxLine
			for !utf8.RuneStart(l[cut]) {
				cut--
			}
			l = l[:cut] + " …"
		}
		lines[i] = l
	}
	from, end := failedStep(lines)
	return within(lines[from:end], most)
}

// failedStep returns the range of lines of the first failed step.
func failedStep(lines []string) (from, end int) {
	exits := func(l string) bool { return strings.HasPrefix(l, "##[error]") && exitRE().MatchString(l) }
	end = slices.IndexFunc(lines, exits)
	for _, says := range []func(string) bool{
		func(l string) bool { return strings.HasPrefix(l, "##[error]") }, exitRE().MatchString,
	} {
		if end < 0 {
			end = slices.IndexFunc(lines, says)
		}
	}
	if end < 0 {
		return 0, len(lines)
	}
	for i := range slices.Backward(lines[:end]) {
		if stepRE().MatchString(lines[i]) {
			from = i
			break
		}
	}
	return from, end + 1
}

// within selects the important lines of a step: first its end, then lines with error
// messages from the top, then lines before the end.
func within(step []string, most int) string {
	keep := make([]bool, len(step))
	room := most
	take := func(i int) {
		if i >= 0 && i < len(step) && !keep[i] && len(step[i])+1 <= room {
			keep[i], room = true, room-len(step[i])-1
		}
	}
	for i := len(step) - 1; i >= max(0, len(step)-lastLines) && room > most/2; i-- {
		take(i)
	}
	for i, l := range step {
		if errorRE().MatchString(l) && room > most/20 {
			for j := i - around; j <= i+around; j++ {
				take(j)
			}
		}
	}
	for i := len(step) - 1; i >= 0 && room > most/20; i-- {
		take(i)
	}
	var b strings.Builder
	left := 0
	for i, l := range step {
		if !keep[i] {
			left++
			continue
		}
		if left > 0 {
			fmt.Fprintf(&b, "[… %d lines …]\n", left)
			left = 0
		}
		b.WriteString(l + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
