package ghcheck

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
)

// Break makes an answer into one that is none. It returns the body, and whether the
// connection ends before all of it was sent. nil leaves the answer as it is.
type Break func(h http.Header, body []byte) (broken []byte, cut bool)

// Breaks returns the usual kinds, by name.
func Breaks() map[string]Break {
	return map[string]Break{
		"empty":   func(http.Header, []byte) ([]byte, bool) { return nil, false },
		"cut":     func(_ http.Header, body []byte) ([]byte, bool) { return body, true },
		"null":    func(http.Header, []byte) ([]byte, bool) { return []byte("null"), false },
		"garbled": func(http.Header, []byte) ([]byte, bool) { return []byte(`{"message":`), false },
		"short":   func(_ http.Header, body []byte) ([]byte, bool) { return body[:len(body)/2], false },
		"page": func(h http.Header, _ []byte) ([]byte, bool) {
			h.Set("Content-Type", "text/html")
			return []byte("<!DOCTYPE html><title>Unicorn!</title>"), false
		},
		"lacking": func(_ http.Header, body []byte) ([]byte, bool) { return lacking(body), false },
		"twice":   func(_ http.Header, body []byte) ([]byte, bool) { return slices.Concat(body, body), false },
	}
}

// Lies returns further kinds of answers of the API, by name: well-formed ones, or with headers
// that are not true.
func Lies() map[string]Break {
	return map[string]Break{
		"message": func(http.Header, []byte) ([]byte, bool) { return []byte(`{"message":"Server Error"}`), false },
		"holes":   func(http.Header, []byte) ([]byte, bool) { return []byte("[null]"), false },
		"number":  func(http.Header, []byte) ([]byte, bool) { return []byte("0"), false },
		"marked": func(_ http.Header, body []byte) ([]byte, bool) {
			return slices.Concat([]byte("\xef\xbb\xbf"), body), false
		},
		"latin": func(_ http.Header, body []byte) ([]byte, bool) { return slices.Concat(body, []byte("\xe9")), false },
		"gzip": func(h http.Header, body []byte) ([]byte, bool) {
			h.Set("Content-Encoding", "gzip")
			return body, false
		},
		"zipped": func(_ http.Header, body []byte) ([]byte, bool) {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			_, _ = w.Write(body) // into memory
			_ = w.Close()
			return out.Bytes(), false
		},
		"login": func(h http.Header, _ []byte) ([]byte, bool) {
			h.Set("Content-Type", "text/html; charset=utf-8")
			return []byte("\n<html><head><title>Sign in</title></head><body><form action=/login></form></body></html>"), false
		},
	}
}

// BreakNames returns the names of the usual kinds, sorted.
func BreakNames() []string { return slices.Sorted(maps.Keys(Breaks())) }

// lacking returns an answer of the right kind with nothing in it.
func lacking(body []byte) []byte {
	var all []json.RawMessage
	if json.Unmarshal(body, &all) == nil && len(all) > 0 {
		return []byte("[{}]")
	}
	if json.Valid(body) {
		return []byte("{}")
	}
	return body[:min(len(body), bytes.IndexByte(body, '\n')+1)] // the first line of git's
}

// SetBreaks has answers broken that have a body and a status of success, after the
// request was carried out. choose is called for each, with its route; nil ends that.
func (s *Server) SetBreaks(choose func(route string) Break) {
	s.faulty.mu.Lock()
	defer s.faulty.mu.Unlock()
	s.faulty.breaks = choose
}

// breaking returns a handler that breaks answers of next.
func (f *faulty) breaking(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		choose := f.breaks
		f.mu.Unlock()
		if choose == nil {
			next.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		var of Break
		if rec.Code/100 == 2 && len(body) > 0 {
			of = choose(f.route(r))
		}
		cut := false
		if of != nil {
			body, cut = of(rec.Header(), body)
		}
		maps.Copy(w.Header(), rec.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		if !cut {
			_, _ = w.Write(body) // a caller that is gone is no matter here
			return
		}
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}
