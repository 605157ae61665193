package shell

import (
	"path"
	"strings"
)

func sendsSecret(c *command, in string) bool {
	sent := strings.Contains(in, secret) || c.holdsSecret()
	for _, a := range c.list {
		for _, p := range append(partsOf(a.s, 8), pathsIn(a.s)...) {
			text := c.made[c.resolve(p)]
			sent = sent || strings.ContainsAny(p, "./~_") && secretOf(c.resolve(p)) > noSecret || strings.Contains(text, secret)
		}
	}
	if sent {
		c.found.network = true
		c.hit("secret-sent")
	}
	return sent
}

func asksName(c *command) string {
	c.found.network = c.found.network || !c.is("getent")
	sendsSecret(c, "")
	return unknown
}

func mail(c *command) string {
	c.found.network = true
	c.hit("network-send")
	sendsSecret(c, c.stdin())
	return unknown
}

// download handles programs that fetch URLs.
func download(c *command) string {
	if c.asksHelp() || len(c.list) == 0 || c.at(0) == "--help" && len(c.list) == 2 {
		return unknown
	}
	c.found.network = true
	takes := tables().Takes["curl"]
	if strings.HasPrefix(c.name, "wget") {
		takes = append([]string{"O"}, takes...)
	}
	urls := c.operandsAfter(takes...)
	if c.is("http", "https", "xh") {
		urls = requestURL(urls)
	}
	here := len(urls) > 0
	for _, u := range urls {
		own := local(u.s) || c.is("http", "https", "xh") && strings.HasPrefix(u.s, ":")
		here = here && own
		if own && (strings.Contains(u.s, ":2375") || strings.Contains(u.s, ":2376")) {
			c.found.hit("container-control", u.s)
		}
		if metadata(u.s) {
			c.found.hit("secret-read", u.s)
		}
	}
	if v, ok := c.option("unix-socket"); ok {
		c.found.hit("container-control", v)
	}
	rateRequest(c, here)
	if v, ok := c.option("config", "K"); ok && c.is("curl") && v != "" {
		c.found.hit("opaque-request", v)
	}
	return saveDownload(c, urls)
}

// requestURL returns the URL among the operands of httpie, which may follow a method and
// precede fields.
func requestURL(ops list) list {
	if len(ops) > 1 && strings.ToUpper(ops[0].s) == ops[0].s &&
		strings.Trim(ops[0].s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		ops = ops[1:]
	}
	return ops[:min(1, len(ops))]
}

// rateRequest rates a request and the data that it sends.
func rateRequest(c *command, local bool) {
	sendsSecret(c, "")
	if !sends(c) {
		if !local {
			c.hit("download")
		}
		return
	}
	text := ""
	if c.says("@-") || c.exactly("-", "-T-") {
		text = c.givenText()
	}
	switch secret := sendsSecret(c, text); {
	case local: // probably a test of the project, but some services hold data
		if c.says("DELETE") && (c.says("_all", "*") || c.says(":9200")) {
			c.hit("local-send")
		}
	case !secret:
		c.hit("network-send")
	}
}

// sends reports whether a request sends data.
func sends(c *command) bool {
	if method, ok := c.option("X", "request", "method"); ok &&
		strings.Contains("POST PUT PATCH DELETE", strings.ToUpper(method)) {
		return true
	}
	switch {
	case strings.HasPrefix(c.name, "wget"):
		return c.has("post-data", "post-file", "body-data", "body-file")
	case c.is("http", "xh", "https"):
		return c.exactly("POST", "PUT", "PATCH", "DELETE")
	}
	for _, a := range c.list {
		s := a.s
		for _, o := range []string{"--data", "--form", "--upload-file", "--json", "--url-query"} {
			if strings.HasPrefix(s, o) {
				return true
			}
		}
		if at := strings.IndexAny(s, "dFT"); c.is("curl") && at > 0 && s[0] == '-' && s[1] != '-' &&
			!strings.ContainsAny(s[:at], "oHXuAebcxmwK") {
			return true
		}
	}
	return false
}

// saveDownload records the files written by a download, and returns its output.
func saveDownload(c *command, urls list) string {
	keep := func(name string) {
		p := c.resolve(name)
		c.found.write(p)
		c.store(p, remote)
	}
	names := []string{"o", "output"}
	if strings.HasPrefix(c.name, "wget") {
		names = []string{"O", "output-document"}
	} else if c.is("aria2c") {
		names = []string{"o", "out"}
	}
	dir, _ := c.option("P", "directory-prefix", "output-dir", "dir")
	file, ok := c.option(names...)
	switch {
	case ok && oneOf(file, "-", "/dev/stdout"):
		return remote
	case ok:
		if dir != "" {
			file = dir + "/" + file
		}
		keep(file)
		return ""
	case c.is("wget", "wget2", "aria2c", "axel", "lwp-download"),
		c.has("O", "remote-name", "remote-name-all", "J"),
		c.is("http", "https", "xh") && c.has("d", "download"):
		for _, u := range urls {
			keep(path.Join(dir, path.Base(strings.SplitN(u.s, "?", 2)[0])))
		}
		return ""
	}
	return remote
}

// shellSession is the output of an interactive shell.
const shellSession = "\x01$ "

func netcat(c *command) string {
	c.found.network = true
	in, text := c.givenText(), c.line()
	upper := strings.ToUpper(text)
	shell := false
	for _, a := range c.list {
		shell = shell || isShellText(a.s)
	}
	switch {
	case sendsSecret(c, in):
	case c.has("e", "exec", "sh-exec", "lua-exec") && !c.is("telnet"),
		c.has("c") && c.is("ncat", "nc") && len(c.operandsAfter()) > 0 && shell,
		c.is("socat") && (strings.Contains(upper, "EXEC:") || strings.Contains(upper, "SYSTEM:")):
		c.found.hit("reverse-shell", text)
	case c.has("l", "listen"), strings.Contains(upper, "LISTEN"):
		c.found.hit("listens", text)
	case c.has("z"):
		if ops := c.operandsAfter("w", "i", "p", "s"); len(ops) == 0 || !local(ops[0].s) {
			c.found.hit("download", text)
		}
	default:
		c.found.hit("network-send", text)
	}
	for _, a := range c.list {
		for _, p := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
			if _, code, ok := strings.Cut(a.s, p); ok {
				c.nested(strings.Trim(strings.SplitN(code, ",", 2)[0], `"'`))
			}
		}
	}
	if strings.Contains(in, shellSession) {
		c.found.hit("reverse-shell", text)
	}
	return remote
}

func isShellText(s string) bool { return inList("shells", programName(firstWord(s+" x"))) }

func openssl(c *command) string {
	switch {
	case c.exactly("base64", "-base64", "enc") && c.has("d") && c.exactly("base64", "-base64", "-a"):
		return convertText(c.with("base64", argsOf("-d")), c.stdin())
	case c.exactly("s_client", "s_server"):
		return netcat(c)
	}
	return tabled(c)
}

func ssh(c *command) string {
	if c.asksHelp() || c.exactly("-V", "-G", "-Q") {
		return unknown
	}
	c.found.network = true
	c.hit("remote-machine")
	sshPrograms(c)
	if c.has("R") && !c.has("Q") {
		c.hit("tunnel")
	}
	ops := c.list
	if at := c.command("p", "i", "l", "o", "F", "L", "R", "D", "J", "b", "c", "E", "e", "I", "m", "O", "S", "W", "w", "B", "Q"); at >= 0 {
		ops = c.list[at:]
	}
	text := c.givenText()
	if strings.Contains(text, secret) || c.holdsSecret() {
		c.hit("secret-sent")
	}
	switch {
	case len(ops) > 1:
		c.in = &input{text: text}
		c.nested(strings.Join(ops[1:].words(), " "))
	case text != "":
		c.in = &input{text: text}
		c.stdinProgram()
	}
	return remote
}

func sshPrograms(c *command) {
	for _, a := range c.list {
		for _, o := range []string{"ProxyCommand", "LocalCommand", "KnownHostsCommand"} {
			if _, code, ok := strings.Cut(a.s, o); ok && code != "" && (code[0] == '=' || code[0] == ' ') {
				c.runProgram(c, code[1:])
			}
		}
	}
}

func fetched(c *command, target, file string) {
	c.store(c.resolve(target+"/"+path.Base(file)), remote)
	if p := c.resolve(target); p != "." {
		c.store(p, remote)
	}
}

func remoteCopy(c *command) string {
	return copyBetween(c, c.operandsAfter("i", "P", "o", "S", "F", "l", "c", "J"))
}

// copyBetween follows a copy from or to another machine.
func copyBetween(c *command, ops list) string {
	c.found.network = true
	sshPrograms(c)
	c.hit("remote-copy")
	sent := false
	for i, a := range ops {
		last := i == len(ops)-1
		if last && i > 0 && strings.Contains(ops[0].s, ":") {
			writeTarget(c, a.s, argsOf(path.Base(ops[0].s)))
			for _, from := range ops[:i] {
				_, file, _ := strings.Cut(from.s, ":")
				fetched(c, a.s, file)
			}
			continue
		}
		if last && i > 0 || strings.Contains(a.s, ":") {
			continue
		}
		for _, p := range c.places(a) {
			sent = sent || secretOf(p) > noSecret
		}
	}
	if sent || strings.Contains(c.givenText(), secret) {
		c.hit("secret-sent")
	}
	return unknown
}

// forge handles the clients of forges.
func forge(c *command) string {
	if !c.exactly("api") {
		return tabled(c)
	}
	c.found.network = true
	method, ok := c.option("X", "method")
	switch {
	case strings.EqualFold(method, "DELETE"):
		c.hit("remote-delete")
	case ok && !strings.EqualFold(method, "GET"), c.has("f", "F", "field", "raw-field", "input"):
		posted(c)
		sendsSecret(c, "")
		c.hit("remote-change")
	}
	return remote
}

func posted(c *command) {
	switch {
	case c.holdsSecret() || strings.Contains(c.givenText(), secret):
		c.hit("secret-sent")
	case c.exactly("gist", "comment", "create", "upload", "edit"):
		sendsSecret(c, "")
	}
}

func released(c *command) {
	if !c.exactly("release") || !c.exactly("download") {
		return
	}
	dir, _ := c.option("D", "dir")
	for _, options := range [][]string{{"O", "output"}, {"p", "pattern"}} {
		if file, ok := c.option(options...); ok && file != "-" {
			c.store(c.resolve(path.Join(dir, file)), remote)
		}
	}
}

func cloned(c *command, ops list) {
	at := ops.index("clone", "checkout", "co", "export", "branch")
	if at < 0 || at+1 >= len(ops) {
		return
	}
	dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[at+1].s, "/")), ".git")
	if at+2 < len(ops) {
		dir = ops[at+2].s
	}
	c.made[c.resolve(dir)] = remoteDir
}

func announce(c *command) string {
	if c.holdsSecret() {
		c.hit("secret-shown")
	}
	return ""
}
