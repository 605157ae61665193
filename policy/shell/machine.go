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
	for _, a := range c.operandsAfter("t", "L", "b", "N", "U", "T", "E", "O", "m", "n") {
		p := c.resolve(a.s)
		if at := zoneOf(p); (at == workspace || at == temp) && strings.Contains(path.Base(p), ".") {
			c.found.write(p)
			c.hit("delete-tree")
			return unknown
		}
	}
	c.hit("disk")
	return unknown
}

// kill handles programs that send signals. To end all processes ends the machine.
func kill(c *command) string {
	if c.exactly("-l", "-L", "--list", "-0", "--help") {
		return unknown
	}
	jobs, line := true, strings.ToUpper(strings.Join(c.words(), " "))+" "
	for i, a := range c.list {
		target := i > 0 || a.s == "" || a.s[0] != '-' || a.s == "-1"
		if target && (oneOf(a.s, "-1", "1") || a.s == "0" && strings.Contains(line, "KILL") ||
			strings.Contains(a.s, everyProcess) || strings.HasPrefix(a.s, "[0-9]")) {
			c.hit("machine-stop")
		}
		jobs = jobs && (!target || strings.HasPrefix(a.s, "%")) // jobs of this shell only
	}
	switch {
	case holds(line, "-9", "KILL "):
		c.hit("signals")
	case !jobs:
		c.hit("signal")
	}
	return unknown
}

func killByName(c *command) string {
	if c.exactly("-l", "-0", "--list", "--help") {
		return unknown
	}
	c.hit("signals")
	user, ofUser := c.option("u", "U", "user", "euid", "uid")
	every := slices.ContainsFunc(c.list, func(a arg) bool { return strings.Trim(a.s, ".*^$+ ") == "" })
	if c.is("killall5", "slay") || ofUser && (oneOf(user, "root", "0") || !isKnown(user)) || every ||
		c.is("pkill", "skill") && c.exactly("-v", "--inverse") {
		c.hit("machine-stop")
	}
	return unknown
}

func initScript(c *command) string {
	if !c.exactly("status") {
		c.hit("service")
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
	text := ""
	if from != "" {
		text = c.readFile(from)
	} else {
		text = c.stdin()
	}
	if holds(value["conv"], "swab", "case", "ascii", "ebcdic", "ibm") {
		text = opaqueMarks(text)
	}
	if to == "" {
		return text
	}
	p := c.resolve(to)
	c.write(to)
	c.store(p, text)
	size := value["count"] + strings.TrimLeft(value["bs"], "0123456789")
	if at := zoneOf(p); endlessDevice(from) && (value["count"] == "" || hugeSize(size)) && at != nowhere {
		c.hit("exhaust")
	} else if at != workspace && at != temp && at != nowhere {
		c.hit("dd")
	}
	return ""
}

func engine(c *command) string {
	if v, ok := c.option("H", "host", "url"); ok && strings.Contains(v, "://") && !strings.HasPrefix(v, "unix:") {
		c.hit("container-control")
	}
	if c.exactly("inspect") && c.says(".Env") {
		c.hit("environment-dump")
		return secret
	}
	return tabled(c)
}

// container rates the options of a container, and follows the command in it.
func container(c *command, ops list) {
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
		case oneOf(option, "-v", "--volume", "--mount"):
			containerMount(c, value)
		case short && a.s[1] == 'v':
			containerMount(c, a.s[2:])
		case short && strings.HasSuffix(a.s, "v"):
			containerMount(c, c.at(i+1))
		}
	}
	copiedOut(c, ops)
	if len(ops) > 0 && c.exactly("build", "bake") && c.has("push") {
		c.hit("container-push")
	}
	if len(ops) > 1 && oneOf(ops[0].s, "down", "compose") && c.has("v", "volumes") && c.exactly("down") {
		c.hit("container-destroy")
	}
	containerCommand(c)
}

func copiedOut(c *command, ops list) {
	if _, file, ok := strings.Cut(ops.at(1), ":"); ok && ops.at(0) == "cp" && ops.at(2) != "-" {
		fetched(c, ops.at(2), file)
	}
}

func containerMount(c *command, value string) {
	src, _, _ := strings.Cut(value, ":")
	for part := range strings.SplitSeq(value, ",") {
		if k, v, _ := strings.Cut(part, "="); k == "source" || k == "src" {
			src = v
		}
	}
	if holds(value, "docker.sock", "containerd.sock", "podman.sock") {
		c.hit("container-escape")
		return
	}
	if !strings.ContainsAny(src, "/~.") {
		return
	}
	p := c.resolve(src)
	switch zoneOf(p) {
	case vital, system, device, startup:
		c.hit("container-escape")
	case home, outside:
		c.hit("container-mount")
	}
	if secretOf(p) == machineSecret {
		c.hit("container-escape")
	}
}

func containerCommand(c *command) {
	for i, a := range c.list {
		if name := programName(a.s); i < 2 || !dangerous(name) || oneOf(a.s, "git", "cp", "kill") {
			continue
		}
		c.exec(c.list[i:])
		return
	}
}

func deleteInfrastructure(c *command) {
	c.found.network = true
	destroys := c.exactly("destroy", "-destroy", "--destroy")
	if c.is("kubectl", "oc", "k", "microk8s.kubectl") {
		destroys = c.exactly(wordsIn("cluster-vital")...) || c.says("ns/", "namespace/")
	}
	if destroys {
		c.hit("infrastructure-destroy")
	} else {
		c.hit("infrastructure")
	}
}

// cloud handles the clients of cloud providers.
func cloud(c *command) string {
	if out, ok := subcommand(c); ok || c.asksHelp() {
		return out
	}
	c.found.network = true
	line := " " + c.line() + " "
	reads := true
	for w := range strings.FieldsSeq(strings.ToLower(line)) {
		verb, _, dashed := strings.Cut(w, "-")
		if inList("cloud-deletes", verb) {
			if reads = false; strings.Contains(line, "recursive") || strings.Contains(line, "-r ") || oneOf(w, "rb", "delete") ||
				dashed && oneOf(verb, "delete", "terminate") {
				c.hit("infrastructure-destroy")
			}
		}
		reads = reads && !inList("cloud-changes", verb)
	}
	statements(c)
	if c.says("get-secret", "print-access") {
		c.hit("secret-read")
		return secret
	}
	if !reads {
		sendsSecret(c, "")
		c.hit("infrastructure")
	}
	return storedObject(c)
}

// storedObject returns a client's output for an object in cloud storage, and records the file
// to which the object is copied.
func storedObject(c *command) string {
	if file, ok := c.option("f", "file"); ok && c.exactly("download") {
		c.hit("download")
		c.write(file)
		c.store(c.resolve(file), remote)
	}
	for i, a := range c.list {
		if !startsWith(a.s, "s3://", "gs://") {
			continue
		}
		if c.exactly("cat", "-") {
			return remote
		}
		if to := c.at(i + 1); to != "" && !strings.ContainsAny(to, unknown+secret+remote) && !strings.Contains(to, "://") &&
			!strings.HasPrefix(to, "-") {
			fetched(c, to, a.s)
		}
		break
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
	sqlCommand = lazily(`(?i)(?:\\!|\.shell|\.system|\bsystem|(?:\.o(?:nce|utput)|\\o)\s*\|)\s*(.*)|program\s+'([^']*)'`)
	sqlWrites  = lazily(
		`(?i)(?:\.(?:once|output|backup|save|log)(?:\s+main)?|\\[ogw]|\bcopy\b[^;]*?\bto|\b(?:out|dump)file)\s+['"]?([~./][^\s'";|]*)`,
	)
)

// database rates the statements passed to database clients.
func database(c *command) string {
	databaseTask(c)
	text := strings.Join(c.words(), " ") + "\n" + c.givenText()
	for _, o := range []string{"f", "file", "init"} {
		if file, ok := c.option(o); ok || len(o) > 1 {
			file = cmp.Or(file, c.at(c.index("-"+o)+1))
			text += c.made[c.resolve(file)]
			if _, own := c.made[c.resolve(file)]; own {
				c.hit("own-script")
			}
		}
	}
	c.found.step(len(text) * 16)
	c.mayRun(c.settings())
	if strings.Contains(text, remote) {
		c.found.hit("remote-code", c.name)
	}
	for _, s := range sqlCommand().FindAllStringSubmatch(text, 4) {
		c.nested(s[1] + s[2])
	}
	statementWrites(c, text)
	switch {
	case c.is("dropdb", "dropuser"),
		c.is("mysqladmin") && c.exactly("drop", "shutdown", "kill"),
		c.is("pg_restore") && (c.has("clean") || c.exactly("-c")):
		destroysData(c)
	case sqlRuns().MatchString(text):
		c.hit("program-runs")
	case sqlDestroys().MatchString(text):
		destroysData(c)
	case sqlChanges().MatchString(text),
		c.is("pg_restore") && !c.has("l", "list"),
		c.is("redis-cli", "valkey-cli", "keydb-cli") && c.exactly("del", "DEL", "unlink", "UNLINK"):
		if c.found.changes = true; !fileDatabase(c) { // a file changes like any other
			c.hit("database-write")
		}
	}
	return unknown
}

func statementWrites(c *command, text string) {
	for _, s := range sqlWrites().FindAllStringSubmatch(text, 8) {
		c.write(s[1])
	}
}

func fileDatabase(c *command) bool {
	if !c.is("sqlite3", "duckdb", "litecli") {
		return false
	}
	file := c.operandsAfter("cmd", "init", "separator", "nullvalue", "newline", "c", "s", "e").at(0)
	at := zoneOf(c.resolve(file))
	return strings.HasPrefix(file, ":") ||
		isKnown(file) && (at == workspace || at == temp || at == zoneRoot || at == nowhere)
}

func destroysData(c *command) {
	switch {
	case c.exactly(":memory:"):
	case fileDatabase(c):
		c.hit("database-write")
	default:
		c.hit("database-destroy") //control:destroyed-data
		if databaseAway(c) {
			c.hit("database-destroy-remote") //control:remote-database
		}
	}
}

// databaseAway reports whether the command names a database on another machine: a host
// name with a dot.
func databaseAway(c *command) bool {
	host, _ := c.option("h", "host", "S", "server")
	hosts := []string{host}
	for _, a := range c.list {
		if _, rest, ok := strings.Cut(a.s, "://"); ok && !strings.Contains(a.s, " ") {
			hosts = append(hosts, rest[strings.LastIndexByte(rest, '@')+1:])
		}
		if _, rest, ok := strings.Cut(a.s, "host="); ok {
			hosts = append(hosts, firstWord(rest))
		}
	}
	return slices.ContainsFunc(hosts, func(h string) bool {
		h, _, _ = strings.Cut(h, "/")
		h, _, _ = strings.Cut(h, ":")
		return strings.Contains(h, ".") && !local(h)
	})
}

func statementDestroys(text string) bool {
	at := sqlDestroys().FindStringIndex(text)
	return at != nil && strings.Trim(text[:at[0]], " \t\n;\"'") == ""
}

func databaseTask(c *command) {
	tasks, listed := tables().Tasks[c.name]
	destroys := listed && c.fitsAll(tasks) && !c.asksHelp() ||
		c.exactly("dbshell", "dbconsole", "dbaccess") && sqlDestroys().MatchString(c.waiting())
	if code := c.at(c.index("runner", "shell", "tinker") + 1); c.is("rails", "artisan", "manage.py") &&
		strings.Contains(code, ".") &&
		c.exactly("runner", "shell", "tinker") {
		scanCode(c.with("ruby", nil), code)
	}
	if destroys {
		c.hit("database-destroy")
	}
}
