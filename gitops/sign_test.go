package gitops

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// repository is a git repository with one commit without a signature, and what
// git needs to judge signatures.
type repository struct {
	t   *testing.T
	dir string
	env []string
}

func newRepository(t *testing.T) *repository {
	r := &repository{t, t.TempDir(), nil}
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "GNUPGHOME="+home, "GIT_CONFIG_NOSYSTEM=1", "HOME="+home,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@x")
	t.Cleanup(func() {
		stop := exec.Command("gpgconf", "--kill", "all")
		stop.Env = r.env
		_ = stop.Run() // it was perhaps not started
	})
	r.must(nil, "git", "init", "-q", ".")
	r.must(nil, "git", "commit", "-q", "--allow-empty", "-m", "one\n\nText.\n\nSession: s1")
	return r
}

func (r *repository) run(in []byte, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) must(in []byte, name string, args ...string) string {
	r.t.Helper()
	out, err := r.run(in, name, args...)
	if err != nil {
		r.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// signed stores the commit with a signature of the key, and returns its id.
func (r *repository) signed(k *SigningKey) string {
	r.t.Helper()
	raw := []byte(r.must(nil, "git", "cat-file", "commit", "HEAD"))
	one, err := k.Commit(context.Background(), "", raw)
	if err != nil {
		r.t.Fatal(err)
	}
	two, err := k.Commit(context.Background(), "", raw)
	if err != nil || !bytes.Equal(one, two) {
		r.t.Errorf("the same commit was signed as another one (%v)", err)
	}
	return strings.TrimSpace(r.must(one, "git", "hash-object", "-t", "commit", "-w", "--stdin"))
}

func (r *repository) key(name string) *SigningKey {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	k, err := ReadSigningKey(data)
	if err != nil {
		r.t.Fatal(err)
	}
	return k
}

func need(t *testing.T, programs ...string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if strings.Contains(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), "signatures") {
				t.Fatalf("%s is missing: .ci/setup --full installs it", p)
			}
			t.Skipf("%s is missing: nobody judges these signatures here", p)
		}
	}
}

// TestSSHSignature: git and ssh-keygen take the signature of each kind of key, and
// of no other key.
func TestSSHSignature(t *testing.T) {
	need(t, "git", "ssh-keygen")
	for _, kind := range [][]string{{"ed25519"}, {"ecdsa", "-b", "256"}, {"ecdsa", "-b", "521"}, {"rsa", "-b", "2048"}, {"rsa", "-b", "2048", "-m", "PEM"}} {
		t.Run(strings.Join(kind, " "), func(t *testing.T) {
			if kind[0] == "rsa" {
				longtest.Leave(t) // such keys are made in seconds
			}
			r := newRepository(t)
			for _, name := range []string{"key", "other"} {
				r.must(nil, "ssh-keygen", append([]string{"-q", "-N", "", "-C", "", "-f", name, "-t"}, kind...)...)
			}
			allow := func(name string) {
				pub, err := os.ReadFile(filepath.Join(r.dir, name+".pub"))
				if err == nil {
					err = os.WriteFile(filepath.Join(r.dir, "allowed"), append([]byte("* "), pub...), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			id := r.signed(r.key("key"))
			verify := []string{"-c", "gpg.ssh.allowedSignersFile=" + filepath.Join(r.dir, "allowed"), "verify-commit", id}
			allow("key")
			if out := r.must(nil, "git", verify...); !strings.Contains(out, `Good "git" signature`) {
				t.Errorf("git says %s", out)
			}
			allow("other")
			if out, err := r.run(nil, "git", verify...); err == nil {
				t.Errorf("git takes it for one of another key: %s", out)
			}
		})
	}
}

// TestGPGSignature: git and gpg take the signature of each kind of key, not when
// anything of the commit is changed.
func TestGPGSignature(t *testing.T) {
	need(t, "git", "gpg")
	for _, algorithm := range []string{"ed25519", "rsa2048"} {
		t.Run(algorithm, func(t *testing.T) {
			r := newRepository(t)
			r.must(nil, "gpg", "--batch", "--quiet", "--passphrase", "", "--faked-system-time", "20240101T000000", "--quick-gen-key", "Bot <bot@example.com>", algorithm, "sign", "never")
			r.must(nil, "gpg", "--batch", "--quiet", "--output", "key", "--armor", "--export-secret-keys")
			id := r.signed(r.key("key"))
			if out := r.must(nil, "git", "verify-commit", id); !strings.Contains(out, "Good signature from") {
				t.Errorf("git says %s", out)
			}
			raw := r.must(nil, "git", "cat-file", "commit", id)
			forged := strings.TrimSpace(r.must([]byte(strings.Replace(raw, "Text.", "Test.", 1)), "git", "hash-object", "-t", "commit", "-w", "--stdin"))
			if out, err := r.run(nil, "git", "verify-commit", forged); err == nil {
				t.Errorf("git takes it with another message: %s", out)
			}
		})
	}
}

// TestUnusableKeys: a key that cannot sign is named, and nothing of it is shown.
func TestUnusableKeys(t *testing.T) {
	longtest.Leave(t)
	need(t, "ssh-keygen", "gpg")
	r := newRepository(t)
	r.must(nil, "ssh-keygen", "-q", "-N", "a secret", "-f", "locked", "-t", "ed25519")
	r.must(nil, "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "a secret", "--quick-gen-key", "Bot <bot@example.com>", "ed25519", "sign", "never")
	r.must(nil, "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "a secret", "--output", "lockedpgp", "--armor", "--export-secret-keys")
	r.must(nil, "gpg", "--batch", "--quiet", "--output", "public", "--armor", "--export")
	for name, want := range map[string]string{"locked": "passphrase", "locked.pub": "public key", "lockedpgp": "passphrase", "public": "public key"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = ReadSigningKey(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "hunter2", "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----\n", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2\n"} {
		if _, err := ReadSigningKey([]byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
