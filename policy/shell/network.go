package shell

import (
	"path"
	"strings"
)

// networkCommand follows programs that reach the network.
func (m *machine) networkCommand(c command) (string, bool) {
	switch c.name {
	case "curl", "wget", "wget2", "http", "https", "xh", "aria2c", "axel", "fetch", "lwp-download", "lynx", "w3m", "links", "elinks", "curlie":
		return m.download(c), true
	case "nc", "ncat", "netcat", "socat", "telnet", "nmap-ncat":
		return m.netcat(c), true
	case "ssh", "mosh", "autossh", "sshpass", "rsh", "slogin", "dbclient":
		return m.ssh(c), true
	case "scp", "sftp", "ftp", "lftp", "rcp", "tftp", "rclone", "croc", "wormhole", "magic-wormhole":
		return m.remoteCopy(c, c.operands("i", "P", "o", "S", "F", "l", "c", "J")), true
	case "dig", "nslookup", "host", "drill", "ping", "ping6", "traceroute", "tracepath", "mtr", "whois", "getent", "kdig", "resolvectl":
		m.r.network = m.r.network || c.name != "getent"
		m.sendsSecret(c, "")
		return unknown, true
	case "mail", "mailx", "sendmail", "mutt", "msmtp", "swaks":
		m.r.network = true
		m.r.hit("network-send", c.line())
		m.sendsSecret(c, m.stdin())
		return unknown, true
	case "ngrok", "cloudflared", "localtunnel", "lt", "bore", "frpc", "frps", "chisel", "zrok", "inlets", "pagekite", "telebit", "serveo", "expose", "tailscale":
		m.tunnel(c)
		return unknown, true
	case "openssl":
		if !c.exactly("s_client", "s_server") {
			return "", false
		}
		return m.netcat(c), true
	case "youtube-dl", "yt-dlp", "gdown", "gallery-dl", "you-get":
		return m.download(c), true
	case "nmap", "masscan", "zmap", "hydra", "tcpdump", "tshark", "arpspoof", "ettercap", "bettercap":
		m.r.network = true
		m.r.hit("listens", c.line())
		return unknown, true
	case "http-server", "serve", "php-server", "live-server", "miniserve", "webfs", "darkhttpd":
		m.r.hit("serves", c.line())
		return unknown, true
	}
	return "", false
}

func (m *machine) tunnel(c command) {
	if c.asksHelp() || c.exactly("version", "status", "config", "--version") {
		return
	}
	m.r.network = true
	m.r.hit("tunnel", c.line())
}

// sendsSecret reports, and records, that a command sends a credential out.
func (m *machine) sendsSecret(c command, in string) bool {
	found := strings.Contains(in, secret)
	for _, a := range c.args {
		found = found || strings.Contains(a.s, secret)
		for _, p := range append(partsOf(a.s), pathsIn(a.s)...) {
			found = found || strings.ContainsAny(p, "./~_") && secretPath(m.resolve(p)) > None || m.files[m.resolve(p)] != "" && strings.Contains(m.files[m.resolve(p)], secret)
		}
	}
	if found {
		m.r.network = true
		m.r.hit("secret-sent", c.line())
	}
	return found
}

// served follows an interpreter that is started as a web server.
func (m *machine) served(c command) (string, bool) {
	address, ok := c.value("S")
	if c.name != "php" || !ok {
		return "", false
	}
	if !localAddress(address) || strings.HasPrefix(address, "0.0.0.0") {
		m.r.network = true
		m.r.hit("listens", c.line())
	}
	return unknown, true
}

// partsOf is an argument and what follows a "=", "@" or ":" in it.
func partsOf(s string) []string {
	out := []string{s}
	for i, c := range s {
		if (c == '=' || c == '@' || c == ':') && i+1 < len(s) && len(out) < 8 {
			out = append(out, s[i+1:])
		}
	}
	return out
}

func localAddress(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		rest = s
	}
	host := strings.ToLower(rest)
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndex(host, "@"); i >= 0 {
		return false
	}
	if strings.HasPrefix(host, "[::1]") {
		return true
	}
	host, _, _ = strings.Cut(host, ":")
	return host == "localhost" || host == "127.0.0.1" || host == "0.0.0.0" || strings.HasSuffix(host, ".localhost")
}

var downloadTakes = []string{"o", "d", "H", "X", "u", "A", "e", "F", "T", "b", "c", "x", "m", "w", "U", "E", "K", "r", "y", "Y", "z", "t", "P", "Q", "D", "C", "a", "i",
	"output", "data", "header", "request", "user", "user-agent", "referer", "form", "upload-file", "cookie", "cookie-jar", "proxy", "max-time", "write-out", "data-raw", "data-binary",
	"data-urlencode", "json", "retry", "connect-timeout", "output-dir", "output-document", "directory-prefix", "post-data", "post-file", "method", "body-data", "body-file", "cacert", "cert", "key",
	"unix-socket", "resolve", "interface", "range", "config", "netrc-file", "dir", "out", "tries", "timeout", "retry-delay", "retry-max-time", "max-redirs", "limit-rate"}

func (m *machine) download(c command) string {
	if c.asksHelp() || len(c.args) == 0 || c.args[0].s == "--help" && len(c.args) == 2 {
		return unknown
	}
	m.r.network = true
	takes := downloadTakes
	if strings.HasPrefix(c.name, "wget") {
		takes = append([]string{"O"}, takes...)
	}
	urls := c.operands(takes...)
	local := len(urls) > 0
	for _, u := range urls {
		local = local && localAddress(u.s)
	}
	for _, u := range urls {
		if localAddress(u.s) && (strings.Contains(u.s, ":2375") || strings.Contains(u.s, ":2376")) {
			m.r.hit("container-control", u.s)
		}
	}
	if v, ok := c.value("unix-socket"); ok {
		m.r.hit("container-control", v)
	}
	for _, u := range urls {
		if metadataAddress(u.s) {
			m.r.hit("secret-read", u.s)
		}
	}
	m.sendsSecret(c, "")
	if m.sends(c) {
		text := ""
		if m.given() && (strings.Contains(c.line(), "@-") || c.exactly("-", "-T-")) {
			text = m.stdin()
		}
		if !m.sendsSecret(c, text) || local {
			if local {
				m.r.hit("local-send", c.line())
			} else {
				m.r.hit("network-send", c.line())
			}
		}
	} else if !local {
		m.r.hit("download", c.line())
	}
	if v, ok := c.value("config", "K"); ok && c.name == "curl" && v != "" {
		m.r.hit("opaque-request", v)
	}
	for _, o := range []string{"use-askpass", "execute"} {
		if v, ok := c.value(o); ok && o == "use-askpass" {
			m.nested(v)
		}
	}
	return m.saved(c, urls)
}

// sends reports whether a request carries something out.
func (m *machine) sends(c command) bool {
	method, ok := c.value("X", "request", "method")
	if ok && strings.Contains("POST PUT PATCH DELETE", strings.ToUpper(method)) {
		return true
	}
	if strings.HasPrefix(c.name, "wget") {
		return c.has("post-data", "post-file", "body-data", "body-file")
	}
	if c.name == "http" || c.name == "xh" || c.name == "https" {
		return c.exactly("POST", "PUT", "PATCH", "DELETE")
	}
	for _, a := range c.args {
		s := a.s
		for _, o := range []string{"--data", "--form", "--upload-file", "--json", "--url-query"} {
			if strings.HasPrefix(s, o) {
				return true
			}
		}
		if c.name == "curl" && len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.ContainsAny(s, "dFT") && !strings.ContainsAny(s[:strings.IndexAny(s, "dFT")], "oHXuAebcxmwK") {
			return true
		}
	}
	return false
}

// saved is what a download prints, after its files are remembered.
func (m *machine) saved(c command, urls []arg) string {
	names := []string{"o", "output"}
	if strings.HasPrefix(c.name, "wget") {
		names = []string{"O", "output-document"}
	} else if c.name == "aria2c" {
		names = []string{"o", "out"}
	}
	dir, _ := c.value("P", "directory-prefix", "output-dir", "dir")
	file, ok := c.value(names...)
	switch {
	case ok && file == "-", ok && file == "/dev/stdout":
		return remote
	case ok:
		if dir != "" {
			file = dir + "/" + file
		}
		p := m.resolve(file)
		m.write(p)
		m.store(p, remote, false)
		return ""
	case baseIs(c.name, "wget", "wget2", "aria2c", "axel", "lwp-download") || c.has("O", "remote-name", "remote-name-all", "J"),
		baseIs(c.name, "http", "https", "xh") && c.has("d", "download"):
		for _, u := range urls {
			base := path.Base(strings.SplitN(u.s, "?", 2)[0])
			p := m.resolve(path.Join(dir, base))
			m.write(p)
			m.store(p, remote, false)
		}
		return ""
	}
	return remote
}

func (m *machine) netcat(c command) string {
	if c.asksHelp() {
		return unknown
	}
	m.r.network = true
	in := ""
	if m.given() {
		in = m.stdin()
	}
	text := c.line()
	switch {
	case m.sendsSecret(c, in):
	case c.has("e", "exec", "sh-exec", "lua-exec") && c.name != "telnet" || c.has("c") && (c.name == "ncat" || c.name == "nc") && len(c.operands()) > 0 && dangerousIn(c):
		m.r.hit("reverse-shell", text)
	case c.name == "socat" && (strings.Contains(strings.ToUpper(text), "EXEC:") || strings.Contains(strings.ToUpper(text), "SYSTEM:")):
		m.r.hit("reverse-shell", text)
	case c.has("l", "listen"), strings.Contains(strings.ToUpper(text), "LISTEN"):
		m.r.hit("listens", text)
	case c.has("z"):
		if ops := c.operands("w", "i", "p", "s"); len(ops) == 0 || !localAddress(ops[0].s) {
			m.r.hit("download", text)
		}
	default:
		m.r.hit("network-send", text)
	}
	for _, a := range c.args {
		for _, p := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
			if _, code, ok := strings.Cut(a.s, p); ok {
				m.nested(strings.Trim(strings.SplitN(code, ",", 2)[0], `"'`))
			}
		}
	}
	if isInteractive(in) {
		m.r.hit("reverse-shell", text)
	}
	return remote
}

func dangerousIn(c command) bool {
	for _, a := range c.args {
		if isShell(programName(strings.Fields(a.s + " x")[0])) {
			return true
		}
	}
	return false
}

// isInteractive recognizes the output of an interactive shell.
func isInteractive(in string) bool { return strings.Contains(in, shellSession) }

// shellSession is what an interactive shell prints.
const shellSession = "\x01$ "

func (m *machine) ssh(c command) string {
	if c.asksHelp() || c.exactly("-V") || c.exactly("-G") || c.exactly("-Q") {
		return unknown
	}
	if c.name == "sshpass" {
		for i, a := range c.args {
			if programName(a.s) == "ssh" || programName(a.s) == "scp" || programName(a.s) == "rsync" {
				return m.exec(c.args[i:])
			}
		}
	}
	m.r.network = true
	m.r.hit("remote-machine", c.line())
	for _, a := range c.args {
		for _, o := range []string{"ProxyCommand=", "LocalCommand=", "KnownHostsCommand=", "ProxyCommand ", "LocalCommand "} {
			if _, code, ok := strings.Cut(a.s, o); ok {
				m.r.hit("program-runs", c.line())
				m.nested(code)
			}
		}
	}
	if c.has("R") && !c.has("Q") {
		m.r.hit("tunnel", c.line())
	}
	ops := c.args
	if at := xargsCommand(c, strings.Fields("p i l o F L R D J b c E e I m O S W w B Q")); at >= 0 {
		ops = c.args[at:]
	}
	in := ""
	if m.given() {
		in = m.stdin()
	}
	if strings.Contains(in, secret) || argsSecret(c) {
		m.r.hit("secret-sent", c.line())
	}
	if len(ops) > 1 {
		m.in = &input{text: in}
		m.nested(strings.Join(texts(ops[1:]), " "))
	} else if in != "" {
		m.in = &input{text: in}
		m.stdinProgram()
	}
	return remote
}

// fetched remembers that a file of another machine was copied to a file or
// into a directory.
func (m *machine) fetched(target, file string) {
	m.store(m.resolve(target+"/"+path.Base(file)), remote, false)
	if p := m.resolve(target); p != "." {
		m.store(p, remote, false)
	}
}

func argsSecret(c command) bool {
	for _, a := range c.args {
		if strings.Contains(a.s, secret) {
			return true
		}
	}
	return false
}

func (m *machine) remoteCopy(c command, ops []arg) string {
	if c.asksHelp() {
		return unknown
	}
	m.r.network = true
	if v, ok := c.value("S"); ok && c.name == "scp" {
		m.nested(v)
	}
	for _, a := range c.args {
		if _, code, ok := strings.Cut(a.s, "ProxyCommand="); ok {
			m.r.hit("program-runs", c.line())
			m.nested(code)
		}
	}
	m.r.hit("remote-copy", c.line())
	for i, a := range ops {
		if i == len(ops)-1 && i > 0 && strings.Contains(ops[0].s, ":") {
			m.writeTarget(a.s, []arg{{s: path.Base(ops[0].s)}})
			for _, from := range ops[:i] {
				_, file, _ := strings.Cut(from.s, ":")
				m.fetched(a.s, file)
			}
			continue
		}
		if i < len(ops)-1 || len(ops) == 1 {
			for _, p := range m.places(a) {
				if !strings.Contains(a.s, ":") && secretPath(p) > None {
					m.r.hit("secret-sent", c.line())
				}
			}
		}
	}
	text := ""
	if m.given() {
		text = m.stdin()
	}
	if v, ok := c.value("e", "c"); ok && c.name == "lftp" {
		text += " " + v
	}
	found := strings.Contains(text, secret)
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;'\"", r) }) {
		found = found || strings.ContainsAny(w, "./~_") && secretPath(m.resolve(w)) > None
	}
	if found {
		m.r.hit("secret-sent", c.line())
	}
	return unknown
}
