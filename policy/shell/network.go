package shell

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// sendsSecret reports, and records, that a command sends a credential out.
func sendsSecret(c *command, f *finding, in string) bool {
	sent := strings.Contains(in, secret) || c.holdsSecret()
	for _, a := range c.List {
		for _, p := range append(partsOf(a.S, 8), pathsIn(a.S)...) {
			text, _ := c.file(p)
			sent = sent || strings.ContainsAny(p, "./~_") && zone.SecretOf(c.resolve(p)) > zone.NoSecret || strings.Contains(text, secret)
		}
	}
	if sent {
		f.network = true
		f.hit("secret-sent", c.line())
	}
	return sent
}

// asksName is for programs that look up names and addresses.
func asksName(c *command, f *finding) string {
	f.network = f.network || !c.is("getent")
	sendsSecret(c, f, "")
	return unknown
}

func mail(c *command, f *finding) string {
	f.network = true
	f.hit("network-send", c.line())
	sendsSecret(c, f, c.stdin())
	return unknown
}

// download is for programs that fetch addresses.
func download(c *command, f *finding) string {
	if c.asksHelp() || len(c.List) == 0 || c.At(0) == "--help" && len(c.List) == 2 {
		return unknown
	}
	f.network = true
	takes := tables().takes["curl"]
	if strings.HasPrefix(c.name, "wget") {
		takes = append([]string{"O"}, takes...)
	}
	urls := c.OperandsAfter(takes...)
	local := len(urls) > 0
	for _, u := range urls {
		own := zone.Local(u.S)
		local = local && own
		if own && (strings.Contains(u.S, ":2375") || strings.Contains(u.S, ":2376")) {
			f.hit("container-control", u.S)
		}
		if zone.Metadata(u.S) {
			f.hit("secret-read", u.S)
		}
	}
	if v, ok := c.Value("unix-socket"); ok {
		f.hit("container-control", v)
	}
	rateRequest(c, f, local)
	if v, ok := c.Value("config", "K"); ok && c.is("curl") && v != "" {
		f.hit("opaque-request", v)
	}
	if v, ok := c.Value("use-askpass"); ok {
		c.nested(v)
	}
	return saved(c, urls)
}

// rateRequest rates what a request takes along.
func rateRequest(c *command, f *finding, local bool) {
	sendsSecret(c, f, "")
	if !sends(c) {
		if !local {
			f.hit("download", c.line())
		}
		return
	}
	text := ""
	if c.says("@-") || c.Exactly("-", "-T-") {
		text = c.givenText()
	}
	switch secret := sendsSecret(c, f, text); {
	case local:
		f.hit("local-send", c.line())
	case !secret:
		f.hit("network-send", c.line())
	}
}

// sends reports whether a request carries something out.
func sends(c *command) bool {
	if method, ok := c.Value("X", "request", "method"); ok && strings.Contains("POST PUT PATCH DELETE", strings.ToUpper(method)) {
		return true
	}
	switch {
	case strings.HasPrefix(c.name, "wget"):
		return c.Has("post-data", "post-file", "body-data", "body-file")
	case c.is("http", "xh", "https"):
		return c.Exactly("POST", "PUT", "PATCH", "DELETE")
	}
	for _, a := range c.List {
		s := a.S
		for _, o := range []string{"--data", "--form", "--upload-file", "--json", "--url-query"} {
			if strings.HasPrefix(s, o) {
				return true
			}
		}
		if at := strings.IndexAny(s, "dFT"); c.is("curl") && at > 0 && s[0] == '-' && s[1] != '-' && !strings.ContainsAny(s[:at], "oHXuAebcxmwK") {
			return true
		}
	}
	return false
}

// saved is what a download prints, after its files are remembered.
func saved(c *command, urls argv.List) string {
	keep := func(name string) {
		p := c.resolve(name)
		c.f.write(p)
		c.store(p, remote, false)
	}
	names := []string{"o", "output"}
	if strings.HasPrefix(c.name, "wget") {
		names = []string{"O", "output-document"}
	} else if c.is("aria2c") {
		names = []string{"o", "out"}
	}
	dir, _ := c.Value("P", "directory-prefix", "output-dir", "dir")
	file, ok := c.Value(names...)
	switch {
	case ok && oneOf(file, "-", "/dev/stdout"):
		return remote
	case ok:
		if dir != "" {
			file = dir + "/" + file
		}
		keep(file)
		return ""
	case c.is("wget", "wget2", "aria2c", "axel", "lwp-download"), c.Has("O", "remote-name", "remote-name-all", "J"), c.is("http", "https", "xh") && c.Has("d", "download"):
		for _, u := range urls {
			keep(path.Join(dir, path.Base(strings.SplitN(u.S, "?", 2)[0])))
		}
		return ""
	}
	return remote
}

// shellSession is what an interactive shell prints.
const shellSession = "\x01$ "

func netcat(c *command, f *finding) string {
	if c.asksHelp() {
		return unknown
	}
	f.network = true
	in, text := c.givenText(), c.line()
	upper := strings.ToUpper(text)
	shell := false
	for _, a := range c.List {
		shell = shell || isShellText(a.S)
	}
	switch {
	case sendsSecret(c, f, in):
	case c.Has("e", "exec", "sh-exec", "lua-exec") && !c.is("telnet"), c.Has("c") && c.is("ncat", "nc") && len(c.OperandsAfter()) > 0 && shell,
		c.is("socat") && (strings.Contains(upper, "EXEC:") || strings.Contains(upper, "SYSTEM:")):
		f.hit("reverse-shell", text)
	case c.Has("l", "listen"), strings.Contains(upper, "LISTEN"):
		f.hit("listens", text)
	case c.Has("z"):
		if ops := c.OperandsAfter("w", "i", "p", "s"); len(ops) == 0 || !zone.Local(ops[0].S) {
			f.hit("download", text)
		}
	default:
		f.hit("network-send", text)
	}
	for _, a := range c.List {
		for _, p := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
			if _, code, ok := strings.Cut(a.S, p); ok {
				c.nested(strings.Trim(strings.SplitN(code, ",", 2)[0], `"'`))
			}
		}
	}
	if strings.Contains(in, shellSession) {
		f.hit("reverse-shell", text)
	}
	return remote
}

// isShellText reports whether a command text starts a shell.
func isShellText(s string) bool { return in("shells", programName(firstWord(s+" x"))) }

func openssl(c *command, f *finding) string {
	switch {
	case c.Exactly("base64", "-base64", "enc") && c.Has("d") && c.Exactly("base64", "-base64", "-a"):
		return converted(c.with("base64", argv.Of("-d")), f, c.stdin())
	case c.Exactly("s_client", "s_server"):
		return netcat(c, f)
	}
	return plain(c, f)
}

func ssh(c *command, f *finding) string {
	if c.asksHelp() || c.Exactly("-V", "-G", "-Q") {
		return unknown
	}
	if c.is("sshpass") {
		for i, a := range c.List {
			if oneOf(programName(a.S), "ssh", "scp", "rsync") {
				return c.exec(c.List[i:])
			}
		}
	}
	f.network = true
	f.hit("remote-machine", c.line())
	sshPrograms(c)
	if c.Has("R") && !c.Has("Q") {
		f.hit("tunnel", c.line())
	}
	ops := c.List
	if at := c.Command("p", "i", "l", "o", "F", "L", "R", "D", "J", "b", "c", "E", "e", "I", "m", "O", "S", "W", "w", "B", "Q"); at >= 0 {
		ops = c.List[at:]
	}
	text := c.givenText()
	if strings.Contains(text, secret) || c.holdsSecret() {
		f.hit("secret-sent", c.line())
	}
	switch {
	case len(ops) > 1:
		c.in = &input{text: text}
		c.nested(strings.Join(ops[1:].Texts(), " "))
	case text != "":
		c.in = &input{text: text}
		c.stdinProgram()
	}
	return remote
}

// sshPrograms follows the options with which ssh runs a program here.
func sshPrograms(c *command) {
	for _, a := range c.List {
		for _, o := range []string{"ProxyCommand", "LocalCommand", "KnownHostsCommand"} {
			if _, code, ok := strings.Cut(a.S, o); ok && code != "" && (code[0] == '=' || code[0] == ' ') {
				c.runs(c, code[1:])
			}
		}
	}
}

// fetched remembers that a file of another machine was copied to a file or
// into a directory.
func fetched(c *command, target, file string) {
	c.store(c.resolve(target+"/"+path.Base(file)), remote, false)
	if p := c.resolve(target); p != "." {
		c.store(p, remote, false)
	}
}

func remoteCopy(c *command, f *finding) string {
	return copyBetween(c, f, c.OperandsAfter("i", "P", "o", "S", "F", "l", "c", "J"))
}

// copyBetween follows a copy from or to another machine.
func copyBetween(c *command, f *finding, ops argv.List) string {
	if c.asksHelp() {
		return unknown
	}
	f.network = true
	if v, ok := c.Value("S"); ok && c.is("scp") {
		c.nested(v)
	}
	sshPrograms(c)
	f.hit("remote-copy", c.line())
	sent := false
	for i, a := range ops {
		last := i == len(ops)-1
		if last && i > 0 && strings.Contains(ops[0].S, ":") {
			writeTarget(c, a.S, argv.Of(path.Base(ops[0].S)))
			for _, from := range ops[:i] {
				_, file, _ := strings.Cut(from.S, ":")
				fetched(c, a.S, file)
			}
			continue
		}
		if last && i > 0 || strings.Contains(a.S, ":") {
			continue
		}
		for _, p := range c.places(a) {
			sent = sent || zone.SecretOf(p) > zone.NoSecret
		}
	}
	if sent || copiesSecret(c) {
		f.hit("secret-sent", c.line())
	}
	return unknown
}

// copiesSecret reports whether the commands that a copying program is given
// name a credential.
func copiesSecret(c *command) bool {
	text := c.givenText()
	if v, ok := c.Value("e", "c"); ok && c.is("lftp") {
		text += " " + v
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;'\"", r) }) {
		if strings.ContainsAny(w, "./~_") && zone.SecretOf(c.resolve(w)) > zone.NoSecret {
			return true
		}
	}
	return strings.Contains(text, secret)
}

// forge follows the clients of forges.
func forge(c *command, f *finding) string {
	if !c.Exactly("api") {
		return subcommands(c, f)
	}
	f.network = true
	method, ok := c.Value("X", "method")
	switch {
	case strings.EqualFold(method, "DELETE"):
		f.hit("remote-delete", c.line())
	case ok && !strings.EqualFold(method, "GET"), c.Has("f", "F", "field", "raw-field", "input"):
		posted(c, f)
		f.hit("remote-change", c.line())
	}
	return remote
}

// posted looks at texts that are posted for others to read.
func posted(c *command, f *finding) {
	switch {
	case c.holdsSecret() || strings.Contains(c.givenText(), secret):
		f.hit("secret-sent", c.line())
	case c.Exactly("gist", "comment", "create", "upload", "edit"):
		sendsSecret(c, f, "")
	}
}

// released remembers the files of a release that are downloaded by name.
func released(c *command) {
	if !c.Exactly("release") || !c.Exactly("download") {
		return
	}
	dir, _ := c.Value("D", "dir")
	for _, options := range [][]string{{"O", "output"}, {"p", "pattern"}} {
		if file, ok := c.Value(options...); ok && file != "-" {
			c.store(c.resolve(path.Join(dir, file)), remote, false)
		}
	}
}

// keys is for programs that keep keys.
func keys(c *command, f *finding) string {
	gpg := strings.HasPrefix(c.name, "gpg")
	switch {
	case gpg && c.Has("export-secret-keys", "export-secret-subkeys"):
		f.hit("secret-read", c.line())
		return secret
	case gpg && c.Has("recv-keys", "import", "send-keys", "delete-secret-keys", "refresh-keys"), c.is("ssh-keygen") && !c.Has("l", "F", "Y"), c.is("ssh-add") && !c.Has("l", "L"):
		f.hit("key-change", c.line())
	}
	return unknown
}

// announce is for programs that show a text to others.
func announce(c *command, f *finding) string {
	if c.holdsSecret() {
		f.hit("secret-shown", c.line())
	}
	return ""
}
