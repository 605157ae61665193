package shell

import (
	"path"
	"slices"
	"strings"
)

// families maps programs to rules of their own. A program needs no rule if its effect
// depends only on its sub-command, but a line in tables.txt, see rulesByProgram.
func families() map[string]rule {
	return map[string]rule{
		// The shell itself.
		": true false test [ exit return break continue wait jobs fg bg disown shift getopts hash enable logout times shopt umask ulimit history pushd popd dirs cd unset unalias sleep let caller suspend compgen complete bind": builtin,
		"echo": echo, "printf": printfBuiltin, "set": setBuiltin, "eval": eval, "source .": source, "trap": trap, "read readarray mapfile": readBuiltin,
		"alias": alias, "which type command-v": which,
		"pwd": pwd, "printenv": printenv, "command": commandBuiltin,
		// Text tools.
		"cat zcat gzcat tac rev head tail sort uniq nl fold bat pv base64 base32 basenc xxd tr cut strings dos2unix paste": textTool,
		"less more": pager, "awk gawk mawk nawk": awk, "sed gsed": sed, "grep egrep fgrep rg": grep, "tee sponge": tee,
		"yes": yes, "ps pgrep pidof": processes,
		// Interpreters, and wrappers of commands.
		"vi vim nvim view ex ed emacs gdb lldb dc m4 man info fzf sk": scriptableTool,
		"tmux screen expect hyperfine pee nodemon concurrently":       commandTexts,
		// Text processing.
		"jq gojq jaq": jq, "basename dirname realpath readlink": pathTool, "mktemp": makeTemp,
		// Files.
		"rm unlink rmdir srm trash del rimraf trash-put shred scrub wipe": removeFiles, "mv": move, "cp install ln link gcp ditto": copyFiles, "rsync": rsync,
		"touch mkdir mkfifo mknod truncate fallocate": create, "chmod chown chgrp": permissions, "setfacl chattr chcon": attributes, "dd": dd,
		"tar gtar bsdtar unzip unrar zip gzip gunzip bzip2 xz zstd ar": archive,
		"find gfind": searchFiles, "ls dir exa eza lsd": listFiles,
		// The machine.
		"mkfs mke2fs mkswap mkntfs newfs": makeFilesystem,
		"kill":                            kill, "pkill killall killall5 skill slay xkill taskkill": killByName,
		// The network.
		"curl wget wget2 http https xh aria2c axel fetch lwp-download lwp-request GET HEAD POST wsget lynx w3m links elinks curlie youtube-dl yt-dlp gdown gallery-dl you-get": download,
		"nc ncat netcat socat telnet nmap-ncat": netcat, "ssh mosh autossh rsh slogin dbclient": ssh, "openssl": openssl,
		"scp sftp ftp lftp rcp tftp rclone croc wormhole magic-wormhole": remoteCopy, "mail mailx sendmail mutt msmtp swaks": mail,
		"dig nslookup host drill ping ping6 traceroute tracepath mtr whois getent kdig resolvectl": asksName,
		"git hub": gitTool, "gh glab": forge, "logger wall write notify-send": announce,
		// Packages.
		"go": goTool, "npm pnpm yarn": packageTool, "make gmake just task rake mage": build,
		"poetry pipenv uv pdm rye hatch bundle conda mamba mise asdf direnv nix op doppler pixi rbenv pyenv nvm dotenvx npx bunx pnpx hatchling chamber infisical devbox flox turbo npm-run-all wireit tsx-watch coverage": taskRunner,
		// Containers, clusters, clouds, databases.
		"docker podman nerdctl": engine, "aws gcloud az gsutil s3cmd mc bq azcopy b2 s5cmd": cloud,
		"psql mysql mariadb sqlite3 redis-cli valkey-cli keydb-cli mongo mongosh duckdb cqlsh clickhouse clickhouse-client sqlcmd dropdb dropuser mysqladmin createdb pg_restore sqlplus snowsql snow cockroach usql pgcli mycli litecli iredis trino presto hive beeline spark-sql impala-shell isql tsql cypher-shell surreal ysqlsh influx arangosh osqueryi vsql nzsql bteq tarantool": database,
	}
}

// rulesByProgram returns the rules of all known programs.
func rulesByProgram() map[string]rule {
	t := tables()
	rules := map[string]rule{}
	for _, name := range []string{"reads", "looks", "checkers", "project-tools"} {
		for program := range t.Lists[name] {
			rules[program] = plain
		}
	}
	for program := range t.Finds {
		rules[program] = tabled
	}
	for program := range t.Subs {
		rules[program] = tabled
	}
	for program := range t.Tasks {
		rules[program] = tabled
	}
	for program := range t.Lists["shells"] {
		rules[program] = runShell
	}
	for program := range t.Lists["languages"] {
		rules[program] = language
	}
	for programs, rule := range families() {
		for program := range strings.FieldsSeq(programs) {
			rules[program] = rule
		}
	}
	return rules
}

func programRule(c *command) rule {
	if under(path.Dir(path.Clean(c.path)), "/etc/init.d", "/etc/rc.d", "/usr/local/etc/rc.d") {
		return initScript
	}
	if r, ok := c.rules[c.name]; ok {
		return r
	}
	switch {
	case strings.HasPrefix(c.name, "git-"):
		return c.rules["git"]
	case strings.HasPrefix(c.name, "mkfs."):
		return c.rules["mkfs"]
	}
	return unlisted
}

func unlisted(c *command) string {
	if !strings.HasPrefix(c.name, "-") && !c.completes() { // not a program
		c.found.unlisted(c.name)
	}
	if c.has("r", "R", "recursive") && c.has("f", "force") { // the options of rm
		c.onlyCritical(append(argsOf("rm"), c.list...), c.line())
	}
	c.mayRun(append(c.settings(), c.waiting())) //control:said-texts
	statements(c)
	rateDestructive(c)
	return plain(c)
}

func finds(c *command) []string {
	for _, t := range tables().Finds[c.name] {
		if c.fitsAll(t.Words) {
			for _, rule := range t.Rules {
				c.found.network = c.found.network || inList("network-rules", rule)
				c.hit(rule)
			}
			return t.Rules
		}
	}
	return nil
}

// rateDestructive rates destructive sub-commands of the clients of remote services.
func rateDestructive(c *command) {
	if !inList("remote-clients", c.name) || c.asksHelp() {
		return
	}
	ops := c.operandsAfter(tables().Takes[c.name]...)
	for i, a := range ops[:min(3, len(ops))] {
		words := verbWords(a.s)
		if anyIn("reading-verbs", words) {
			return
		}
		more := len(ops) > i+1 || len(words) > 1 || c.has("all", "force", "yes")
		if anyIn("destroying-verbs", words) || more && anyIn("removing-verbs", words) {
			c.hit("remote-destroy") //control:destroying-verbs
			return
		}
	}
}

func anyIn(list string, words []string) bool {
	return slices.ContainsFunc(words, func(s string) bool { return inList(list, s) })
}

var wordEnd = lazily(`[a-z][A-Z]`)

// verbWords splits a sub-command into words: db:drop, drop-table, dropTable.
func verbWords(s string) []string {
	s = wordEnd().ReplaceAllStringFunc(s, func(two string) string { return two[:1] + "-" + two[1:] })
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("-_:.", r) })
}

// plain is the rule of unknown or harmless programs. They may be wrappers: in a command
// in their arguments, only critical findings count.
func plain(c *command) string {
	if inList("word-arguments", c.name) {
		return c.passedOn()
	}
	if at := slices.IndexFunc(c.list, func(a arg) bool { return dangerous(programName(a.s)) && !strings.HasSuffix(a.s, "/") }); at >= 0 {
		c.onlyCritical(c.list[at:], c.line())
	}
	for i, a := range c.list {
		if dangerous(firstWord(a.s)) && strings.Contains(a.s, " ") && !inList("text-options", c.at(i-1)) {
			c.onlyCritical(argsOf("sh", "-c", a.s), c.line())
		}
	}
	return c.passedOn()
}

func statements(c *command) {
	if slices.ContainsFunc(c.list, func(a arg) bool { return strings.Contains(a.s, " ") && statementDestroys(a.s) }) {
		c.hit("database-destroy")
	}
}

// tabled is the rule of the programs that the tables describe: by their words, their
// sub-commands, or the tasks that destroy a database.
func tabled(c *command) string {
	databaseTask(c)
	if slices.Contains(finds(c), "secret-read") {
		return secret
	}
	statements(c)
	if out, ok := subcommand(c); ok {
		return out
	}
	rateDestructive(c)
	return plain(c)
}

func subcommand(c *command) (string, bool) {
	subs := tables().Subs[c.name]
	if c.asksHelp() || len(subs) == 0 {
		return unknown, false
	}
	readings := operandReadings(c)
	for _, r := range subs {
		for _, ops := range readings {
			if !fitsAny(r.Subs, ops, c) {
				continue
			}
			if len(r.Rule) == 0 || c.exactly(r.Unless...) {
				return c.passedOn(), true
			}
			return applySubRule(c, r.Rule[0], ops), true
		}
	}
	if readings[0].at(0) == unknown {
		c.hit("unknown-command")
	}
	return "", false
}

func operandReadings(c *command) []list {
	ops := c.operandsAfter(tables().Takes[c.name]...)
	out := []list{ops}
	for i, a := range c.list {
		if len(a.s) < 2 || a.s[0] != '-' {
			if before := c.at(i - 1); len(ops) > 1 && len(before) > 1 && before[0] == '-' && !strings.Contains(before, "=") {
				out = append(out, ops[1:])
			}
			break
		}
	}
	return out
}

// fitsAny reports whether the operands begin with one of the sub-commands.
func fitsAny(subs []string, ops list, c *command) bool {
	goals := c.is("mvn", "mvnw", "gradle", "gradlew", "sbt", "lein") // may be any operand
	for _, s := range subs {
		switch {
		case s == "-":
			if len(ops) == 0 {
				return true
			}
		case s[0] == '-':
			for _, a := range c.list {
				if a.s == s || strings.HasSuffix(s, "*") && strings.HasPrefix(a.s, strings.TrimSuffix(s, "*")) {
					return true
				}
			}
		case len(ops) == 0:
		case s == "*" || fitsWord(s, ops, goals):
			return true
		}
	}
	return false
}

// fitsWord reports whether the operands match one sub-command.
func fitsWord(s string, ops list, anywhere bool) bool {
	first, second, two := strings.Cut(s, ":")
	if two && len(ops) > 1 && first == ops[0].s && (second == "*" || second == ops[1].s) {
		return true
	}
	for i, a := range ops {
		if i > 0 && !anywhere {
			break
		}
		if a.s == s || two && second == "*" && strings.HasPrefix(a.s, first+":") {
			return true
		}
		if ok, err := path.Match(s, a.s); strings.Contains(s, "*") && (!two || anywhere) && err == nil && ok {
			return true
		}
	}
	return false
}

// applySubRule records the rule of a sub-command, and rates the other arguments of the
// command.
func applySubRule(c *command, name string, ops list) string {
	c.found.network = c.found.network || inList("network-rules", name)
	switch name {
	case "infrastructure-delete":
		deleteInfrastructure(c)
		return unknown
	case "package-config-go":
		if c.exactly("-w", "-u") {
			c.hit("package-setting")
		}
		return unknown
	case "package-config":
		packageSetting(c)
		return unknown
	case "cloud-read":
		return unknown
	case "auth-status":
		if c.has("t", "show-token") {
			c.hit("secret-read")
			return secret
		}
		return unknown
	case "container":
		container(c, ops)
	case "packages", "package-run":
		packageOptions(c)
		runPackage(c, name, ops)
	case "remote-change":
		posted(c)
	case "git-fetch":
		released(c)
		cloned(c, ops)
	case "infrastructure":
		if at := c.index("--"); at >= 0 && at+1 < len(c.list) && c.exactly("exec", "run", "debug") {
			c.exec(c.list[at+1:])
		}
	}
	c.hit(name)
	if name == "secret-read" {
		return secret
	}
	return unknown
}

// runPackage follows the command passed to a package runner.
func runPackage(c *command, name string, ops list) {
	runs := oneOf(ops.at(0), "exec", "x", "dlx")
	if name != "package-run" && !runs {
		return
	}
	if v, ok := c.option("c", "call"); ok {
		c.nested(v)
	}
	if runs || ops.at(0) == "run" {
		ops = ops[1:]
	}
	switch {
	case len(ops) == 0:
	case startsWith(ops[0].s, "https://", "http://", "git+", "git://", "github:", "file:"):
		c.hit("remote-code")
	case c.is("yarn") && len(ops) == 1:
		c.nested(ops[0].s)
	default:
		c.exec(c.from(c.index(ops[0].s)))
	}
}
