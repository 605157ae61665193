package setup

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/door"
)

// TestChoose: the only model is taken; where there are several and nobody to ask, or none,
// it says what to do.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer, want, says string
		status                   int
	}{
		{"one", `{"models":[{"name":"qwen3:8b"}]}`, "qwen3:8b", "", 200},
		{"several", `{"models":[{"name":"a:1b"},{"name":"b:2b"}]}`, "", "--model NAME", 200},
		{"none", `{"models":[]}`, "", "ollama pull", 200},
		{"not ollama", `<html>`, "", "does not answer as a server of models", 200},
		{"refuses", `{}`, "", "403", 403},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/tags" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.answer)
		}))
		var out strings.Builder
		got, err := (&Verb{ollama: srv.URL}).choose(t.Context(), &door.Console{In: strings.NewReader("1\n"), Out: &out})
		srv.Close()
		var use door.UsageError
		if got != c.want || (err == nil) != (c.says == "") || err != nil && (!errors.As(err, &use) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if c.name == "several" && !strings.Contains(out.String(), "2  b:2b") {
			t.Errorf("it does not show what is there: %s", out.String())
		}
	}
	if _, err := (&Verb{ollama: "127.0.0.1:1"}).choose(t.Context(), &door.Console{Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("without a server it says %v", err)
	}
}

// TestPicked: an answer is a number, a name, or nothing for the first.
func TestPicked(t *testing.T) {
	t.Parallel()
	names := []string{"a:1b", "b:2b"}
	for answer, want := range map[string]string{"": "a:1b", "1": "a:1b", "2": "b:2b", "b:2b": "b:2b", "3": "", "0": "", "-1": "", "c": ""} {
		if got, err := pickModel(names, answer); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", answer, got, err)
		}
	}
}
