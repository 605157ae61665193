// Package dockertest is a small registry of container images for tests. A docker daemon
// on the same machine pulls from it, because it listens on loopback.
package dockertest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The media types of an image's parts.
const (
	manifestType = "application/vnd.docker.distribution.manifest.v2+json"
	configType   = "application/vnd.docker.container.image.v1+json"
	layerType    = "application/vnd.docker.image.rootfs.diff.tar"
)

// Registry serves images. It is safe for concurrent use.
type Registry struct {
	Address string // HOST:PORT, the prefix of its image names

	mu    sync.Mutex
	blobs map[string][]byte // by digest
	tags  map[string]string // digest, by NAME:TAG
	asked map[string]int    // number of times that a blob was sent, by digest
	user  string            // "USER:PASSWORD"; "" allows anonymous access
	held  *Held             // nil disables waiting
}

// Held controls waiting requests. Came gets a value when a request starts to wait, Gone
// when its client hangs up. Release lets all continue.
type Held struct {
	Came, Gone chan struct{}
	Release    func()
	on         chan struct{}
}

// New starts a registry that ends with the test.
func New(t testing.TB) *Registry {
	r := &Registry{blobs: map[string][]byte{}, tags: map[string]string{}, asked: map[string]int{}}
	s := httptest.NewServer(r)
	r.Address = strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(s.Close)
	return r
}

// Login makes the registry refuse clients without these credentials.
func (r *Registry) Login(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user = user + ":" + password
}

// Hold delays all blobs until Release is called.
func (r *Registry) Hold() *Held {
	on := make(chan struct{})
	h := &Held{
		Came:    make(chan struct{}, 64),
		Gone:    make(chan struct{}, 64),
		Release: sync.OnceFunc(func() { close(on) }),
		on:      on,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = h
	return h
}

// Sent returns the number of blobs sent.
func (r *Registry) Sent() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.asked {
		n += times
	}
	return n
}

// Put adds an image with one layer, and returns its digest and its tagged name.
func (r *Registry) Put(t testing.TB, tag string, layer []byte) (digest, name string) {
	t.Helper()
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	part := func(kind string, data []byte) map[string]any {
		return map[string]any{"mediaType": kind, "size": len(data), "digest": r.add(data)}
	}
	config := encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/usr/bin:/bin", "MADE_FOR=" + tag}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
	})
	digest = r.add(encode(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": part(configType, config), "layers": []any{part(layerType, layer)},
	}))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[tag] = digest
	return digest, r.Address + "/" + tag
}

func (r *Registry) add(data []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := digestOf(data)
	r.blobs[d] = data
	return d
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

var paths = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs)/([^/]+)$`)

// ServeHTTP implements [http.Handler].
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	r.mu.Lock()
	user := r.user
	r.mu.Unlock()
	if name, password, _ := req.BasicAuth(); user != "" && name+":"+password != user {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		fail(w, http.StatusUnauthorized, "UNAUTHORIZED")
		return
	}
	at := paths.FindStringSubmatch(req.URL.Path)
	if at == nil {
		w.WriteHeader(map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[req.URL.Path == "/v2/"])
		return
	}
	r.send(w, req, at)
}

// send sends a manifest or a blob. at has the name, the kind, and a tag or digest.
func (r *Registry) send(w http.ResponseWriter, req *http.Request, at []string) {
	digest := at[3]
	r.mu.Lock()
	if known, ok := r.tags[at[1]+":"+digest]; ok {
		digest = known
	}
	data, ok := r.blobs[digest]
	held := r.held
	if at[2] == "manifests" {
		held = nil
		w.Header().Set("Content-Type", manifestType)
	} else if ok {
		r.asked[digest]++
	}
	r.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
		return
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if held != nil && !held.wait(w, req, data[:len(data)/2]) {
		return
	}
	if held != nil {
		data = data[len(data)/2:]
	}
	_, _ = w.Write(data) // a client that hung up will retry
}

// wait sends the first half and waits. It reports whether the client stayed.
func (h *Held) wait(w http.ResponseWriter, req *http.Request, half []byte) bool {
	_, _ = w.Write(half)
	_ = http.NewResponseController(w).Flush()
	h.Came <- struct{}{}
	select {
	case <-h.on:
		return true
	case <-req.Context().Done():
		h.Gone <- struct{}{}
		return false
	}
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors":[{"code":%q,"message":"%s"}]}`, code, strings.ToLower(strings.ReplaceAll(code, "_", " ")))
}

// Layer returns a layer with the named programs of this machine and their libraries.
// For a program given as a path, it adds only the libraries.
func Layer(t testing.TB, programs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	seen := map[string]bool{}
	add := func(from, to string) {
		if !seen[to] {
			pack(t, w, from, to)
		}
		seen[to] = true
	}
	for _, name := range programs {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsAbs(name) {
			add(at, "/bin/"+name)
		}
		libraries, _ := exec.CommandContext(t.Context(), "ldd", at).Output() // fails for a program without libraries
		for _, file := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
			add(file, file)
		}
	}
	// A unique file makes sure that the daemon does not have the layer yet, so it is sent.
	err := w.WriteHeader(&tar.Header{Name: "etc/" + rand.Text(), Mode: 0o644})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pack(t testing.TB, w *tar.Writer, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(to, "/"), Mode: 0o755, Size: info.Size()})
	}
	if err == nil {
		_, err = io.Copy(w, f)
	}
	if err != nil {
		t.Fatal(err)
	}
}
