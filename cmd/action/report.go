package action

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Outputs are what later steps read.
type Outputs struct {
	Session, State, Branch, Pull, Summary string
	Approvals                             []string // ids of what waits for a person
}

// Write adds the outputs to the file that the runner reads. A value of several lines
// stands between two lines that nobody can guess.
func (r Run) Write(o Outputs) error {
	if r.Output == "" {
		return nil
	}
	var b strings.Builder
	for _, v := range [][2]string{
		{"session-id", o.Session}, {"state", o.State}, {"branch", o.Branch}, {"pull-request", o.Pull}, {"summary", o.Summary}, {"approval-ids", strings.Join(o.Approvals, " ")},
	} {
		end := "handrail-" + rand.Text() //control:outputs-end-unguessed
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", v[0], end, v[1], end)
	}
	return appendTo(r.Output, b.String())
}

// Summarize adds Markdown to the job's summary.
func (r Run) Summarize(markdown string) error {
	if r.Summary == "" {
		return nil
	}
	return appendTo(r.Summary, markdown+"\n")
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("tell the runner: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// escapes is how a runner reads the text of its commands.
var escapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// Error prints an error as an annotation. File is the one that it is about, "" for
// none.
func Error(w io.Writer, file, text string) {
	at := ""
	if file != "" {
		at = " file=" + strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapes.Replace(file))
	}
	fmt.Fprintf(w, "::error%s::%s\n", at, escapes.Replace(text))
}

// Mask has the runner hide a value in its log.
func Mask(w io.Writer, value string) {
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) > 3 {
			fmt.Fprintf(w, "::add-mask::%s\n", escapes.Replace(line))
		}
	}
}
