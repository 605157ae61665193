package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The status is for this machine: nobody else learns of it, nor anybody behind a proxy.
func TestStatusIsForThisMachine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*http.Request){
		"another machine": func(r *http.Request) { r.RemoteAddr = "192.0.2.1:4711" },
		"a proxy":         func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") },
		"a proxy's name":  func(r *http.Request) { r.Host = "bot.example.org" },
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/status", nil)
		r.RemoteAddr = "127.0.0.1:4711"
		change(r)
		w := httptest.NewRecorder()
		new(server).status(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// The note of a delivery decides between the outcomes that the log names.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{
		"": outcomeDone, "done": outcomeDone, "not for us": outcomeIgnored, "not answered: its author has no right": outcomeIgnored,
		"handed to o/r#3": outcomeMoved, "transferred to o/q#1": outcomeMoved, "given up after 5 attempts: x": outcomeFailed,
	} {
		if got := outcomeOf(note); got != want {
			t.Errorf("%q is %s, want %s", note, got, want)
		}
	}
}
