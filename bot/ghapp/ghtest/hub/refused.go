package hub

import (
	"fmt"
	"net/http"
	"unicode/utf8"
)

// Refused is an error answer in GitHub's format.
type Refused struct {
	Status  int
	Message string
	Errors  []any // objects, or strings if the description says so
	Header  http.Header
}

// Error implements error.
func (e *Refused) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Message) }

// NotFound returns GitHub's 404, which also hides objects that the caller may not see.
func NotFound() *Refused { return &Refused{Status: http.StatusNotFound, Message: "Not Found"} }

// Invalid returns GitHub's 422 with a field error.
func Invalid(resource, field, code, message string) error {
	e := map[string]any{"resource": resource, "field": field, "code": code}
	if message != "" {
		e["message"] = message
	}
	return &Refused{Status: http.StatusUnprocessableEntity, Message: "Validation Failed", Errors: []any{e}}
}

func custom(resource, message string) error {
	return &Refused{Status: http.StatusUnprocessableEntity, Message: "Validation Failed",
		Errors: []any{map[string]any{"resource": resource, "code": "custom", "message": message}}}
}

// Unresolved returns GitHub's 422 for a review, with a string as the error, or for a
// single diff comment, with an object.
func Unresolved(what any) error {
	return &Refused{Status: http.StatusUnprocessableEntity, Message: "Unprocessable Entity", Errors: []any{what}}
}

// CheckText refuses texts over GitHub's length limit.
func CheckText(resource, text string) error {
	if n := utf8.RuneCountInString(text); n > maxCommentRunes {
		return Invalid(
			resource,
			"body",
			"too_long",
			fmt.Sprintf("body is too long (maximum is %d characters)", maxCommentRunes),
		)
	}
	return nil
}

const maxCommentRunes = 65536
