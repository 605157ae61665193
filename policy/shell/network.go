package shell

import (
	"path"
	"strings"
)

// sendsSecret rates credentials in the arguments of a command that sends them, in the files
// that they name, and in its input.
func sendsSecret(c *command, in string) bool {
	sent := strings.Contains(in, secret) || c.holdsSecret() || namesCredential(c)
	if sent {
		c.found.network = true
		c.hit("secret-sent")
	}
	return sent
}

// sender handles programs that send their arguments and input.
func sender(c *command) string {
	c.rated()
	sendsSecret(c, c.waiting())
	return unknown
}

// download handles programs that fetch URLs.
func download(c *command) string {
	if c.asksHelp() || len(c.list) == 0 || c.at(0) == "--help" {
		return unknown
	}
	c.rated()
	c.found.network = true
	urls := c.operands()
	if c.is("http", "https", "xh") { // the URL may follow a method and precede fields
		if len(urls) > 1 && strings.Trim(urls[0].s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			urls = urls[1:]
		}
		urls = urls[:min(1, len(urls))]
	}
	here := len(urls) > 0
	for _, u := range urls {
		here = here && (local(u.s) || c.is("http", "https", "xh") && strings.HasPrefix(u.s, ":"))
		if metadata(u.s) {
			c.found.hit("secret-read", u.s)
		}
	}
	text := ""
	if c.says("@-") || c.exactly("-", "-T-") {
		text = c.givenText()
	}
	r, ok := rowOf("sends", c.name)
	switch sends := ok && c.fitsAll(r[0]); {
	case sendsSecret(c, text):
	case sends && here: // probably a test of the project, but some services hold data
		if c.says("DELETE") && c.says("_all", "*", ":9200") {
			c.hit("local-send")
		}
	case sends:
		c.hit("network-send")
	case !here:
		c.hit("download")
	}
	return saveDownload(c, urls)
}

// saveDownload records the files written by a download, and returns its output.
func saveDownload(c *command, urls list) string {
	keep := func(name string) {
		p := c.resolve(name)
		c.found.acts("write", p)
		c.store(p, remote)
	}
	dir, _ := c.option("P", "directory-prefix", "output-dir", "dir")
	r, ok := rowOf("saves", c.name)
	switch file, named := c.option(r[0]...); {
	case !ok, named && oneOf(file, "-", "/dev/stdout"):
	case named:
		keep(path.Join(dir, file))
		return ""
	case len(r[1]) > 0 && c.fitsAll(r[1]):
		for _, u := range urls {
			name, _, _ := strings.Cut(u.s, "?")
			keep(path.Join(dir, path.Base(name)))
		}
		return ""
	}
	return remote
}

// shellSession is the output of an interactive shell.
const shellSession = "\x01$ "

func netcat(c *command) string {
	c.found.network = true
	in := c.givenText()
	switch {
	case sendsSecret(c, in):
	case strings.Contains(in, shellSession):
		c.hit("reverse-shell")
	default:
		c.rated()
	}
	return remote
}

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
	c.rated()
	c.mayRun(c.settings())
	r, _ := rowOf("takes", c.name)
	ops := c.list
	if at := c.command(r[0]...); at >= 0 {
		ops = c.list[at:]
	}
	text := c.givenText()
	if strings.Contains(text, secret) || c.holdsSecret() {
		c.hit("secret-sent")
	}
	c.in = &input{text: text}
	if len(ops) > 1 {
		c.nested(strings.Join(ops[1:].words(), " "))
	} else if text != "" {
		c.stdinProgram()
	}
	return remote
}

// fetched marks a file that comes from another machine.
func fetched(c *command, target, file string) {
	c.store(c.resolve(target+"/"+path.Base(file)), remote)
	if p := c.resolve(target); p != "." {
		c.store(p, remote)
	}
}

func remoteCopy(c *command) string { return copyBetween(c, c.operands()) }

// copyBetween follows a copy from or to another machine.
func copyBetween(c *command, ops list) string {
	c.found.network = true
	c.rated()
	c.mayRun(c.settings())
	c.hit("remote-copy")
	target := ops.at(len(ops) - 1)
	from := ops[:max(0, len(ops)-1)]
	if strings.Contains(from.at(0), ":") {
		writeTarget(c, target, argsOf(path.Base(from[0].s)))
		for _, a := range from {
			_, file, _ := strings.Cut(a.s, ":")
			fetched(c, target, file)
		}
		return unknown
	}
	if strings.Contains(c.givenText(), secret) || namesCredential(c.with(c.name, ops)) {
		c.hit("secret-sent")
	}
	return unknown
}
