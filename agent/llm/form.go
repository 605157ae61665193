package llm

import "fmt"

// Form is the way that a model is asked to act, which determines how its answer is read.
type Form string

// The forms, from the most to the least demanding. The zero value lets the agent choose.
const (
	FormAuto   Form = ""
	FormNative Form = "native" // tools of the request, calls of the answer
	FormText   Form = "text"   // calls as text, described in the system prompt
	FormFiles  Form = "files"  // whole files and SEARCH/REPLACE blocks in prose; no calls
)

// ParseForm reads the name of a form; "auto" and "" are [FormAuto].
func ParseForm(name string) (Form, error) {
	switch f := Form(name); f {
	case "auto", FormAuto:
		return FormAuto, nil
	case FormNative, FormText, FormFiles:
		return f, nil
	}
	return "", fmt.Errorf("%q is not a form of answering: auto, native, text or files", name)
}

// Simpler returns the next simpler form, or f if there is none.
func (f Form) Simpler() Form {
	if f == FormNative {
		return FormText
	}
	return FormFiles
}

// nativeParameters is the minimum size for trusting a model's claim of native calls.
const nativeParameters = 7_000_000_000

// FormOf returns the default form of a model: native if it has native calls and is large
// enough or of unknown size, and files otherwise.
func FormOf(caps Capabilities) Form {
	if caps.Tools && (caps.Parameters == 0 || caps.Parameters >= nativeParameters) {
		return FormNative
	}
	return FormFiles
}
