package action_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A release is fetched by its version, and run only when its checksum is the one that
// was given, or the one of the release's own list.
func TestInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there is no release for this machine")
	}
	name := "handrail_1.2.0_linux_" + runtime.GOARCH + ".tar.gz"
	archive := release(t)
	sum := fmt.Sprintf("%x", sha256.Sum256(archive))
	files := map[string][]byte{"/v1.2.0/" + name: archive, "/v1.2.0/checksums.txt": []byte("0000  other.tar.gz\n" + sum + "  " + name + "\n"), "/v1.3.0/" + strings.Replace(name, "1.2.0", "1.3.0", 1): archive, "/v1.3.0/checksums.txt": nil}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(web.Close)
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("HANDRAIL_REQUIRE_ENGINES") == "" {
		t.Skip("no curl")
	}
	script, err := filepath.Abs("../../.github/actions/install")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ version, sum, says string }{
		{"v1.2.0", "", ""},
		{"v1.2.0", sum, ""},
		{"v1.2.0", strings.Repeat("0", 64), "it is not run"},
		{"v1.3.0", "", "do not name"},
		{"v9.9.9", "", "cannot fetch"},
		{"v1.2.0;touch x", "", "is not a release"},
		{"$(touch x)", "", "is not a release"},
	} {
		dir := t.TempDir()
		c := exec.CommandContext(t.Context(), script)
		c.Dir = dir
		c.Env = append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+filepath.Join(dir, "out"), "VERSION="+tt.version, "SHA256="+tt.sum, "RELEASES_URL="+web.URL, "SOURCE=")
		said, err := c.CombinedOutput()
		if (err == nil) != (tt.says == "") || !strings.Contains(string(said), tt.says) {
			t.Errorf("%q with %q: %v: %s", tt.version, tt.sum, err, said)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%q was run as a command", tt.version)
		}
		if tt.says != "" {
			continue
		}
		program := strings.TrimSpace(outputs(t, filepath.Join(dir, "out"))["program"])
		if got, err := exec.CommandContext(t.Context(), program).Output(); err != nil || string(got) != "it runs\n" {
			t.Errorf("%s: %q, %v", program, got, err)
		}
	}
}

// release is an archive with a program.
func release(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	text := "#!/bin/sh\necho it runs\n"
	if err := files.WriteHeader(&tar.Header{Name: "handrail", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	_, err := files.Write([]byte(text))
	for _, err := range []error{err, files.Close(), zip.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
