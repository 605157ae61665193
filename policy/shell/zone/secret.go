package zone

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// Secret is how much a path or a file holds of credentials.
type Secret int

// The tiers of secrets.
const (
	NoSecret      Secret = iota
	OwnSecret            // environment and key files of the workspace
	MachineSecret        // keys and tokens of the person or the machine
)

// SecretOf rates a path by the credentials in it: the highest for keys and
// tokens of the person or the machine, high for environment and key files
// of the workspace.
func SecretOf(p string) Secret {
	p = Clean(p)
	if strings.HasPrefix(p, "/proc/") && baseIs(p, "environ", "mem", "maps") {
		return MachineSecret
	}
	switch {
	case strings.HasSuffix(p, ".pub") || strings.HasSuffix(p, "known_hosts"):
		return NoSecret
	case Under(p, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/var/run/secrets", "/run/secrets", "/etc/ssl/private", "/etc/kubernetes/admin.conf", "/etc/krb5.keytab"),
		strings.HasPrefix(p, "/etc/ssh/ssh_host_"):
		return MachineSecret
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && homeSecret(rest) {
		return MachineSecret
	}
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
		return secretBase(path.Base(p), MachineSecret)
	}
	for _, dir := range []string{"testdata", "fixtures", "test", "tests", "examples", "example", "__fixtures__", "docs"} {
		if strings.HasPrefix(p, dir+"/") || strings.Contains(p, "/"+dir+"/") {
			return NoSecret
		}
	}
	if Under(p, ".ssh", ".aws") || strings.Contains(p, "/.ssh/") || p == ".git/config" || p == ".git-credentials" {
		return OwnSecret
	}
	return secretBase(path.Base(p), OwnSecret)
}

// baseIs reports whether the last part of a path is one of the names.
func baseIs(p string, names ...string) bool { return slices.Contains(names, path.Base(p)) }

func homeSecret(rest string) bool {
	return Under(rest, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf",
		".docker/config.json", ".config/gh", ".config/gcloud", ".config/hub", ".config/doctl", ".config/op", ".cargo/credentials", ".cargo/credentials.toml",
		".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".boto", ".s3cfg", ".vault-token", ".terraform.d/credentials.tfrc.json",
		".password-store", ".local/share/keyrings", "Library/Keychains", ".mozilla", ".config/google-chrome", ".bash_history", ".zsh_history",
		".yarnrc.yml", ".composer/auth.json", ".config/git/credentials", ".heroku", ".fly", ".wrangler", ".databrickscfg", ".snowsql", ".env", ".electrum", ".bitcoin", ".ethereum") &&
		rest != ".ssh/config"
}

// secretBase rates a file by its name alone.
func secretBase(base string, tier Secret) Secret {
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env."):
		if sampleName(base) {
			return NoSecret
		}
		return min(tier, OwnSecret)
	case strings.HasPrefix(base, "id_rsa"), strings.HasPrefix(base, "id_ed25519"), strings.HasPrefix(base, "id_ecdsa"), strings.HasPrefix(base, "id_dsa"):
		return tier
	case base == ".netrc", base == ".npmrc" && tier == MachineSecret, base == ".pypirc", base == ".git-credentials", base == ".pgpass", base == "credentials.json",
		base == "kubeconfig", base == ".htpasswd", base == ".envrc", base == "secrets.yml", base == "secrets.yaml", base == "secrets.json", base == "master.key":
		return min(tier, OwnSecret)
	case strings.HasSuffix(base, ".pem"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".p12"), strings.HasSuffix(base, ".pfx"), strings.HasSuffix(base, ".kdbx"), strings.HasSuffix(base, ".jks"):
		if strings.HasPrefix(base, "ca.") || strings.HasPrefix(base, "ca-") || holds(base, "cert", "public", "chain") {
			return NoSecret
		}
		return OwnSecret
	}
	return NoSecret
}

// holds reports whether one of the parts stands in a text.
func holds(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func sampleName(base string) bool {
	return holds(base, "example", "sample", "template", "dist", "schema", "defaults", "test")
}

// Hunts reports whether a search term is one that finds credentials.
func Hunts(term string) bool {
	t := strings.ToLower(term)
	if _, after, ok := strings.Cut(t, "begin"); ok && strings.Contains(after, "private") {
		return true
	}
	return holds(t, "akia", "private key", "begin rsa", "begin openssh", "_rsa", "id_ed25519", ".pem", ".key", "password", "passwd", "secret", "token", "ghp_", "github_pat",
		"credential", "apikey", "api_key", "aws_", ".env", "kubeconfig", ".p12", ".pfx", "wallet", "kdbx", "authorized_keys", "netrc", "npmrc")
}

// SecretName reports whether a variable of this name holds a credential.
func SecretName(name string) bool {
	n := strings.ToUpper(name)
	return holds(n, "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "APIKEY", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL",
		"AUTH_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "SSH_KEY", "DEPLOY_KEY", "DATABASE_URL", "WEBHOOK_URL", "CONNECTION_STRING") ||
		strings.HasSuffix(n, "_PAT") || strings.HasSuffix(n, "_PW") || n == "PGPASS" || n == "PAT"
}

// secretVariables are variables with credentials that many environments have.
var secretVariables = []string{"GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "NODE_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "CI_JOB_TOKEN", "DATABASE_URL", "SECRET_KEY", "TOKEN"}

// SecretsBy are names of variables that begin with a prefix: one that is not
// known, and those of credentials.
func SecretsBy(prefix string) []string {
	names := []string{prefix + mark.Unknown}
	for _, n := range secretVariables {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	return names
}

// Metadata reports whether an address is one of the services that
// hand a machine of a cloud its credentials, however it is spelled: a name, a
// dotted, decimal, octal or hexadecimal number, or a mapped IPv6 address.
func Metadata(address string) bool {
	host := hostOf(address)
	switch host {
	case "metadata.google.internal", "metadata", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal", "metadata.tencentyun.com":
		return true
	}
	ip, ok := looseAddress(host)
	if !ok {
		return false
	}
	switch ip.String() {
	case "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254":
		return true
	}
	return false
}

// hostOf is the host in an address or a URL, in small letters.
func hostOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = strings.ToLower(rest[strings.LastIndexByte(rest, '@')+1:])
	if inner, found := strings.CutPrefix(rest, "["); found {
		inner, _, _ = strings.Cut(inner, "]")
		return inner
	}
	if strings.Count(rest, ":") == 1 {
		rest, _, _ = strings.Cut(rest, ":")
	}
	return strings.TrimSuffix(rest, ".")
}

// looseAddress reads an address the way the C library does: 1 to 4 numbers,
// of which the last fills what is left, each decimal, octal or hexadecimal.
func looseAddress(host string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap(), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 0, 33)
		if err != nil || strings.Contains(p, "_") {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			n |= v
			continue
		}
		n |= (v & 0xff) << (24 - 8*i)
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}

// Local reports whether an address is on this machine.
func Local(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		rest = s
	}
	host := strings.ToLower(rest)
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if strings.Contains(host, "@") {
		return false
	}
	if strings.HasPrefix(host, "[::1]") {
		return true
	}
	host, _, _ = strings.Cut(host, ":")
	return host == "localhost" || host == "127.0.0.1" || host == "0.0.0.0" || strings.HasSuffix(host, ".localhost")
}
