package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
)

// What the daemon's machine cannot limit is known.
func TestBounds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for info, want := range map[string][]string{
		`{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=seccomp,profile=default"]}`:      nil,
		`{"MemoryLimit":false,"PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=seccomp,profile=default"]}`:     {"memory"},
		`{"MemoryLimit":true,"PidsLimit":false,"CpuCfsQuota":false,"SecurityOptions":["name=seccomp,profile=unconfined"]}`: {"processes", "processors", "system calls"},
		`{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=rootless"]}`:                     {"system calls"},
	} {
		daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/info") {
				fmt.Fprint(w, info)
			}
		}))
		e, err := New(Config{Binary: self, Host: "tcp://" + daemon.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Bounds(t.Context()).Missing; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", info, got, want)
		}
		daemon.Close()
		if got := e.Bounds(t.Context()).Missing; len(got) != 1 {
			t.Errorf("without a daemon: %q", got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
