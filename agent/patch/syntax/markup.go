package syntax

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// markup checks XML. Entities of a document type are unknown here.
func markup(text string) *Fault {
	if strings.Contains(text, "<!ENTITY") || strings.Contains(text, "<!DOCTYPE") && !strings.Contains(text, "<plist") {
		return nil
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	seen := false
	for {
		token, err := d.Token()
		if _, ok := token.(xml.StartElement); ok {
			seen = true
		}
		var wrong *xml.SyntaxError
		switch line, column := d.InputPos(); {
		case err == nil:
		case errors.As(err, &wrong):
			return &Fault{Line: wrong.Line, Reason: wrong.Msg}
		case !errors.Is(err, io.EOF):
			return &Fault{Line: line, Column: column, Reason: err.Error()}
		case !seen:
			return at(text, 0, "there is no element")
		default:
			return nil
		}
	}
}

// shebang matches the first line of a script for a shell whose language is known.
var shebang = pattern.Lazy(`^#![^\n]*\b(?:ba|da|a)?sh\b`)

// shell checks a script for bash or a POSIX shell.
func shell(text string) *Fault {
	if strings.HasPrefix(text, "#!") && !shebang().MatchString(text) {
		return nil
	}
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	var wrong syntax.ParseError
	if errors.As(err, &wrong) {
		return &Fault{Line: int(wrong.Pos.Line()), Column: int(wrong.Pos.Col()), Reason: wrong.Text}
	}
	return nil
}
