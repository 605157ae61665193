package shell

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/pattern"
)

// zone is the location of a path.
type zone string

// The zones of the file system.
const (
	workspace   zone = "workspace" // in the working directory
	nowhere     zone = "nowhere"   // /dev/null and similar
	temp        zone = "temp"      // in a temporary directory
	zoneRoot    zone = "root"      // the working directory itself, or all files in it
	git         zone = "git"       // git's own directory
	runner      zone = "runner"    // workflow files, and files read by later steps
	obeyed      zone = "obeyed"    // settings that tools apply automatically
	above       zone = "above"     // above the working directory
	home        zone = "home"      // in a home directory
	startup     zone = "startup"   // read by programs at startup
	outside     zone = "outside"   // elsewhere on the machine
	system      zone = "system"    // a system directory
	vital       zone = "vital"     // a file or directory that the system needs to run
	device      zone = "device"    // a raw device
	zoneUnknown zone = "unknown"   // known only at run time
)

// runnerFiles is the directory of the files by which a step communicates with the runner.
const runnerFiles = "/github/file_commands/"

// The other names of the workspace, of the root directory and of home directories.
var (
	workspaceNames = lazily(`^(?:/proc/self/cwd|/github/workspace|/workspace)(/|$)`)
	rootNames      = lazily(`^/proc/[^/]+/root(/|$)`)
	homeNames      = lazily(`^(?:(?:/home|/Users|/export/home)/[^/]+|(?:/var)?/root)(/|$)`)
)

// clean normalizes a path: "~" for every home directory, "." for the workspace, and no
// redundant slashes or dots.
func clean(p string) string {
	p = strings.ReplaceAll(strings.TrimPrefix(p, "file://"), "\\", "/")
	p = workspaceNames().ReplaceAllString(p, ".$1")
	p = rootNames().ReplaceAllString(p, "/$1")
	switch {
	case p == "":
		return "."
	case len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] == '/'): // C:/
		p = "/" + p[2:]
	case p == "~" || strings.HasPrefix(p, "~/"):
		p = "/home/~" + p[1:]
	}
	return homeNames().ReplaceAllString(path.Clean(p), "~$1")
}

func under(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return p == d || strings.HasPrefix(p, d) && p[len(d)] == '/'
	})
}

// zoneOf returns the zone of a clean path. Everything in a directory is the directory.
func zoneOf(p string) zone {
	if !isKnown(p) && strings.IndexAny(p, all) < 2 {
		return zoneUnknown
	}
	dir, base := path.Split(p)
	if strings.Contains(base, "*") && strings.Trim(base, "*.[!]") == "" && oneOf(dir, "/", "~/", "") {
		p = path.Clean(dir)
	}
	if at := zone(firstPlace("place", p)); at != obeyed {
		return at
	}
	return obeyed //control:obeyed-files
}

// placeRow is a line of the tables that sorts paths. Words without a wildcard are looked up as they
// stand there, since patterns of hundreds of names take long.
type placeRow struct {
	is    string // zone or tier of its paths
	words map[string]bool
	depth int            // maximum number of slashes in a word
	rest  *regexp.Regexp // patterns with a wildcard; nil if there are none
}

// places are the lines of the tables that sort paths.
var places = sync.OnceValue(func() map[string][]placeRow {
	out := map[string][]placeRow{}
	for _, kind := range []string{"place", "secret"} {
		for _, r := range rowsOf(kind, "file") {
			out[kind] = append(out[kind], newPlaceRow(r[0], r[1][0]))
		}
	}
	return out
})

func newPlaceRow(words []string, is string) placeRow {
	row := placeRow{is: is, words: map[string]bool{}}
	forms := strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\[\*\]`, `\*`, `\*`, `[^/]*`)
	var rest []string
	for _, word := range words {
		if !strings.Contains(strings.TrimPrefix(word, "**/"), "*") {
			row.words[strings.ToLower(word)] = true
			row.depth = max(row.depth, strings.Count(word, "/"))
			continue
		}
		name, below := strings.CutSuffix(word, "/")
		form := forms.Replace(regexp.QuoteMeta(name))
		if inside, ok := strings.CutSuffix(form, `/[^/]*`); ok && !below {
			form = inside + `/.+`
		} else if below {
			form += `(?:/.*)?`
		}
		rest = append(rest, form)
	}
	if rest != nil {
		row.rest = regexp.MustCompile(`(?is)^(?:` + strings.Join(rest, "|") + `)$`)
	}
	return row
}

// has reports whether a clean path is one of the line's.
func (r placeRow) has(p string) bool {
	low := strings.ToLower(p)
	found := r.named("", low) || r.rest != nil && r.rest.MatchString(p)
	for more := true; more && !found; _, low, more = strings.Cut(low, "/") {
		found = r.named("**/", low)
	}
	return found
}

// named reports whether the line has a path behind a prefix, or a directory that it is or is in.
// It looks at the first parts of the path alone, as many as a word can have.
func (r placeRow) named(prefix, p string) bool {
	for at, n := 0, 0; n <= r.depth; n++ {
		next := strings.IndexByte(p[at:], '/')
		if next < 0 {
			return r.words[prefix+p] || p != "" && r.words[prefix+p+"/"]
		}
		if at += next; at > 0 && r.words[prefix+p[:at+1]] {
			return true
		}
		at++
	}
	return false
}

// firstPlace returns the zone, or the tier of a secret, of a clean path.
func firstPlace(kind, p string) string {
	for _, row := range places()[kind] {
		if row.has(p) {
			return row.is
		}
	}
	return ""
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
	for _, p := range wordsIn("glob-targets") {
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

// secretTier is the sensitivity of the credentials in a file.
type secretTier int

// The tiers of secrets.
const (
	noSecret      secretTier = iota
	ownSecret                // environment and key files of the workspace
	machineSecret            // keys and tokens of the user or the machine
)

// secretOf returns the tier of a path.
func secretOf(p string) secretTier {
	return map[string]secretTier{"own": ownSecret, "machine": machineSecret}[firstPlace("secret", clean(p))]
}

func holds(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func hunts(term string) bool { return holds(strings.ToLower(term), wordsIn("hunted-parts")...) }

func secretName(name string) bool {
	n := strings.ToUpper(name)
	return holds(n, wordsIn("secret-parts")...) || endsWith(n, "_PAT", "_PW") || oneOf(n, "PGPASS", "PAT")
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
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
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
