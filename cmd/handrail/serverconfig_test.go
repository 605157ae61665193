package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
)

// configFile writes a file of its own for each text.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "handrail.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func keyFile(t *testing.T, kind string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	switch kind {
	case "pkcs8":
		block.Type = "PRIVATE KEY"
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(key)
	case "public":
		block = &pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)}
	case "curve":
		var ec *ecdsa.PrivateKey
		if ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err == nil {
			block.Type = "PRIVATE KEY"
			block.Bytes, err = x509.MarshalPKCS8PrivateKey(ec)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return configFile(t, string(pem.EncodeToMemory(block)))
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestServerConfigWhole(t *testing.T) {
	t.Parallel()
	key := keyFile(t, "")
	path := configFile(t, `
listen: 0.0.0.0:9090
data: /var/lib/handrail
database: postgres://bot@db/handrail
workspace: bwrap
github:
  api: https://github.example/api/v3/
  app_id: 12345
  private_key_file: `+key+`
model:
  name: qwen3:8b
  ollama: 10.0.0.7
  temperature: 0.2
  context: 65536
  max_tokens: 8192
  keep_alive: 30m
  silence: 10m
  can: {tools: true, thinking: false, vision: false, context: 131072}
sessions: {at_once: 4, per_user: 2, per_repo: 1}
policy:
  commands: {deny: ["git push *"]}
  budget: {session: {tokens: 1000}}
`)
	cfg, err := config.Read(path, env("HANDRAIL_WEBHOOK_SECRET", "s"))
	if err != nil {
		t.Fatal(err)
	}
	m := cfg.Model
	if cfg.Listen != "0.0.0.0:9090" || cfg.Data != "/var/lib/handrail" || cfg.Workspace != "bwrap" || cfg.GitHub.AppID != 12345 || len(cfg.GitHub.Key) == 0 {
		t.Errorf("read %+v", cfg)
	}
	if m.Name != "qwen3:8b" || *m.Temperature != 0.2 || m.Context != 65536 || m.MaxTokens != 8192 || m.Silence.String() != "10m0s" || !*m.Can.Tools || *m.Can.Vision {
		t.Errorf("model %+v", m)
	}
	if cfg.Sessions != (config.Sessions{AtOnce: 4, PerUser: 2, PerRepo: 1}) || !slices.Equal(cfg.Policy.Commands.Deny, []string{"git push *"}) {
		t.Errorf("sessions %+v, policy %+v", cfg.Sessions, cfg.Policy.Commands)
	}
	want := policy.DefaultConfig()
	if cfg.Policy.Budget.Session.Tokens != 1000 || cfg.Policy.Budget.Thread != want.Budget.Thread || cfg.Policy.Workspace.Network != "none" {
		t.Errorf("what the file leaves open has no built-in limit: %+v", cfg.Policy.Budget)
	}
	merged := policy.Merge(cfg.Policy, policy.Config{Budget: policy.Budget{Thread: policy.Limits{Tokens: 1 << 40}}, Workspace: policy.Workspace{Network: "open", Memory: 1 << 50}})
	if merged.Budget.Thread.Tokens != want.Budget.Thread.Tokens || merged.Workspace.Network != "none" || merged.Workspace.Memory != want.Workspace.Memory {
		t.Errorf("a repository widened built-in limits: %+v %+v", merged.Budget.Thread, merged.Workspace)
	}
}

func TestServerConfigPrecedence(t *testing.T) {
	path := configFile(t, "listen: :1\ndata: /file\nmodel: {name: file}\ngithub: {repository: a/file}\nworkspace: bwrap\n")
	base := []string{"HANDRAIL_WEBHOOK_SECRET", "s", "HANDRAIL_GITHUB_TOKEN", "t"}
	cfg, err := config.Read(path, env(base...))
	if err != nil || cfg.Listen != ":1" || cfg.Data != "/file" || cfg.Model.Name != "file" || cfg.Workspace != "bwrap" || cfg.GitHub.Repository != "a/file" {
		t.Fatalf("the file alone: %+v, %v", cfg, err)
	}
	over := append(base, "HANDRAIL_LISTEN", ":2", "HANDRAIL_DATA", "/env", "HANDRAIL_MODEL", "env", "HANDRAIL_WORKSPACE", "docker", "HANDRAIL_REPOSITORY", "a/env", "OLLAMA_HOST", "h:7", "HANDRAIL_DATABASE", "postgres://h/d")
	cfg, err = config.Read(path, env(over...))
	if err != nil || cfg.Listen != ":2" || cfg.Data != "/env" || cfg.Model.Name != "env" || cfg.Workspace != "docker" || cfg.GitHub.Repository != "a/env" || cfg.Model.Ollama != "h:7" || cfg.Database != "postgres://h/d" {
		t.Fatalf("the environment over the file: %+v, %v", cfg, err)
	}
	for i := 0; i < len(over); i += 2 {
		t.Setenv(over[i], over[i+1])
	}
	c := serveCmd{File: path, Listen: ":3", Data: "/flag", Model: "flag", Workspace: "local"}
	cfg, err = config.Read(path, c.getenv)
	if err != nil || cfg.Listen != ":3" || cfg.Data != "/flag" || cfg.Model.Name != "flag" || cfg.Workspace != "local" || cfg.GitHub.Repository != "a/env" {
		t.Fatalf("flags over the environment: %+v, %v", cfg, err)
	}
}

// TestServerConfigWithoutFile: a container can be run by its environment.
func TestServerConfigWithoutFile(t *testing.T) {
	t.Parallel()
	cfg, err := config.Read("", env("HANDRAIL_WEBHOOK_SECRET", "s", "HANDRAIL_APP_ID", "7", "HANDRAIL_PRIVATE_KEY_FILE", keyFile(t, "pkcs8"), "HANDRAIL_MODEL", "m", "HANDRAIL_GITHUB_API", "https://h/api/v3/"))
	if err != nil || cfg.GitHub.AppID != 7 || len(cfg.GitHub.Key) == 0 || cfg.Listen != "127.0.0.1:8080" || cfg.Workspace != "auto" || !filepath.IsAbs(cfg.Data) {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestServerConfigFaults(t *testing.T) {
	t.Parallel()
	ok := "github: {repository: a/b}\nmodel: {name: m}\n"
	secrets := []string{"HANDRAIL_WEBHOOK_SECRET", "hush-1", "HANDRAIL_GITHUB_TOKEN", "hush-2"}
	text := configFile(t, "not a key\n")
	for name, c := range map[string]struct {
		file string
		env  []string
		want []string
	}{
		"unknown key":         {ok + "lisen: :1\n", secrets, []string{`line 3: unknown key "lisen", did you mean "listen"?`}},
		"unknown below":       {"github:\n  app-id: 3\n", secrets, []string{`line 2: unknown key "app-id", did you mean "app_id"?`}},
		"unknown in policy":   {"policy:\n  budgt: {}\n", secrets, []string{`line 2: unknown key "budgt", did you mean "budget"?`}},
		"value in policy":     {ok + "policy:\n  workspace:\n    network: opn\n", secrets, []string{"line 5: ", `workspace.network: "opn"`, `did you mean "open"?`}},
		"second document":     {ok + "---\nlisten: :1\n", secrets, []string{"a second document begins"}},
		"quotas":              {"quotas: {sender: -2, reserve: 80}\n", secrets, []string{"quotas.sender", "quotas.reserve"}},
		"text for a number":   {"sessions: {at_once: many}\n", secrets, []string{"line 1: cannot use `many` as a whole number"}},
		"list for keys":       {"github: [a]\n", secrets, []string{"line 1: cannot use a list as keys and values"}},
		"text for keys":       {"model: qwen3:8b\n", secrets, []string{"line 1: cannot use `qwen3:8b` as keys and values"}},
		"not YAML":            {"listen: [\n", secrets, []string{"line "}},
		"a repository's file": {"mode: code\nmodels: [a]\nturns: 3\n", secrets, []string{`unknown key "mode"`, "below `policy:`"}},
		"everything missing":  {"", nil, []string{"no webhook secret: set HANDRAIL_WEBHOOK_SECRET", "no GitHub access", "no model"}},
		"all faults at once": {"listen: \"8080\"\nworkspace: vm\ndatabase: mysql://a:hush-3@b/c\ngithub: {repository: ab, api: \"example.com\"}\nsessions: {at_once: -1}\nmodel: {temperature: 3}\n", []string{"HANDRAIL_APP_ID", "x"},
			[]string{"HANDRAIL_APP_ID must be the number", "no webhook secret", "no GitHub access", "no model", `listen: "8080" is not an address`, `workspace: "vm"`, "database: only postgres://", `"ab" is not owner/name`, `github.api: "example.com"`, "sessions.at_once", "temperature"}},
		"signing, no key":      {ok + "policy: {commits: {sign: gpg}}\n", secrets, []string{"policy.commits.sign: it is gpg: set commits.key"}},
		"signing, no file":     {ok + "commits: {key: /none/key}\n", secrets, []string{"read the key that signs commits: open /none/key: no such file"}},
		"signing, not a key":   {ok + "commits: {key: " + text + "}\n", secrets, []string{"commits.key: ", "it is no private key"}},
		"signing, other kind":  {ok + "commits: {key: " + keyFile(t, "pkcs8") + "}\npolicy: {commits: {sign: gpg}}\n", secrets, []string{"commits.key is a key of another kind"}},
		"signing by a token":   {"github: {repository: a/b}\nmodel: {name: m}\npolicy: {commits: {sign: api}}\n", []string{"HANDRAIL_WEBHOOK_SECRET", "s", "HANDRAIL_GITHUB_TOKEN", "hush-1"}, []string{"not those made with a token"}},
		"signing by a word":    {ok + "policy: {commits: {sign: pgp}}\n", secrets, []string{`commits.sign: "pgp"`}},
		"port of words":        {ok + "listen: :http2\n", secrets, []string{"listen: \":http2\" has no port"}},
		"port too large":       {ok + "listen: :70000\n", secrets, []string{"no port from 0 to 65535"}},
		"host of nonsense":     {ok + "listen: \"a b:1\"\n", secrets, []string{`listen: "a b" is neither`}},
		"no key file":          {"github: {app_id: 1, private_key_file: /none/key.pem}\nmodel: {name: m}\n", secrets, []string{"read the App's private key: open /none/key.pem: no such file"}},
		"a directory as key":   {"github: {app_id: 1, private_key_file: /}\nmodel: {name: m}\n", secrets, []string{"read the App's private key: read /: is a directory"}},
		"key not PEM":          {"github: {app_id: 1, private_key_file: " + text + "}\nmodel: {name: m}\n", secrets, []string{"is not a private key in PEM form"}},
		"public key":           {"github: {app_id: 1, private_key_file: " + keyFile(t, "public") + "}\nmodel: {name: m}\n", secrets, []string{"holds a rsa public key that cannot be read"}},
		"key of another kind":  {"github: {app_id: 1, private_key_file: " + keyFile(t, "curve") + "}\nmodel: {name: m}\n", secrets, []string{"of another kind than RSA"}},
		"the key itself":       {"github: {app_id: 1, private_key_file: \"-----BEGIN RSA PRIVATE KEY-----hush-4\"}\nmodel: {name: m}\n", secrets, []string{"must be the path of a file"}},
		"key without App":      {"github: {private_key_file: " + text + "}\nmodel: {name: m}\n", secrets, []string{"needs both github.app_id"}},
		"App without key":      {"github: {app_id: 1}\nmodel: {name: m}\n", secrets, []string{"needs both github.app_id"}},
		"token, no repository": {"model: {name: m}\n", secrets, []string{"set github.repository to owner/name"}},
		"two homes":            {ok + "model: {ollama: a, base_url: http://b/v1}\n", secrets, []string{`mapping key "model" already defined`}},
		"two servers":          {"model: {ollama: a, base_url: http://b/v1}\n", secrets, []string{"model.ollama and model.base_url are both set"}},
		"two engines":          {"workspace: bwrap\npolicy: {workspace: {engine: docker}}\n", secrets, []string{"keep one"}},
		"database unreadable":  {ok, append([]string{"HANDRAIL_DATABASE", "postgres://a:hush-%zz@b/c"}, secrets...), []string{"not an address like postgres://"}},
		"secret twice":         {ok, append([]string{"HANDRAIL_API_KEY", "hush-5", "HANDRAIL_API_KEY_FILE", text}, secrets...), []string{"both HANDRAIL_API_KEY and HANDRAIL_API_KEY_FILE are set"}},
		"secret in wrong var":  {ok, []string{"HANDRAIL_WEBHOOK_SECRET_FILE", "hush-6"}, []string{"read the file that HANDRAIL_WEBHOOK_SECRET_FILE names: no such file", "no GitHub access"}},
		"two lines":            {ok, []string{"HANDRAIL_WEBHOOK_SECRET", "hush-7\nx", "HANDRAIL_GITHUB_TOKEN", "t"}, []string{"HANDRAIL_WEBHOOK_SECRET holds more than one line"}},
		"empty secret file":    {ok, []string{"HANDRAIL_WEBHOOK_SECRET_FILE", configFile(t, "\n"), "HANDRAIL_GITHUB_TOKEN", "t"}, []string{"the file that HANDRAIL_WEBHOOK_SECRET_FILE names is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Read(configFile(t, c.file), env(c.env...))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(inLine(err.Error()), want) {
					t.Errorf("%v\nwant it to contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hush-") {
				t.Errorf("a secret stands in the error: %v", err)
			}
		})
	}
}

// inLine is an error without its columns.
func inLine(text string) string {
	return regexp.MustCompile(`(line \d+), column \d+`).ReplaceAllString(text, "$1")
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	hook, token, key, db := configFile(t, "the hook\n"), configFile(t, "the token"), configFile(t, "the key\r\n"), configFile(t, "postgres://me:pw@h/d\n")
	cfg, err := config.Read(configFile(t, "github: {repository: a/b}\nmodel: {name: m}\n"), env("HANDRAIL_WEBHOOK_SECRET_FILE", hook,
		"HANDRAIL_GITHUB_TOKEN_FILE", token, "HANDRAIL_API_KEY_FILE", key, "HANDRAIL_DATABASE_FILE", db))
	if err != nil {
		t.Fatal(err)
	}
	g := cfg.GitHub
	if g.WebhookSecret.Reveal() != "the hook" || g.Token.Reveal() != "the token" || cfg.Model.Key.Reveal() != "the key" || cfg.Database != "postgres://me:pw@h/d" {
		t.Errorf("%q %q %q %q", g.WebhookSecret.Reveal(), g.Token.Reveal(), cfg.Model.Key.Reveal(), cfg.Database)
	}
	known, err := serverSecrets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := known.outgoing("x the token y"); strings.Contains(got, "the token") {
		t.Errorf("a secret from a file goes out: %s", got)
	}
}

func TestConfigCheckDoor(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HANDRAIL_WEBHOOK_SECRET", "")
	server := configFile(t, "listen: :80\ngithub: {app_id: 1, private_key_file: "+keyFile(t, "")+"}\nmodel: {name: m}\n")
	repo := configFile(t, "model: qwen3:8b\nmode: code\n")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"repository":              {[]string{repo}, 0, ""},
		"server":                  {[]string{"--server", server}, 0, ""},
		"empty":                   {[]string{configFile(t, "")}, 0, ""},
		"only a model, server":    {[]string{"--server", configFile(t, "model: {name: m}\n")}, 0, ""},
		"server as repository":    {[]string{server}, 1, "handrail config check --server"},
		"repository as server":    {[]string{"--server", repo}, 1, "below `policy:`"},
		"slip":                    {[]string{configFile(t, "mod: code\n")}, 1, `line 1: unknown key "mod", did you mean "mode"?`},
		"slip, server":            {[]string{"--server", configFile(t, "\nlistn: :80\n")}, 1, `line 2: unknown key "listn", did you mean "listen"?`},
		"key file is not there":   {[]string{"--server", configFile(t, "github: {app_id: 1, private_key_file: /none}\n")}, 1, "read the App's private key"},
		"binary":                  {[]string{configFile(t, "\x00\xff\xfe")}, 1, ""},
		"too large":               {[]string{configFile(t, strings.Repeat("# x\n", 100_000))}, 1, "at most"},
		"missing":                 {[]string{"none.yml"}, 2, "no such file"},
		"directory":               {[]string{"."}, 2, "is a directory"},
		"no name, nothing there":  {nil, 2, ".github/agent.yml"},
		"no word but unknown key": {[]string{configFile(t, "zzz: 1\n")}, 1, "known keys here"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, code := atDoor(t, "", append([]string{"config", "check", "--json"}, c.args...)...)
			v := oneObject(t, out)
			said, _ := v["error"].(string)
			if code != c.code || keys(v) != map[int]string{0: "ok error", 1: "ok error faults", 2: "ok error"}[code] || v["ok"] != (code == 0) || !strings.Contains(inLine(said), c.want) || (said == "") != (code == 0) {
				t.Errorf("exit %d: %s; want %d and %q", code, out, c.code, c.want)
			}
			plain, errs, code := atDoor(t, "", append([]string{"config", "check"}, c.args...)...)
			if code != c.code || code == 0 && (!strings.HasSuffix(plain, ": ok\n") || errs != "") || code != 0 && (plain != "" || !strings.Contains(inLine(errs), c.want)) {
				t.Errorf("without --json: exit %d, stdout %q, stderr %q", code, plain, errs)
			}
		})
	}
	if err := os.MkdirAll(".github", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".github/agent.yml", []byte("mode: ask\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := atDoor(t, "", "config", "check", "--json"); code != exitDone || out != `{"ok":true,"error":""}`+"\n" {
		t.Errorf("the repository here: exit %d: %s", code, out)
	}
}
