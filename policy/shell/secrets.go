package shell

import (
	"path"
	"strings"
)

// secretPath rates a path by the credentials in it: critical for keys and
// tokens of the person or the machine, high for environment and key files
// of the workspace.
func secretPath(p string) Severity {
	p = cleanPath(p)
	if strings.HasPrefix(p, "/proc/") && baseIs(p, "environ", "mem", "maps") {
		return Critical
	}
	switch {
	case strings.HasSuffix(p, ".pub") || strings.HasSuffix(p, "known_hosts"):
		return None
	case under(p, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/var/run/secrets", "/run/secrets", "/etc/ssl/private", "/etc/kubernetes/admin.conf", "/etc/krb5.keytab"),
		strings.HasPrefix(p, "/etc/ssh/ssh_host_"):
		return Critical
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && homeSecret(rest) {
		return Critical
	}
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
		return secretBase(path.Base(p), Critical)
	}
	for _, dir := range []string{"testdata", "fixtures", "test", "tests", "examples", "example", "__fixtures__", "docs"} {
		if strings.HasPrefix(p, dir+"/") || strings.Contains(p, "/"+dir+"/") {
			return None
		}
	}
	if under(p, ".ssh", ".aws") || strings.Contains(p, "/.ssh/") || p == ".git/config" || p == ".git-credentials" {
		return High
	}
	return secretBase(path.Base(p), High)
}

func baseIs(p string, names ...string) bool {
	for _, n := range names {
		if path.Base(p) == n {
			return true
		}
	}
	return false
}

func homeSecret(rest string) bool {
	return under(rest, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf",
		".docker/config.json", ".config/gh", ".config/gcloud", ".config/hub", ".config/doctl", ".config/op", ".cargo/credentials", ".cargo/credentials.toml",
		".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".boto", ".s3cfg", ".vault-token", ".terraform.d/credentials.tfrc.json",
		".password-store", ".local/share/keyrings", "Library/Keychains", ".mozilla", ".config/google-chrome", ".bash_history", ".zsh_history",
		".yarnrc.yml", ".composer/auth.json", ".config/git/credentials", ".heroku", ".fly", ".wrangler", ".databrickscfg", ".snowsql", ".env", ".electrum", ".bitcoin", ".ethereum") &&
		rest != ".ssh/config"
}

// secretBase rates a file by its name alone.
func secretBase(base string, tier Severity) Severity {
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env."):
		if sampleName(base) {
			return None
		}
		return min(tier, High)
	case strings.HasPrefix(base, "id_rsa"), strings.HasPrefix(base, "id_ed25519"), strings.HasPrefix(base, "id_ecdsa"), strings.HasPrefix(base, "id_dsa"):
		return tier
	case base == ".netrc", base == ".npmrc" && tier == Critical, base == ".pypirc", base == ".git-credentials", base == ".pgpass", base == "credentials.json",
		base == "kubeconfig", base == ".htpasswd", base == ".envrc", base == "secrets.yml", base == "secrets.yaml", base == "secrets.json", base == "master.key":
		return min(tier, High)
	case strings.HasSuffix(base, ".pem"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".p12"), strings.HasSuffix(base, ".pfx"), strings.HasSuffix(base, ".kdbx"), strings.HasSuffix(base, ".jks"):
		if strings.HasPrefix(base, "ca.") || strings.HasPrefix(base, "ca-") || strings.Contains(base, "cert") || strings.Contains(base, "public") || strings.Contains(base, "chain") {
			return None
		}
		return High
	}
	return None
}

func sampleName(base string) bool {
	for _, w := range []string{"example", "sample", "template", "dist", "schema", "defaults", "test"} {
		if strings.Contains(base, w) {
			return true
		}
	}
	return false
}

// secretHunt reports whether a search term is one that finds credentials.
func secretHunt(term string) bool {
	t := strings.ToLower(term)
	if _, after, ok := strings.Cut(t, "begin"); ok && strings.Contains(after, "private") {
		return true
	}
	for _, w := range []string{
		"akia", "private key", "begin rsa", "begin openssh", "_rsa", "id_ed25519", ".pem", ".key", "password", "passwd", "secret", "token", "ghp_", "github_pat",
		"credential", "apikey", "api_key", "aws_", ".env", "kubeconfig", ".p12", ".pfx", "wallet", "kdbx", "authorized_keys", "netrc", "npmrc",
	} {
		if strings.Contains(t, w) {
			return true
		}
	}
	return false
}
