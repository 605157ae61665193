package llm

import "fmt"

// Form is how a model is asked to act, and how its answer is read.
type Form string

// The forms, from the most to the least that is asked of a model. The zero value lets
// the agent choose.
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

// Simpler returns the form below f, and f itself if there is none.
func (f Form) Simpler() Form {
	if f == FormNative {
		return FormText
	}
	return FormFiles
}

// nativeParameters is the size from which a model that claims native calls is believed.
const nativeParameters = 7_000_000_000

// FormOf returns the form to begin with for a model that nothing else is known of: native
// if it says that it calls tools and is large enough for it, or of unknown size; else files.
func FormOf(caps Capabilities) Form {
	if caps.Tools && (caps.Parameters == 0 || caps.Parameters >= nativeParameters) {
		return FormNative
	}
	return FormFiles
}
