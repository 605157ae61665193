package ghapp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNothingIsKept: an answer without a body is not kept, although it has a tag, and is
// asked for again.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("If-None-Match") == `"a"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if asked++; asked > 1 {
			_, _ = io.WriteString(w, "diff --git a/x b/x\n")
		}
	}))
	defer s.Close()
	c := &http.Client{Transport: newCachingTransport(http.DefaultTransport)}
	var last string
	for range 3 {
		resp, err := c.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if last = string(text); err != nil {
			t.Fatal(err)
		}
	}
	if last == "" || asked != 2 {
		t.Errorf("the third answer is %q; the server was asked for a whole one %d times", last, asked)
	}
}
