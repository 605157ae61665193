package door

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// explainLine is one line of standard input. The answer repeats the id byte for byte, so
// that a large number keeps its precision.
type explainLine struct {
	ID      json.RawMessage `json:"id"`
	Command *string         `json:"command"`
	Path    *string         `json:"path"`
	Text    *string         `json:"text"`
}

func (l explainLine) id() json.RawMessage {
	if len(l.ID) == 0 {
		return json.RawMessage("null")
	}
	return l.ID
}

// lineFailure answers an invalid line.
type lineFailure struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// eachLine answers every line of standard input with a line. It answers before it waits
// for more input, so that a script may wait for each answer. It skips empty lines. The
// answer to an invalid line is an error, and the run then ends with 1.
func eachLine(w *Console, word *string, explain func(explainLine) (any, error)) error {
	if word != nil {
		return Usage("--stdin reads standard input; leave out %q", *word)
	}
	in, out := bufio.NewReaderSize(w.In, 64<<10), bufio.NewWriter(w.Out)
	bad := 0
	for n := 1; ; n++ {
		line, readErr := in.ReadBytes('\n')
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answer, err := explainOne(line, explain)
			if err != nil {
				bad++
				fmt.Fprintf(w.Err, "handrail: line %d of standard input: %v\n", n, err)
			}
			if err := JSONLine(out, answer); err != nil {
				return err
			}
		}
		if waiting, _ := in.Peek(in.Buffered()); readErr != nil || !bytes.ContainsRune(waiting, '\n') {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
		}
		switch {
		case readErr != nil && !errors.Is(readErr, io.EOF):
			return fmt.Errorf("read standard input: %w", readErr)
		case readErr != nil && bad > 0:
			return ErrFailed
		case readErr != nil:
			return nil
		}
	}
}

func explainOne(line []byte, explain func(explainLine) (any, error)) (any, error) {
	var in explainLine
	if err := json.Unmarshal(line, &in); err != nil {
		var other *json.UnmarshalTypeError
		switch typed := errors.As(err, &other); {
		case typed && other.Field != "":
			err = fmt.Errorf("%q must be a text, not %s", other.Field, other.Value)
		case typed:
			err = fmt.Errorf("a line must be an object, not %s", other.Value)
		}
		err = fmt.Errorf("%w (expected {\"id\":…} and \"command\", \"path\" or \"text\")", err)
		return lineFailure{in.id(), err.Error()}, err
	}
	answer, err := explain(in)
	if err != nil {
		return lineFailure{in.id(), err.Error()}, err
	}
	return answer, nil
}
