package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// makeFilesystem handles programs that create a file system. In an image file in the workspace,
// only the image is lost.
func makeFilesystem(c *command) string {
	if c.asksHelp() {
		return unknown
	}
	for _, a := range c.operands() {
		if at := c.zoneOf(a); (at == workspace || at == temp) && strings.Contains(path.Base(a.s), ".") {
			c.write(a.s)
			c.hit("delete-tree")
			return unknown
		}
	}
	c.hit("disk")
	return unknown
}

// kill handles programs that send signals to processes by their ids or names. To end all
// processes ends the machine.
func kill(c *command) string {
	if c.exactly("-l", "-L", "--list", "-0", "--help") {
		return unknown
	}
	byName, jobs := !c.is("kill"), true
	force := byName || c.says("-9", "-KILL", "SIGKILL", "-kill", "s KILL")
	for i, a := range c.list {
		target := i > 0 || !strings.HasPrefix(a.s, "-") || a.s == "-1"
		jobs = jobs && (!target || strings.HasPrefix(a.s, "%")) // jobs of this shell only
		force = force || target && !isKnown(a.s)
		if every := strings.Trim(a.s, ".*^$+ ") == ""; byName && every || target && !byName &&
			(oneOf(a.s, "-1", "1") || a.s == "0" && force || startsWith(a.s, "[0-9]", everyProcess)) {
			c.hit("machine-stop")
		}
	}
	if user, ok := c.option("u", "U", "user", "euid", "uid"); byName && ok && (oneOf(user, "root", "0") || !isKnown(user)) {
		c.hit("machine-stop")
	}
	c.rated()
	if force {
		c.hit("signals")
	} else if !jobs {
		c.hit("signal")
	}
	return unknown
}

func dd(c *command) string {
	value := map[string]string{}
	for _, a := range c.list {
		name, v, _ := strings.Cut(a.s, "=")
		value[name] = v
	}
	from, to := value["if"], value["of"]
	text := c.readFile(cmp.Or(from, "-"))
	if value["conv"] != "" {
		text = opaqueMarks(text)
	}
	if to == "" {
		return text
	}
	p := c.resolve(to)
	c.write(to)
	c.store(p, text)
	c.found.rate("dd", p)
	size := value["count"] + strings.TrimLeft(value["bs"], "0123456789")
	if endlessDevice(from) && (value["count"] == "" || hugeSize().MatchString(size)) && zoneOf(p) != nowhere {
		c.hit("exhaust")
	}
	return ""
}

// container rates the options of a container, and follows the command in it.
func container(c *command) {
	ops := c.operands()
	for i, a := range c.list {
		option, value, _ := strings.Cut(a.s, "=")
		if value == "" {
			value = c.at(i + 1)
		}
		short := len(a.s) > 2 && a.s[0] == '-' && a.s[1] != '-'
		switch {
		case option == "--privileged" && value != "false",
			inList("container-namespaces", option) && value == "host",
			inList("container-powers", option):
			c.hit("container-escape")
		case oneOf(option, "-v", "--volume", "--mount"), short && strings.HasSuffix(a.s, "v"):
			containerMount(c, value)
		case short && a.s[1] == 'v':
			containerMount(c, a.s[2:])
		}
	}
	if _, file, ok := strings.Cut(ops.at(1), ":"); ok && ops.at(0) == "cp" && ops.at(2) != "-" {
		fetched(c, ops.at(2), file)
	}
	if at := slices.IndexFunc(c.from(2), func(a arg) bool {
		return dangerous(programName(a.s)) && !oneOf(a.s, "git", "cp", "kill")
	}); at >= 0 {
		c.exec(c.list[at+2:])
	}
}

// mountSource matches the source of a mount.
var mountSource = lazily(`(?:^|,)(?:source|src)=([^,]*)`)

func containerMount(c *command, value string) {
	src, _, _ := strings.Cut(value, ":")
	if m := mountSource().FindStringSubmatch(value); m != nil {
		src = m[1]
	}
	p := c.resolve(src)
	switch {
	case holds(value, "docker.sock", "containerd.sock", "podman.sock"), secretOf(p) == machineSecret:
		c.hit("container-escape")
	case strings.ContainsAny(src, "/~."):
		c.found.rate("mount", p)
	}
}

// cloud handles the clients of cloud providers, by the verbs in their sub-commands.
func cloud(c *command) string {
	if rules, ok := c.rated(); anyIn("secret-rules", rules) {
		return secret
	} else if ok || c.asksHelp() {
		return unknown
	}
	c.found.network = true
	changes := false
	for _, a := range c.list {
		word := strings.ToLower(a.s)
		verb, _, _ := strings.Cut(word, "-")
		deletes := inList("cloud-deletes", verb)
		if deletes && (c.has("r", "recursive") || oneOf(word, "rb", "delete") || startsWith(word, "delete-", "terminate-")) {
			c.hit("infrastructure-destroy")
		}
		changes = changes || deletes || inList("cloud-changes", verb)
	}
	statements(c)
	if changes {
		sendsSecret(c, "")
		c.hit("infrastructure")
	}
	return storedObject(c)
}

// storedObject returns a client's output for an object in cloud storage, and records the file
// to which the object is copied.
func storedObject(c *command) string {
	if at := slices.IndexFunc(c.list, func(a arg) bool { return startsWith(a.s, "s3://", "gs://") }); at >= 0 {
		if c.exactly("cat", "-") {
			return remote
		}
		if to := c.at(at + 1); to != "" && isKnown(to) && !strings.Contains(to, "://") && to[0] != '-' {
			fetched(c, to, c.at(at))
		}
	}
	return unknown
}

var (
	sqlDestroys = lazily(
		`(?i)\.drop\(|\b(?:drop\s+(?:database|schema|keyspace|user|role|owned|table|view|materialized|tablespace|collection|index|sequence|extension)|flushall|flushdb|dropDatabase|shutdown\b|config\s+set|truncate\b|delete\s+from\s+[\w."]+\s*(?:;|$)|delete\s+from\s+[\w."]+\s+where\s+(?:1\s*=\s*1|true\b)|alter\s+table\s+\S+\s+(?:drop|delete)\b|detach\s+delete|remove\s+(?:table|database|namespace)|pg_(?:terminate|cancel)_backend|swapdb|script\s+flush|(?:deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|debug\s+sleep|grant\s+all|alter\s+(?:user|role))`,
	)
	sqlChanges = lazily(
		`(?i)\b(?:delete\s+from|update\s+[\w."]+\s+set|insert\s+into|replace\s+into|alter\s+(?:table|database|schema)|create\s+(?:table|index|unique|database|user|role|schema|view|extension|function)|grant\b|revoke\b|(?:insert|update|delete|replace)(?:One|Many)|bulkWrite|createIndex|renameCollection)\b`,
	)
	sqlRuns = lazily(
		`(?i)(?:\\!|\.shell|\.system|(?:\.o(?:nce|utput)|\\o)\s*\||^system\s|;\s*system\s|to\s+program|from\s+program|into\s+outfile|load_file|xp_cmdshell|pg_read_file|lo_import|load_extension|\.load\b|readfile\(|writefile\()`,
	)
	sqlWrites = lazily(
		`(?i)(?:\.(?:once|output|backup|save|log)(?:\s+main)?|\\[ogw]|\bcopy\b[^;]*?\bto|\b(?:out|dump)file)\s+['"]?([~./][^\s'";|]*)`,
	)
)

// database rates the statements passed to database clients.
func database(c *command) string {
	rules, _ := c.rated()
	text := strings.Join(c.words(), " ") + "\n" + c.givenText()
	for _, file := range c.options("f", "file", "init") {
		marks, own := c.made[c.resolve(file)]
		if text += marks; own {
			c.hit("own-script")
		}
	}
	c.found.step(len(text) * 16)
	c.mayRun(c.settings())
	if strings.Contains(text, remote) {
		c.found.hit("remote-code", c.name)
	}
	for _, s := range sqlWrites().FindAllStringSubmatch(text, 8) {
		c.write(s[1])
	}
	destroys := slices.Contains(rules, "database-destroy") || sqlDestroys().MatchString(text) && !sqlRuns().MatchString(text)
	switch {
	case destroys && c.exactly(":memory:"):
	case destroys && fileDatabase(c):
		c.hit("database-write")
	case destroys:
		c.hit("database-destroy") //control:destroyed-data
		if databaseAway(c) {
			c.hit("database-destroy-remote") //control:remote-database
		}
	case sqlRuns().MatchString(text):
		c.hit("program-runs")
		c.mayRun([]string{text})
	case sqlChanges().MatchString(text), slices.Contains(rules, "database-write"):
		if c.found.changes = true; !fileDatabase(c) { // a file changes like any other
			c.hit("database-write")
		}
	}
	return unknown
}

func fileDatabase(c *command) bool {
	if !c.is("sqlite3", "duckdb", "litecli") {
		return false
	}
	file := c.operands().at(0)
	at := zoneOf(c.resolve(file))
	return strings.HasPrefix(file, ":") ||
		isKnown(file) && (at == workspace || at == temp || at == zoneRoot || at == nowhere)
}

// databaseHost matches the host of a database in options, addresses and settings.
var databaseHost = lazily(`\s(?:-[hS]\s?|--?(?:host|server)[= ])([^\s/:]+)|://(?:[^@\s]*@)?([^\s/:]+)|host=([^\s/:]+)`)

// databaseAway reports whether the command names a database on another machine: a host
// name with a dot.
func databaseAway(c *command) bool {
	for _, m := range databaseHost().FindAllStringSubmatch(c.line(), 8) {
		if host := m[1] + m[2] + m[3]; strings.Contains(host, ".") && !local(host) {
			return true
		}
	}
	return false
}

func statementDestroys(text string) bool {
	at := sqlDestroys().FindStringIndex(text)
	return at != nil && strings.Trim(text[:at[0]], " \t\n;\"'") == ""
}

// console handles the tools of web frameworks, which run statements and code.
func console(c *command) string {
	if c.exactly("dbshell", "dbconsole", "dbaccess") && sqlDestroys().MatchString(c.waiting()) {
		c.hit("database-destroy")
	}
	if at := c.index("runner", "shell", "tinker"); at >= 0 && strings.Contains(c.at(at+1), ".") {
		scanCode(c.with("ruby", nil), c.at(at+1))
	}
	return tabled(c)
}
