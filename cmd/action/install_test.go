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

	"github.com/handrail-bot/handrail/policy/longtest"
)

// A release is fetched by its version, and run only when its checksum is the one that
// was given, or the one of the release's own list.
func TestInstall(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
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
	repo, commit, old := tagged(t)
	source := buildable(t)
	const builds = "::warning::"
	for _, tt := range []struct{ version, ref, sum, says, runs string }{
		{version: "v1.2.0", runs: "it runs"},
		{version: "v1.2.0", sum: sum, runs: "it runs"},
		{version: "v1.2.0", sum: strings.Repeat("0", 64), says: "it is not run"},
		{version: "v1.3.0", says: "do not name"},
		{version: "v9.9.9", says: "cannot fetch"},
		{version: "v1.2.0;touch x", says: "is not a release"},
		{version: "$(touch x)", says: "is not a release"},
		{version: "source", ref: "v1.2.0", runs: "built"},
		{version: "auto", ref: "v1.2.0", runs: "it runs"},
		{version: "auto", ref: "v1", runs: "it runs"},
		{version: "auto", ref: commit, runs: "it runs"},
		{version: "auto", ref: "v1", sum: strings.Repeat("0", 64), says: "it is not run"},
		{version: "auto", runs: "built"},
		{version: "auto", ref: "main", says: builds + "no release is at main", runs: "built"},
		{version: "auto", ref: "v2", says: builds + "no release is at v2", runs: "built"},
		{version: "auto", ref: "v1.0.0", says: builds + "cannot fetch handrail_1.0.0_", runs: "built"},
		{version: "auto", ref: old, says: builds + "cannot fetch", runs: "built"},
		{version: "auto", ref: "--upload-pack=touch x", says: builds, runs: "built"},
	} {
		dir := t.TempDir()
		c := exec.CommandContext(t.Context(), script)
		c.Dir = dir
		c.Env = append(
			os.Environ(),
			"RUNNER_TEMP="+dir,
			"GITHUB_OUTPUT="+filepath.Join(dir, "out"),
			"VERSION="+tt.version,
			"REF="+tt.ref,
			"REPOSITORY="+repo,
			"SHA256="+tt.sum,
			"RELEASES_URL="+web.URL,
			"SOURCE="+source,
		)
		said, err := c.CombinedOutput()
		if (err == nil) != (tt.runs != "") || !strings.Contains(string(said), tt.says) || tt.says == "" && strings.Contains(string(said), "::") {
			t.Errorf("%q at %q with %q: %v: %s", tt.version, tt.ref, tt.sum, err, said)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%q at %q was run as a command", tt.version, tt.ref)
		}
		if tt.runs == "" {
			continue
		}
		program := strings.TrimSpace(outputs(t, filepath.Join(dir, "out"))["program"])
		if got, err := exec.CommandContext(t.Context(), program).Output(); err != nil || string(got) != tt.runs+"\n" {
			t.Errorf("%q at %q: %s: %q, %v", tt.version, tt.ref, program, got, err)
		}
	}
}

// tagged is a repository with the tags v1.2.0 and v1 at its newest commit, one of them
// annotated, and v1.0.0 at the one before.
func tagged(t *testing.T) (dir, commit, old string) {
	t.Helper()
	dir = t.TempDir()
	git := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("tag", "v1.0.0")
	old = git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "two")
	git("tag", "-a", "-m", "two", "v1.2.0")
	git("tag", "v1")
	commit = git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "three")
	return dir, commit, old
}

// buildable is a checkout whose program says that it was built.
func buildable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.org/built\n\ngo 1.26\n",
		"cmd/handrail/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"built\") }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
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
