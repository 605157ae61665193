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
	case under(p, wordsIn("places-vital-below")...):
		return vital
	case inList("places-vital", p):
		return vital
	case under(p, wordsIn("places-startup")...):
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
	if under(rest, wordsIn("places-cache-home")...) {
		return temp
	}
	if under(rest, wordsIn("places-startup-home")...) {
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
	case under(lower, wordsIn("places-runner")...) || lower == ".github":
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

// isObeyed reports whether tools apply a file automatically, anywhere in a project, by its name
// in lower case: settings of agents and editors, of package managers and their wrappers, of
// shells and interpreters.
func isObeyed(p string) bool {
	base := path.Base(p)
	if inList("obeyed-files", base) || strings.HasSuffix(base, ".pth") || p == "tools/bazel" {
		return true
	}
	for dir := p; dir != "." && dir != "/"; dir = path.Dir(dir) {
		parent := path.Base(path.Dir(dir))
		if last := path.Base(dir); inList("obeyed-dirs", last) || inList("obeyed-dirs", parent+"/"+last) {
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
	return under(rest, wordsIn("secrets-home")...) &&
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
	case inList("secret-files", base),
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
	return holds(t, "private key", "begin rsa", "begin openssh") || holds(t, wordsIn("hunted-parts")...)
}

func secretName(name string) bool {
	n := strings.ToUpper(name)
	return holds(n, wordsIn("secret-parts")...) || endsWith(n, "_PAT", "_PW") || oneOf(n, "PGPASS", "PAT")
}

// secretsBy returns the names of variables with a prefix: an unknown one, and those that
// hold credentials.
func secretsBy(prefix string) []string {
	names := []string{prefix + unknown}
	for _, n := range wordsIn("secret-variables") {
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
	if inList("metadata-hosts", host) {
		return true
	}
	ip, ok := looseAddress(host)
	return ok && inList("metadata-addresses", ip.String())
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
