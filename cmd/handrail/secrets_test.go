package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// canary stands for a secret of the bot. It is the model's key in the stories
// below, so the server knows it; the puppet model is the attacker and knows
// it too.
const canary = "kX7-canary-Qz93vWmT5rLp82Yb"

// spellings are the ways in which a secret may try to get out.
func spellings(s string) map[string]string {
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	_, _ = w.Write([]byte("the key is " + s))
	_ = w.Close()
	back := []byte(s)
	slices.Reverse(back)
	var parts []string
	for i := 0; i < len(s); i += 5 {
		parts = append(parts, s[i:min(i+5, len(s))])
	}
	return map[string]string{
		"plain": s, "base64": base64.StdEncoding.EncodeToString([]byte("k=" + s)), "hex": hex.EncodeToString([]byte(s)),
		"url": strings.ReplaceAll(url.QueryEscape(s), "-", "%2D"), "reversed": string(back),
		"gzip": base64.StdEncoding.EncodeToString(zip.Bytes()), "split": strings.Join(parts, `" + "`),
	}
}

// Whatever is logged passes the redactor: message, attributes, groups, errors,
// structs, and attributes of derived loggers.
func TestLogsAreRedacted(t *testing.T) {
	for name, spelled := range spellings(canary) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := newSecrets(secret.Value(canary)).logger(slog.New(slog.NewJSONHandler(&out, nil)))
			err := fmt.Errorf("call: %w", errors.New("refused "+spelled))
			log.With("with", spelled).WithGroup("g").ErrorContext(context.Background(), "message "+spelled,
				"text", spelled, "err", err, slog.Group("in", "deep", spelled), "bytes", []byte(spelled), "struct", struct{ A string }{spelled}, "n", 7)
			if strings.Contains(out.String(), spelled) {
				t.Errorf("the log has %q:\n%s", spelled, out.String())
			}
			if got := strings.Count(out.String(), secret.Redacted); got != 7 {
				t.Errorf("%d places redacted, want 7:\n%s", got, out.String())
			}
			if !strings.Contains(out.String(), `"n":7`) || !strings.Contains(out.String(), "message") {
				t.Errorf("too much is gone:\n%s", out.String())
			}
		})
	}
}

func TestEnvironmentSecrets(t *testing.T) {
	got := environmentSecrets([]string{
		"PATH=/usr/bin:/bin", "GITHUB_TOKEN=aaaaaaaa1", "OPENAI_API_KEY=bbbbbbbb2", "HANDRAIL_WEBHOOK_SECRET=cccccccc3", "db_password=dddddddd4",
		"TOKEN_FILE=/run/secrets/token", "SHORT_TOKEN=x", "AWS_SECRET_ACCESS_KEY=eeeeeeee5", "EDITOR=something-long",
	})
	want := []secret.Value{"aaaaaaaa1", "bbbbbbbb2", "cccccccc3", "dddddddd4", "eeeeeeee5"}
	if !slices.Equal(got, want) {
		var plain []string
		for _, s := range got {
			plain = append(plain, s.Reveal())
		}
		t.Errorf("got %v", plain)
	}
}

// The database's password counts as a secret, and a token that stands nowhere
// in the environment does too.
func TestServerSecrets(t *testing.T) {
	cfg := serverConfig{Database: "postgres://bot:pw-9f8e7d6c5b@db/handrail", GitHub: githubConfig{
		webhookSecret: "hook-1a2b3c4d5e", token: "plain-token-value-123", key: []byte("-----key-material-of-the-app-----")}}
	s := cfg.secrets()
	for _, v := range []string{"pw-9f8e7d6c5b", "hook-1a2b3c4d5e", "plain-token-value-123", "key-material-of-the"} {
		if out := s.outgoing("x " + v + " y"); strings.Contains(out, v) {
			t.Errorf("%q goes out", v)
		}
	}
	if got := s.outgoing("x\n::set-env name=a::b"); strings.Contains(got, "\n::") {
		t.Errorf("a workflow command goes out: %q", got)
	}
}

// The scan of a commit finds a credential in added text with its line, in a
// binary file, in a name, and says so of what is too large; it finds nothing
// in what was there before.
func TestScanOfACommit(t *testing.T) {
	token := "ghp_" + "x7Jq2LmN8vRt4WzK1pYc5BdF9hGs3AeUo6Qi"
	repo, base := scanRepo(t, map[string]string{"old.txt": "token " + token + "\n", "a.txt": "one\n"})
	tip, err := repo.Checkpoint(t.Context(), gitops.Checkpoint{Parent: base, Meta: gitops.Meta{Message: "x", Author: gitops.Signature{Name: "n", Email: "e@x"}}, Changes: []gitops.Change{
		{Path: "a.txt", Open: content("one\ntwo\n" + token + "\n")},
		{Path: "old.txt", Open: content("token " + token + "\nmore\n")},
		{Path: "b.bin", Open: content("\x00\x01" + canary)},
		{Path: "c.bin", Open: content("\x00\x01\x02")},
		{Path: "d-" + canary + ".txt", Open: content("x\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	scan := newSecrets(canary).scan(repo)
	found, err := scan.Scan(t.Context(), base, tip.ID, []string{"a.txt", "b.bin", "c.bin", "d-" + canary + ".txt", "old.txt"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, l := range found {
		got[l.Path] = l.Line
		if strings.Contains(l.Text+l.Rule, token) || strings.Contains(l.Text, canary) {
			t.Errorf("the finding holds the credential: %+v", l)
		}
	}
	want := map[string]int{"a.txt": 3, "b.bin": 1, "d-" + canary + ".txt": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if out := scan.Hide("+x " + token + "\n+api_key = \"8f3kd92ls0alq7xmv5nb1zt6\"\n"); strings.Contains(out, token) || strings.Contains(out, "8f3kd") {
		t.Errorf("shown: %q", out)
	}
}

func content(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

func scanRepo(t *testing.T, files map[string]string) (*gitops.Mirror, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"init -q -b main", "add -A", "-c user.name=T -c user.email=t@x commit -q -m start"} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, strings.Fields(line)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
	repo, err := gitops.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	})
	base, err := repo.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return repo, base
}
