package config

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// edge is a TLS server with an authority of its own, which answers with a header of the
// request, and the file with its certificate.
func edge(t *testing.T) (server *httptest.Server, file string) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "team "+r.Header.Get("X-Team"))
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, file
}

func fetched(cfg Server, address string) (string, error) {
	client := &http.Client{Transport: Transport(cfg.Model.Trusted, cfg.Model.Sent)}
	defer client.CloseIdleConnections()
	resp, err := client.Get(address) //nolint:noctx // of a test
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "handrail.yml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOwnAuthority: a server behind TLS of a company's own is reached with ca_file alone,
// and gets the header whose value is in the environment.
func TestOwnAuthority(t *testing.T) {
	t.Parallel()
	server, file := edge(t)
	if _, err := fetched(Server{}, server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("an unknown authority: %v", err)
	}
	base := "github: {repository: a/b, ca_file: " + file + "}\nmodel: {name: m, base_url: \"" + server.URL + "/v1\", ca_file: " + file + ", headers: {X-Team: TEAM_KEY}}\n"
	env := map[string]string{"HANDRAIL_GITHUB_TOKEN": "t", "HANDRAIL_WEBHOOK_SECRET": "s", "TEAM_KEY": "blue"}
	cfg, err := Read(written(t, base), func(name string) string { return env[name] })
	if err != nil || cfg.GitHub.Trusted == nil {
		t.Fatal(err)
	}
	if got, err := fetched(cfg, server.URL); err != nil || got != "team blue" {
		t.Errorf("got %q, %v", got, err)
	}
	env["TEAM_KEY"] = ""
	if _, err := Read(written(t, base), func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "for the header X-Team neither TEAM_KEY nor TEAM_KEY_FILE is set") {
		t.Errorf("a header without its value: %v", err)
	}
}

// TestServerHeaders: the headers of MCP servers have their values in the environment, too.
func TestServerHeaders(t *testing.T) {
	t.Parallel()
	base := "github: {repository: a/b}\nmodel: {name: m}\npolicy: {mcp: {servers: {web: {url: 'https://a.example/mcp', headers: {Authorization: WEB_TOKEN}}}}}\n"
	env := map[string]string{"HANDRAIL_GITHUB_TOKEN": "t", "HANDRAIL_WEBHOOK_SECRET": "s", "WEB_TOKEN": "Bearer blue"}
	cfg, err := Read(written(t, base), func(name string) string { return env[name] })
	if err != nil || cfg.ServerHeaders["web"]["Authorization"].Reveal() != "Bearer blue" {
		t.Errorf("got %v, %v", cfg.ServerHeaders, err)
	}
	env["WEB_TOKEN"] = ""
	want := "policy.mcp.servers.web.headers: for the header Authorization neither WEB_TOKEN nor WEB_TOKEN_FILE is set"
	if _, err := Read(written(t, base), func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a header without its value: %v, want %q", err, want)
	}
}

func TestReachFaults(t *testing.T) {
	t.Parallel()
	none := written(t, "no certificate\n")
	for text, want := range map[string]string{
		"model: {ca_file: /none/ca.pem}\n":            "line 1, column 18: model.ca_file: open /none/ca.pem: no such file",
		"github: {ca_file: " + none + "}\n":           "github.ca_file: " + none + " holds no certificate in PEM form",
		"model: {headers: {X-Key: hush-1 hush}}\n":    "model.headers: the value of X-Key must be the name of a variable",
		"model: {headers: {\"X Key\": HANDRAIL_X}}\n": `"X Key" cannot be the name of a header`,
	} {
		if _, err := CheckFile(written(t, text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush-1") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// proxy is a small CONNECT proxy that leads every name to one address.
func proxy(t *testing.T, to string) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	var both sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		far, err := net.Dial("tcp", to)
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		// The answer comes after: once the client has it, it speaks, and the server, which looks
		// whether the client is gone, may have taken its first byte by then.
		near, read, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = far.Close()
			return
		}
		_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n") // a client that is gone is seen below
		both.Go(func() { _, _ = io.Copy(far, read); _ = far.Close() })
		both.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
	}))
	t.Cleanup(func() { server.Close(); both.Wait() })
	return server.URL, asked
}

// TestProxy: servers are reached by the proxy of the environment, but for this machine and
// those that NO_PROXY names. Go reads the environment once, so each is a process.
func TestProxy(t *testing.T) {
	if address := os.Getenv("REACH_ADDRESS"); address != "" {
		cfg, err := CheckFile(os.Getenv("REACH_CONFIG"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := fetched(cfg, address)
		fmt.Printf("said %q %v\n", got, err)
		return
	}
	t.Parallel()
	server, file := edge(t)
	through, asked := proxy(t, server.Listener.Addr().String())
	name := written(t, "model: {ca_file: "+file+"}\n")
	for _, c := range []struct {
		address, not, want string
		asked              int32
	}{
		{"https://example.com/", "", `said "team " <nil>`, 1}, // the name in the certificate
		{server.URL, "", `said "team " <nil>`, 1},             // this machine
		{"https://models.invalid/", "models.invalid", "said \"\" Get", 1},
	} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$", "-test.v")
		child.Env = append(os.Environ(), "REACH_ADDRESS="+c.address, "REACH_CONFIG="+name, "HTTPS_PROXY="+through, "NO_PROXY="+c.not)
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || asked.Load() != c.asked {
			t.Errorf("%s: %v, the proxy was asked %d times\n%s", c.address, err, asked.Load(), out)
		}
	}
}
