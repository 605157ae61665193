package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy/longtest"
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

// A daemon that is busy is asked to remove a container until it has, and its
// words are told when it has not.
func TestRemove(t *testing.T) {
	longtest.Leave(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	asked, busy := 0, 7
	gone := make(chan struct{})
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/wait"):
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-gone:
				fmt.Fprint(w, `{"StatusCode":137}`)
			case <-r.Context().Done():
			}
		case r.Method == http.MethodDelete:
			asked++
			if asked <= busy {
				w.WriteHeader(http.StatusInternalServerError)
				fmt.Fprint(w, `{"message":"unable to remove filesystem for 1: unlinkat /var/lib/docker/containers/1: directory not empty"}`)
				return
			}
			close(gone)
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer daemon.Close()
	e, err := New(Config{Binary: self, Host: "tcp://" + daemon.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if err := e.remove(t.Context(), "1", removeTime); err != nil || asked != busy+1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	busy = 1 << 30
	if err := e.remove(t.Context(), "1", 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "directory not empty") {
		t.Errorf("a daemon that is busy for ever: %v", err)
	}
}
