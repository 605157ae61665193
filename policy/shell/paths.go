package shell

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// zone is the location of a path.
type zone int

// The zones of the file system.
const (
	workspace   zone = iota // in the working directory
	nowhere                 // /dev/null and similar
	temp                    // in a temporary directory
	zoneRoot                // the working directory itself, or all files in it
	git                     // git's own directory
	runner                  // workflow files, and files read by later steps
	obeyed                  // settings that tools apply automatically
	above                   // above the working directory
	home                    // in a home directory
	startup                 // read by programs at startup
	outside                 // elsewhere on the machine
	system                  // a system directory
	vital                   // a file or directory that the system needs to run
	device                  // a raw device
	zoneUnknown             // known only at run time
)

// runnerFiles is the directory of the files by which a step communicates with the runner.
const runnerFiles = "/github/file_commands/"

// clean normalizes a path: "~" for every home directory, "." for the workspace, and no
// redundant slashes or dots.
func clean(p string) string {
	p = strings.ReplaceAll(strings.TrimPrefix(p, "file://"), "\\", "/")
	for _, alias := range []string{"/proc/self/cwd", "/github/workspace", "/workspace"} {
		if rest, ok := strings.CutPrefix(p, alias); ok && (rest == "" || rest[0] == '/') {
			p = "." + rest
		}
	}
	if rest, ok := strings.CutPrefix(p, "/proc/"); ok {
		if _, inner, ok := strings.Cut(rest, "/root"); ok && (inner == "" || inner[0] == '/') {
			p = "/" + inner
		}
	}
	if len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] == '/') { // C:/
		p = "/" + p[2:]
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = "/home/~" + p[1:]
	}
	if p == "" {
		return "."
	}
	p = path.Clean(p)
	return homeShort(p)
}

// homeShort replaces a leading home directory of an absolute path with "~".
func homeShort(p string) string {
	for _, base := range []string{"/home/", "/Users/", "/export/home/"} {
		rest, ok := strings.CutPrefix(p, base)
		if !ok || rest == "" {
			continue
		}
		_, inner, found := strings.Cut(rest, "/")
		if !found {
			return "~"
		}
		return "~/" + inner
	}
	if p == "/root" || p == "/var/root" {
		return "~"
	}
	if rest, ok := strings.CutPrefix(p, "/root/"); ok {
		return "~/" + rest
	}
	return p
}

func under(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return p == d || strings.HasPrefix(p, d) && p[len(d)] == '/'
	})
}

// zoneOf returns the zone of a clean path.
func zoneOf(p string) zone {
	switch {
	case !isKnown(p) && strings.IndexAny(p, all) < 2:
		return zoneUnknown
	case strings.HasPrefix(p, "/dev/") || p == "/dev":
		return devicePlace(p)
	case strings.HasPrefix(p, runnerFiles):
		if under(p, runnerFiles+"GITHUB_OUTPUT", runnerFiles+"GITHUB_STEP_SUMMARY", runnerFiles+"GITHUB_STATE") {
			return nowhere
		}
		return runner
	case strings.Contains(p, "/_runner_file_commands/"):
		return runner
	case strings.HasPrefix(p, "/"):
		return absolutePlace(p)
	case strings.HasPrefix(p, "~"):
		return homePlace(p)
	case p == ".." || strings.HasPrefix(p, "../"):
		return above
	}
	return workspacePlace(p)
}

func devicePlace(p string) zone {
	if under(p, "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd", "/dev/full") {
		return nowhere
	}
	if under(p, "/dev/shm") && p != "/dev/shm" {
		return temp
	}
	if p == "/dev" {
		return system
	}
	return device
}

func absolutePlace(p string) zone {
	switch {
	case oneOf(p, "/", "/*", "/.*"):
		return vital
	case under(p, "/tmp", "/var/tmp", "/private/tmp"):
		if strings.Count(p, "/") < 2 || p == "/var/tmp" || p == "/tmp/*" {
			return outside
		}
		return temp
	case under(
		p, "/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/group", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/pam.d", "/etc/ld.so.preload", "/etc/fstab", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/efi", "/proc/sysrq-trigger",
		"/proc/kcore", "/System", "/Windows", "/var/lib/dpkg",
	):
		return vital
	case oneOf(p, "/home", "/home/*", "/Users", "/root", "/usr", "/usr/local", "/usr/share", "/etc", "/var", "/var/log",
		"/var/lib", "/opt", "/srv", "/mnt", "/media", "/run", "/Library", "/Applications"):
		return vital
	case under(p, "/etc/profile", "/etc/profile.d", "/etc/environment", "/etc/bash.bashrc", "/etc/cron.d", "/etc/crontab",
		"/etc/cron.daily", "/etc/cron.hourly", "/etc/systemd", "/etc/init.d", "/etc/rc.local", "/etc/ld.so.conf.d", "/etc/ssh", "/var/spool/cron"):
		return startup
	case under(p, "/etc", "/usr", "/var/lib", "/proc", "/sys", "/Library", "/var/run/docker.sock"):
		return system
	}
	return outside
}

func homePlace(p string) zone {
	if p == "~" || p == "~/*" || p == "~/.*" {
		return vital
	}
	rest := strings.TrimPrefix(p, "~/")
	if under(
		rest, ".cache", "go/pkg", "go/bin", ".npm", ".gradle/caches", ".m2/repository", ".cargo/registry",
		".local/share/virtualenvs",
	) {
		return temp
	}
	if under(
		rest, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
		".zprofile", ".zshenv", ".zlogin", ".login", ".cshrc", ".inputrc", ".ssh", ".gnupg", ".gitconfig",
		".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".xinitrc", ".xsession", ".vimrc",
		".config/nvim", ".emacs", ".tmux.conf", ".npmrc", ".pypirc", ".netrc", ".aws", ".kube", ".docker",
		".cargo/config", ".cargo/config.toml", ".cargo/credentials", ".git-credentials", ".pam_environment",
		".crontab", "Library/LaunchAgents", ".local/bin", "bin", ".pip", ".config/pip", ".gdbinit", ".condarc",
		".curlrc", ".wgetrc", ".config/gh", ".config/gcloud", ".azure", ".terraformrc", ".m2/settings.xml",
		".gradle/init.gradle", ".gradle/gradle.properties",
	) {
		return startup
	}
	if strings.Contains(rest, "-packages/") &&
		(baseIs(rest, "usercustomize.py", "sitecustomize.py") || strings.HasSuffix(rest, ".pth")) {
		return startup
	}
	if lower := strings.ToLower(rest); isObeyed(lower) && !under(lower, ".config", ".direnv") {
		return startup
	}
	return home
}

func workspacePlace(p string) zone {
	lower := strings.ToLower(p)
	switch {
	case oneOf(p, ".", "*", ".*", ".[!.]*", "**"):
		return zoneRoot
	case under(lower, ".git/hooks") || strings.Contains(lower, "/.git/hooks/") || under(lower, ".githooks", ".husky"):
		return runner
	case under(lower, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".travis.yml", "jenkinsfile",
		"azure-pipelines.yml", ".gitea/workflows", ".forgejo/workflows", ".drone.yml", ".woodpecker", ".woodpecker.yml", "bitbucket-pipelines.yml", ".buildkite", ".github/codeowners", "codeowners", "docs/codeowners") || lower == ".github":
		return runner
	case under(lower, ".git") || strings.Contains(lower, "/.git/") || strings.HasSuffix(lower, "/.git"):
		return git
	case isObeyed(lower):
		return obeyed //control:obeyed-files
	}
	return workspace
}

// couldBe lists the system paths that a glob may match.
func couldBe(pat string) []string {
	if pat == "" {
		return nil
	}
	re, ok := glob(path.Clean(pat), pattern.EntireString|pattern.Filenames|pattern.NoGlobStar)
	if !ok {
		return []string{"/"}
	}
	var out []string
	for _, p := range []string{
		"/etc", "/usr", "/bin", "/home", "/root", "/boot", "/lib", "/var", "/dev/sda", "/dev/nvme0n1", "/etc/passwd", "/etc/shadow",
		"/etc/sudoers", "/usr/bin", "/usr/lib", "/home/user", "~/.ssh", "/home/user/.ssh/id_rsa", "~/.ssh/id_rsa", "~/.npmrc",
		"~/.aws/credentials", "~/.git-credentials", ".git", ".git/objects", ".git/config", ".env", ".github/workflows/ci.yml", "/proc/self/environ", "/var/lib/postgresql",
	} {
		if re.MatchString(p) {
			out = append(out, p)
		}
	}
	return out
}

func glob(pat string, mode pattern.Mode) (*regexp.Regexp, bool) {
	if !isKnown(pat) || len(pat) > 4096 {
		return nil, false
	}
	expr, err := pattern.Regexp(pat, mode|pattern.ExtendedOperators)
	if err != nil {
		return nil, false
	}
	re, err := regexp.Compile(expr)
	return re, err == nil
}

// obeyedFiles are the names, in lower case, of files that tools apply automatically,
// anywhere in a project: settings of agents and editors, of package managers and their
// wrappers, of shells and interpreters.
var obeyedFiles = words(
	`.envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pnp.loader.mjs pip.conf .pip.conf .gitattributes .gitmodules .gitconfig
	.mcp.json mcp.json .cursorrules .windsurfrules .clinerules .roorules .aider.conf.yml agents.md claude.md
	claude.local.md gemini.md copilot-instructions.md
	.devcontainer.json .gitpod.yml lefthook.yml lefthook.yaml lefthook.toml .pre-commit-config.yaml
	.overcommit.yml conftest.py sitecustomize.py usercustomize.py
	.pythonrc .bazelrc .rspec .irbrc .pryrc .gdbinit .lldbinit .vimrc .exrc .nvimrc .nvim.lua .dir-locals.el
	.bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile
	mise.toml .mise.toml .rprofile .ocamlinit .ghci .wgetrc .curlrc .psqlrc .sqliterc .inputrc .hgrc
	.terraformrc .ansible.cfg ansible.cfg init.gradle
	nuget.config .condarc .netrc .pypirc .screenrc .tmux.conf .xinitrc .mailrc .lesskey dependabot.yml renovate.json .nycrc.js action.yml action.yaml`,
)

// obeyedDirs are directories of such files.
var obeyedDirs = words(
	`.vscode .claude .cursor .windsurf .continue .codex .gemini .roo .clinerules .aider .zed .fleet .devcontainer .idea .mvn .cargo .hg .bundle
	gradle/wrapper .yarn/releases .yarn/plugins node_modules/.bin .venv/bin venv/bin .config .ssh .direnv .githooks .husky .lefthook .github/prompts .github/instructions .github/chatmodes`,
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

func isObeyed(p string) bool {
	base := path.Base(p)
	if obeyedFiles[base] || strings.HasSuffix(base, ".pth") || p == "tools/bazel" {
		return true
	}
	for dir := p; dir != "." && dir != "/"; dir = path.Dir(dir) {
		parent := path.Base(path.Dir(dir))
		if last := path.Base(dir); obeyedDirs[last] || obeyedDirs[parent+"/"+last] {
			return base != "extensions.json" && base != ".gitignore"
		}
	}
	return false
}

// secretTier is the sensitivity of the credentials in a file.
type secretTier int

// The tiers of secrets.
const (
	noSecret      secretTier = iota
	ownSecret                // environment and key files of the workspace
	machineSecret            // keys and tokens of the user or the machine
)

// secretOf returns the tier of a path: machineSecret for keys and tokens of the user or
// the machine, ownSecret for environment and key files of the workspace.
func secretOf(p string) secretTier {
	p = clean(p)
	if strings.HasPrefix(p, "/proc/") && baseIs(p, "environ", "mem", "maps") {
		return machineSecret
	}
	switch {
	case strings.HasSuffix(p, ".pub") || strings.HasSuffix(p, "known_hosts"):
		return noSecret
	case under(p, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/var/run/secrets", "/run/secrets", "/etc/ssl/private", "/etc/kubernetes/admin.conf", "/etc/krb5.keytab"),
		strings.HasPrefix(p, "/etc/ssh/ssh_host_"):
		return machineSecret
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && homeSecret(rest) {
		return machineSecret
	}
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
		return secretBase(path.Base(p), machineSecret)
	}
	for _, dir := range []string{"testdata", "fixtures", "test", "tests", "examples", "example", "__fixtures__", "docs"} {
		if strings.HasPrefix(p, dir+"/") || strings.Contains(p, "/"+dir+"/") {
			return noSecret
		}
	}
	if under(p, ".ssh", ".aws") || strings.Contains(p, "/.ssh/") || p == ".git/config" || p == ".git-credentials" {
		return ownSecret
	}
	return secretBase(path.Base(p), ownSecret)
}

func baseIs(p string, names ...string) bool { return slices.Contains(names, path.Base(p)) }

func homeSecret(rest string) bool {
	return under(rest, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf",
		".docker/config.json", ".config/gh", ".config/gcloud", ".config/hub", ".config/doctl", ".config/op", ".cargo/credentials", ".cargo/credentials.toml",
		".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".boto", ".s3cfg", ".vault-token", ".terraform.d/credentials.tfrc.json",
		".password-store", ".local/share/keyrings", "Library/Keychains", ".mozilla", ".config/google-chrome", ".bash_history", ".zsh_history",
		".yarnrc.yml", ".composer/auth.json", ".config/git/credentials", ".heroku", ".fly", ".wrangler", ".databrickscfg", ".snowsql", ".env", ".electrum", ".bitcoin", ".ethereum") &&
		rest != ".ssh/config"
}

// secretBase returns the tier of a file by its base name.
func secretBase(base string, tier secretTier) secretTier {
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env."):
		if sampleName(base) {
			return noSecret
		}
		return min(tier, ownSecret)
	case startsWith(base, "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"):
		return tier
	case oneOf(base, ".netrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd", ".envrc", "credentials.json",
		"kubeconfig", "secrets.yml", "secrets.yaml", "secrets.json", "master.key"),
		base == ".npmrc" && tier == machineSecret:
		return min(tier, ownSecret)
	case endsWith(base, ".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks"):
		if startsWith(base, "ca.", "ca-") || holds(base, "cert", "public", "chain") {
			return noSecret
		}
		return ownSecret
	}
	return noSecret
}

func holds(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func sampleName(base string) bool {
	return holds(base, "example", "sample", "template", "dist", "schema", "defaults", "test")
}

func hunts(term string) bool {
	t := strings.ToLower(term)
	if _, after, ok := strings.Cut(t, "begin"); ok && strings.Contains(after, "private") {
		return true
	}
	return holds(
		t, "akia", "private key", "begin rsa", "begin openssh", "_rsa", "id_ed25519", ".pem", ".key", "password",
		"passwd", "secret", "token", "ghp_", "github_pat", "credential", "apikey", "api_key", "aws_", ".env",
		"kubeconfig", ".p12", ".pfx", "wallet", "kdbx", "authorized_keys", "netrc", "npmrc",
	)
}

func secretName(name string) bool {
	n := strings.ToUpper(name)
	return holds(n, "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "APIKEY", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL",
		"AUTH_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "SSH_KEY", "DEPLOY_KEY", "DATABASE_URL", "WEBHOOK_URL", "CONNECTION_STRING") ||
		endsWith(n, "_PAT", "_PW") || oneOf(n, "PGPASS", "PAT")
}

// secretVariables are common environment variables that hold credentials.
var secretVariables = []string{
	"GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "NODE_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET",
	"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "CI_JOB_TOKEN", "DATABASE_URL", "SECRET_KEY",
	"TOKEN",
}

// secretsBy returns the names of variables with a prefix: an unknown one, and those that
// hold credentials.
func secretsBy(prefix string) []string {
	names := []string{prefix + unknown}
	for _, n := range secretVariables {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	return names
}

// metadata reports whether an address is a cloud metadata service, which hands out
// credentials to a machine, in any notation: a name, a dotted, decimal, octal or
// hexadecimal number, or a mapped IPv6 address.
func metadata(address string) bool {
	host := hostOf(address)
	if oneOf(host, "metadata", "metadata.google.internal", "metadata.azure.internal", "metadata.tencentyun.com",
		"instance-data", "instance-data.ec2.internal") {
		return true
	}
	ip, ok := looseAddress(host)
	return ok && oneOf(ip.String(), "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254")
}

// hostOf returns the host of an address or a URL, in lower case.
func hostOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
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

// looseAddress parses an address like the C library: 1 to 4 decimal, octal or hexadecimal
// numbers, of which the last fills the remaining bytes.
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

// local reports whether an address is on this machine.
func local(s string) bool {
	host := hostOf(s)
	return oneOf(host, "localhost", "127.0.0.1", "0.0.0.0", "::1") || strings.HasSuffix(host, ".localhost")
}
