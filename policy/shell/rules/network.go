package rules

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// sendsSecret reports, and records, that a command sends a credential out.
func sendsSecret(c *walk.Command, in string) bool {
	sent := strings.Contains(in, secret) || c.HoldsSecret()
	for _, a := range c.List {
		for _, p := range append(argv.PartsOf(a.S, 8), argv.PathsIn(a.S)...) {
			text, _ := c.File(p)
			sent = sent || strings.ContainsAny(p, "./~_") && zone.SecretOf(c.Resolve(p)) > zone.NoSecret || strings.Contains(text, secret)
		}
	}
	if sent {
		c.Found.Network = true
		c.Hit("secret-sent")
	}
	return sent
}

// asksName is for programs that look up names and addresses.
func asksName(c *walk.Command) string {
	c.Found.Network = c.Found.Network || !c.Is("getent")
	sendsSecret(c, "")
	return unknown
}

func mail(c *walk.Command) string {
	c.Found.Network = true
	c.Hit("network-send")
	sendsSecret(c, c.Stdin())
	return unknown
}

// download is for programs that fetch addresses.
func download(c *walk.Command) string {
	if c.AsksHelp() || len(c.List) == 0 || c.At(0) == "--help" && len(c.List) == 2 {
		return unknown
	}
	c.Found.Network = true
	takes := known.Tables().Takes["curl"]
	if strings.HasPrefix(c.Name, "wget") {
		takes = append([]string{"O"}, takes...)
	}
	urls := c.OperandsAfter(takes...)
	if c.Is("http", "https", "xh") {
		urls = requested(urls)
	}
	local := len(urls) > 0
	for _, u := range urls {
		own := zone.Local(u.S) || c.Is("http", "https", "xh") && strings.HasPrefix(u.S, ":")
		local = local && own
		if own && (strings.Contains(u.S, ":2375") || strings.Contains(u.S, ":2376")) {
			c.Found.Hit("container-control", u.S)
		}
		if zone.Metadata(u.S) {
			c.Found.Hit("secret-read", u.S)
		}
	}
	if v, ok := c.Value("unix-socket"); ok {
		c.Found.Hit("container-control", v)
	}
	rateRequest(c, local)
	if v, ok := c.Value("config", "K"); ok && c.Is("curl") && v != "" {
		c.Found.Hit("opaque-request", v)
	}
	return saved(c, urls)
}

// requested is the address among the operands of httpie: one that a method may
// precede, and fields follow.
func requested(ops argv.List) argv.List {
	if len(ops) > 1 && strings.ToUpper(ops[0].S) == ops[0].S && strings.Trim(ops[0].S, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		ops = ops[1:]
	}
	return ops[:min(1, len(ops))]
}

// rateRequest rates what a request takes along.
func rateRequest(c *walk.Command, local bool) {
	sendsSecret(c, "")
	if !sends(c) {
		if !local {
			c.Hit("download")
		}
		return
	}
	text := ""
	if c.Says("@-") || c.Exactly("-", "-T-") {
		text = c.GivenText()
	}
	switch secret := sendsSecret(c, text); {
	case local: // a test of what is being built; but some services hold data
		if c.Says("DELETE") && (c.Says("_all", "*") || c.Says(":9200")) {
			c.Hit("local-send")
		}
	case !secret:
		c.Hit("network-send")
	}
}

// sends reports whether a request carries something out.
func sends(c *walk.Command) bool {
	if method, ok := c.Value("X", "request", "method"); ok && strings.Contains("POST PUT PATCH DELETE", strings.ToUpper(method)) {
		return true
	}
	switch {
	case strings.HasPrefix(c.Name, "wget"):
		return c.Has("post-data", "post-file", "body-data", "body-file")
	case c.Is("http", "xh", "https"):
		return c.Exactly("POST", "PUT", "PATCH", "DELETE")
	}
	for _, a := range c.List {
		s := a.S
		for _, o := range []string{"--data", "--form", "--upload-file", "--json", "--url-query"} {
			if strings.HasPrefix(s, o) {
				return true
			}
		}
		if at := strings.IndexAny(s, "dFT"); c.Is("curl") && at > 0 && s[0] == '-' && s[1] != '-' && !strings.ContainsAny(s[:at], "oHXuAebcxmwK") {
			return true
		}
	}
	return false
}

// saved is what a download prints, after its files are remembered.
func saved(c *walk.Command, urls argv.List) string {
	keep := func(name string) {
		p := c.Resolve(name)
		c.Found.Write(p)
		c.Store(p, remote, false)
	}
	names := []string{"o", "output"}
	if strings.HasPrefix(c.Name, "wget") {
		names = []string{"O", "output-document"}
	} else if c.Is("aria2c") {
		names = []string{"o", "out"}
	}
	dir, _ := c.Value("P", "directory-prefix", "output-dir", "dir")
	file, ok := c.Value(names...)
	switch {
	case ok && walk.OneOf(file, "-", "/dev/stdout"):
		return remote
	case ok:
		if dir != "" {
			file = dir + "/" + file
		}
		keep(file)
		return ""
	case c.Is("wget", "wget2", "aria2c", "axel", "lwp-download"), c.Has("O", "remote-name", "remote-name-all", "J"), c.Is("http", "https", "xh") && c.Has("d", "download"):
		for _, u := range urls {
			keep(path.Join(dir, path.Base(strings.SplitN(u.S, "?", 2)[0])))
		}
		return ""
	}
	return remote
}

// shellSession is what an interactive shell prints.
const shellSession = "\x01$ "

func netcat(c *walk.Command) string {
	if c.AsksHelp() {
		return unknown
	}
	c.Found.Network = true
	in, text := c.GivenText(), c.Line()
	upper := strings.ToUpper(text)
	shell := false
	for _, a := range c.List {
		shell = shell || isShellText(a.S)
	}
	switch {
	case sendsSecret(c, in):
	case c.Has("e", "exec", "sh-exec", "lua-exec") && !c.Is("telnet"), c.Has("c") && c.Is("ncat", "nc") && len(c.OperandsAfter()) > 0 && shell,
		c.Is("socat") && (strings.Contains(upper, "EXEC:") || strings.Contains(upper, "SYSTEM:")):
		c.Found.Hit("reverse-shell", text)
	case c.Has("l", "listen"), strings.Contains(upper, "LISTEN"):
		c.Found.Hit("listens", text)
	case c.Has("z"):
		if ops := c.OperandsAfter("w", "i", "p", "s"); len(ops) == 0 || !zone.Local(ops[0].S) {
			c.Found.Hit("download", text)
		}
	default:
		c.Found.Hit("network-send", text)
	}
	for _, a := range c.List {
		for _, p := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
			if _, code, ok := strings.Cut(a.S, p); ok {
				c.Nested(strings.Trim(strings.SplitN(code, ",", 2)[0], `"'`))
			}
		}
	}
	if strings.Contains(in, shellSession) {
		c.Found.Hit("reverse-shell", text)
	}
	return remote
}

// isShellText reports whether a command text starts a shell.
func isShellText(s string) bool { return known.In("shells", walk.ProgramName(walk.FirstWord(s+" x"))) }

func openssl(c *walk.Command) string {
	switch {
	case c.Exactly("base64", "-base64", "enc") && c.Has("d") && c.Exactly("base64", "-base64", "-a"):
		return walk.Converted(c.With("base64", argv.Of("-d")), c.Stdin())
	case c.Exactly("s_client", "s_server"):
		return netcat(c)
	}
	return plain(c)
}

func ssh(c *walk.Command) string {
	if c.AsksHelp() || c.Exactly("-V", "-G", "-Q") {
		return unknown
	}
	if c.Is("sshpass") {
		for i, a := range c.List {
			if walk.OneOf(walk.ProgramName(a.S), "ssh", "scp", "rsync") {
				return c.Exec(c.List[i:])
			}
		}
	}
	c.Found.Network = true
	c.Hit("remote-machine")
	sshPrograms(c)
	if c.Has("R") && !c.Has("Q") {
		c.Hit("tunnel")
	}
	ops := c.List
	if at := c.Command("p", "i", "l", "o", "F", "L", "R", "D", "J", "b", "c", "E", "e", "I", "m", "O", "S", "W", "w", "B", "Q"); at >= 0 {
		ops = c.List[at:]
	}
	text := c.GivenText()
	if strings.Contains(text, secret) || c.HoldsSecret() {
		c.Hit("secret-sent")
	}
	switch {
	case len(ops) > 1:
		c.In = &walk.Input{Text: text}
		c.Nested(strings.Join(ops[1:].Texts(), " "))
	case text != "":
		c.In = &walk.Input{Text: text}
		c.StdinProgram()
	}
	return remote
}

// sshPrograms follows the options with which ssh runs a program here.
func sshPrograms(c *walk.Command) {
	for _, a := range c.List {
		for _, o := range []string{"ProxyCommand", "LocalCommand", "KnownHostsCommand"} {
			if _, code, ok := strings.Cut(a.S, o); ok && code != "" && (code[0] == '=' || code[0] == ' ') {
				c.Runs(c, code[1:])
			}
		}
	}
}

// fetched remembers that a file of another machine was copied to a file or
// into a directory.
func fetched(c *walk.Command, target, file string) {
	c.Store(c.Resolve(target+"/"+path.Base(file)), remote, false)
	if p := c.Resolve(target); p != "." {
		c.Store(p, remote, false)
	}
}

func remoteCopy(c *walk.Command) string {
	return copyBetween(c, c.OperandsAfter("i", "P", "o", "S", "F", "l", "c", "J"))
}

// copyBetween follows a copy from or to another machine.
func copyBetween(c *walk.Command, ops argv.List) string {
	if c.AsksHelp() {
		return unknown
	}
	c.Found.Network = true
	sshPrograms(c)
	c.Hit("remote-copy")
	sent := false
	arrive(c)
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
		for _, p := range c.Places(a) {
			sent = sent || zone.SecretOf(p) > zone.NoSecret
		}
	}
	if sent || copiesSecret(c) {
		c.Hit("secret-sent")
	}
	return unknown
}

// arrive remembers the files that a copying program may fetch: those that its
// arguments name behind the name of a machine, or among the words of a script.
func arrive(c *walk.Command) {
	text := strings.Join(c.Texts(), " ") + " " + c.Waiting()
	if !strings.Contains(text, ":") && !c.Is("ftp", "lftp", "tftp", "sftp") || c.Is("rcp", "croc", "wormhole", "magic-wormhole") {
		return
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;'\":", r) }) {
		if base := path.Base(w); strings.Contains(base, ".") && base != "." && base != ".." && !strings.HasPrefix(w, "-") {
			if _, own := c.File(base); !own && zone.SecretOf(c.Resolve(base)) == zone.NoSecret {
				c.Store(c.Resolve(base), remote, false)
			}
		}
	}
}

// copiesSecret reports whether the commands that a copying program is given
// name a credential.
func copiesSecret(c *walk.Command) bool {
	text := c.GivenText()
	if v, ok := c.Value("e", "c"); ok && c.Is("lftp") {
		text += " " + v
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\n;'\"", r) }) {
		if strings.ContainsAny(w, "./~_") && zone.SecretOf(c.Resolve(w)) > zone.NoSecret {
			return true
		}
	}
	return strings.Contains(text, secret)
}

// forge follows the clients of forges.
func forge(c *walk.Command) string {
	if !c.Exactly("api") {
		return subcommands(c)
	}
	c.Found.Network = true
	method, ok := c.Value("X", "method")
	switch {
	case strings.EqualFold(method, "DELETE"):
		c.Hit("remote-delete")
	case ok && !strings.EqualFold(method, "GET"), c.Has("f", "F", "field", "raw-field", "input"):
		posted(c)
		sendsSecret(c, "")
		c.Hit("remote-change")
	}
	return remote
}

// posted looks at texts that are posted for others to read.
func posted(c *walk.Command) {
	switch {
	case c.HoldsSecret() || strings.Contains(c.GivenText(), secret):
		c.Hit("secret-sent")
	case c.Exactly("gist", "comment", "create", "upload", "edit"):
		sendsSecret(c, "")
	}
}

// released remembers the files of a release that are downloaded by name.
func released(c *walk.Command) {
	if !c.Exactly("release") || !c.Exactly("download") {
		return
	}
	dir, _ := c.Value("D", "dir")
	for _, options := range [][]string{{"O", "output"}, {"p", "pattern"}} {
		if file, ok := c.Value(options...); ok && file != "-" {
			c.Store(c.Resolve(path.Join(dir, file)), remote, false)
		}
	}
}

// cloned remembers a directory that a client of repositories makes.
func cloned(c *walk.Command, ops argv.List) {
	at := ops.Index("clone", "checkout", "co", "export", "branch")
	if at < 0 || at+1 >= len(ops) {
		return
	}
	dir := strings.TrimSuffix(path.Base(strings.TrimSuffix(ops[at+1].S, "/")), ".git")
	if at+2 < len(ops) {
		dir = ops[at+2].S
	}
	c.Content[c.Resolve(dir)] = walk.RemoteDir
}

// announce is for programs that show a text to others.
func announce(c *walk.Command) string {
	if c.HoldsSecret() {
		c.Hit("secret-shown")
	}
	return ""
}
