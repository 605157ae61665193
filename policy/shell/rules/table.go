// Package rules says what programs do with their arguments: one file per
// family. A walk hands it each command that it meets.
package rules

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// families says which rule follows a program: a rule of its own goes here. What
// a program does by its sub-command alone needs no rule of its own but a line
// in tables.txt, see rulesByProgram.
func families() map[string]walk.Rule {
	return map[string]walk.Rule{
		// Interpreters.
		"vi vim nvim view ex ed emacs": editor, "gdb lldb": debugger, "dc": calculator, "m4": macros, "man info": manual, "fzf sk": finder,
		"gcc cc clang g++ tcc clang++": compiler, "rustc javac java kotlinc dotnet zig swiftc ocamlopt dmd": builder,
		// Commands in commands.
		"at batch": later, "watch": watch, "hyperfine pee": benchmark,
		// Texts.
		"jq gojq jaq": jq, "basename dirname realpath readlink": pathTool, "seq": sequence, "mktemp": makeTemp,
		// Files.
		"rm unlink rmdir srm trash del rimraf trash-put shred scrub wipe": removeFiles, "mv": move, "cp install ln link gcp ditto": copyFiles, "rsync": rsync,
		"touch mkdir mkfifo mknod truncate fallocate": create, "chmod chown chgrp": permissions, "setfacl chattr chcon": attributes, "dd": dd,
		"tar gtar bsdtar unzip 7z 7za 7zr 7zz cpio unrar zip gzip gunzip bzip2 xz zstd ar": archive,
		"find gfind": searchFiles, "fd fdfind": fd, "ls dir exa eza lsd": listFiles, "locate plocate mlocate": locate,
		// The machine.
		"mkfs mke2fs mkswap mkntfs newfs": format, "ip": namespaces, "loginctl": sessions, "crontab": crontab,
		"kill": kill, "pkill killall killall5 skill slay xkill taskkill": killByName, "fuser": fuser, "dmesg": plain,
		// The network.
		"curl wget wget2 http https xh aria2c axel fetch lwp-download lwp-request GET HEAD POST wsget lynx w3m links elinks curlie youtube-dl yt-dlp gdown gallery-dl you-get": download,
		"nc ncat netcat socat telnet nmap-ncat": netcat, "ssh mosh autossh sshpass rsh slogin dbclient": ssh, "openssl": openssl,
		"scp sftp ftp lftp rcp tftp rclone croc wormhole magic-wormhole": remoteCopy, "mail mailx sendmail mutt msmtp swaks": mail,
		"dig nslookup host drill ping ping6 traceroute tracepath mtr whois getent kdig resolvectl": asksName,
		"git hub": git, "gh glab": forge, "logger wall write notify-send": announce,
		// Packages.
		"go": goTool, "npm pnpm yarn": packageTool, "make gmake just task rake mage": build, "cmake": cmake,
		"poetry pipenv uv pdm rye hatch bundle conda mamba mise asdf direnv nix op doppler aws-vault pixi rbenv pyenv nvm dotenvx npx bunx pnpx cargo hatchling chamber infisical devbox flox nodemon concurrently turbo npm-run-all cross-env wireit tsx-watch coverage": runner,
		// Containers, clusters, clouds, databases.
		"docker podman nerdctl": engine, "aws gcloud az gsutil s3cmd mc bq azcopy b2 s5cmd": cloud,
		"ansible vagrant salt pdsh clush pssh dsh": elsewhere,
		"psql mysql mariadb sqlite3 redis-cli valkey-cli keydb-cli mongo mongosh duckdb cqlsh clickhouse clickhouse-client sqlcmd dropdb dropuser mysqladmin createdb pg_restore sqlplus snowsql snow cockroach usql pgcli mycli litecli iredis trino presto hive beeline spark-sql impala-shell isql tsql cypher-shell surreal ysqlsh influx arangosh osqueryi vsql nzsql bteq tarantool": database,
	}
}

// rulesOf is the rules by program. They are joined when the first command is
// looked at.
var rulesOf = sync.OnceValue(rulesByProgram)

// rulesByProgram is every program that is known.
func rulesByProgram() map[string]walk.Rule {
	t := known.Tables()
	rules := map[string]walk.Rule{}
	for _, name := range []string{"reads", "looks", "checkers", "project-tools"} {
		for program := range t.Lists[name] {
			rules[program] = plain
		}
	}
	for program := range t.Finds {
		rules[program] = tabled
	}
	for program := range t.Subs {
		rules[program] = subcommands
	}
	for program := range t.Tasks {
		rules[program] = migration
	}
	maps.Copy(rules, walk.ShellRules())
	for program := range t.Lists["shells"] {
		rules[program] = shell
	}
	for program := range t.Lists["languages"] {
		rules[program] = language
	}
	walk.AddFamilies(rules, families())
	return rules
}

// RuleOf is the rule of a command.
func RuleOf(c *walk.Command) walk.Rule {
	if zone.Under(path.Dir(path.Clean(c.Path)), "/etc/init.d", "/etc/rc.d", "/usr/local/etc/rc.d") {
		return initScript
	}
	if r, ok := rulesOf()[c.Name]; ok {
		return r
	}
	switch {
	case strings.HasPrefix(c.Name, "git-"):
		return rulesOf()["git"]
	case strings.HasPrefix(c.Name, "mkfs."):
		return rulesOf()["mkfs"]
	}
	return unlisted
}

// unlisted is for a program that no rule knows.
func unlisted(c *walk.Command) string {
	if !strings.HasPrefix(c.Name, "-") && !c.Completes() { // which is no program
		c.Found.Unlisted(c.Name)
	}
	walk.SuspectValues(c)
	statements(c)
	destroying(c)
	strange(c)
	return plain(c)
}

// tabled is for programs of which the tables say what their words mean.
func tabled(c *walk.Command) string {
	if slices.Contains(finds(c), "secret-read") {
		return secret
	}
	return unknown
}

// finds records the rules that the words of a command match, and returns them.
func finds(c *walk.Command) []string {
	for _, t := range known.Tables().Finds[c.Name] {
		if c.Fits(t.Words) {
			for _, rule := range t.Rules {
				c.Found.Network = c.Found.Network || known.In("network-rules", rule)
				c.Hit(rule)
			}
			return t.Rules
		}
	}
	return nil
}

// destroying rates a sub-command that destroys something, of a client whose
// sub-commands are not in the tables, and calls over D-Bus that stop the
// machine. What a program of the project deletes is the project's own.
func destroying(c *walk.Command) {
	if c.Is("dbus-send", "busctl", "gdbus", "qdbus", "dbus") {
		busCall(c)
		return
	}
	if strings.Contains(c.Path, "/") && zone.Of(c.Resolve(c.Path)) == zone.Workspace || c.AsksHelp() || known.In("word-arguments", c.Name) {
		return
	}
	ops := c.OperandsAfter(known.Tables().Takes[c.Name]...)
	for i, a := range ops[:min(3, len(ops))] {
		words := verbWords(a.S)
		if anyIn("reading-verbs", words) {
			return
		}
		file := strings.ContainsAny(a.S, "./ ") || i == 2 && len(ops) == 3
		more := len(ops) > i+1 || len(words) > 1 || c.Has("all", "force", "yes")
		if !file && (anyIn("destroying-verbs", words) || more && anyIn("removing-verbs", words)) {
			c.Hit("remote-destroy") //control:destroying-verbs
			return
		}
	}
	if action, ok := c.Value("action", "operation", "op", "command", "verb"); ok && known.In("destroying-verbs", strings.ToLower(action)) {
		c.Hit("remote-destroy")
	}
	if c.Exactly("stop") && c.Exactly("-purge", "--purge") {
		c.Hit("remote-destroy")
	}
}

// busCall rates a call over D-Bus.
func busCall(c *walk.Command) {
	for _, a := range c.List {
		if name := a.S[strings.LastIndexByte(a.S, '.')+1:]; known.In("stopping-calls", name) {
			c.Hit("machine-stop")
		}
	}
}

func anyIn(list string, words []string) bool {
	return slices.ContainsFunc(words, func(s string) bool { return known.In(list, s) })
}

var wordEnd = walk.Lazily(`[a-z][A-Z]`)

// verbWords are the words that a sub-command is made of: db:drop, drop-table,
// dropTable.
func verbWords(s string) []string {
	s = wordEnd().ReplaceAllStringFunc(s, func(two string) string { return two[:1] + "-" + two[1:] })
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("-_:.", r) })
}

// plain is the rule of programs that are unknown or harmless. They may be
// wrappers: of a command in their arguments only what would be critical counts.
func plain(c *walk.Command) string {
	finds(c)
	if known.In("word-arguments", c.Name) {
		return c.PassOn()
	}
	for i, a := range c.List {
		if name := walk.ProgramName(a.S); walk.Dangerous(name) && !strings.HasSuffix(a.S, "/") {
			c.OnlyCritical(c.List[i:], c.Line())
			break
		}
		if walk.Dangerous(walk.FirstWord(a.S)) && strings.Contains(a.S, " ") && !known.In("text-options", c.At(i-1)) {
			c.OnlyCritical(argv.Of("sh", "-c", a.S), c.Line())
		}
	}
	return c.PassOn()
}

// statements looks for statements to a database among the arguments.
func statements(c *walk.Command) {
	if slices.ContainsFunc(c.List, func(a argv.Word) bool { return strings.Contains(a.S, " ") && statementDestroys(a.S) }) {
		c.Hit("database-destroy")
	}
}

// subcommands follows a program whose sub-commands are in the tables.
func subcommands(c *walk.Command) string {
	if slices.Contains(finds(c), "secret-read") {
		return secret
	}
	statements(c)
	if out, ok := subcommand(c); ok {
		return out
	}
	if known.In("remote-clients", c.Name) {
		destroying(c)
	}
	return plain(c)
}

func subcommand(c *walk.Command) (string, bool) {
	if c.AsksHelp() {
		return unknown, false
	}
	readings := operandReadings(c)
	for _, r := range known.Tables().Subs[c.Name] {
		for _, ops := range readings {
			if !fitsAny(r.Subs, ops, c) {
				continue
			}
			if len(r.Rule) == 0 || c.Exactly(r.Unless...) {
				return c.PassOn(), true
			}
			return implied(c, r.Rule[0], ops), true
		}
	}
	if readings[0].At(0) == unknown {
		c.Hit("unknown-command")
	}
	return "", false
}

// operandReadings are the operands of a command; when an option that nobody
// knows stands before the first, also without the first.
func operandReadings(c *walk.Command) []argv.List {
	ops := c.OperandsAfter(known.Tables().Takes[c.Name]...)
	out := []argv.List{ops}
	for i, a := range c.List {
		if len(a.S) < 2 || a.S[0] != '-' {
			if before := c.At(i - 1); len(ops) > 1 && len(before) > 1 && before[0] == '-' && !strings.Contains(before, "=") {
				out = append(out, ops[1:])
			}
			break
		}
	}
	return out
}

// fitsAny reports whether the operands begin with one of the sub-commands.
func fitsAny(subs []string, ops argv.List, c *walk.Command) bool {
	goals := c.Is("mvn", "mvnw", "gradle", "gradlew", "sbt", "lein") // any operand may be one
	for _, s := range subs {
		switch {
		case s == "-":
			if len(ops) == 0 {
				return true
			}
		case s[0] == '-':
			for _, a := range c.List {
				if a.S == s || strings.HasSuffix(s, "*") && strings.HasPrefix(a.S, strings.TrimSuffix(s, "*")) {
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

// fitsWord compares the operands with one sub-command.
func fitsWord(s string, ops argv.List, anywhere bool) bool {
	first, second, two := strings.Cut(s, ":")
	if two && len(ops) > 1 && first == ops[0].S && (second == "*" || second == ops[1].S) {
		return true
	}
	for i, a := range ops {
		if i > 0 && !anywhere {
			break
		}
		if a.S == s || two && second == "*" && strings.HasPrefix(a.S, first+":") {
			return true
		}
		if ok, err := path.Match(s, a.S); strings.Contains(s, "*") && (!two || anywhere) && err == nil && ok {
			return true
		}
	}
	return false
}

// implied records the rule of a sub-command, and looks at what else the
// command asks for.
func implied(c *walk.Command, name string, ops argv.List) string {
	c.Found.Network = c.Found.Network || known.In("network-rules", name)
	switch name {
	case "infrastructure-delete":
		deleteInfrastructure(c)
		return unknown
	case "package-config-go":
		goSetting(c)
		return unknown
	case "package-config":
		packageSetting(c)
		return unknown
	case "cloud-read":
		return unknown
	case "auth-status":
		if c.Has("t", "show-token") {
			c.Hit("secret-read")
			return secret
		}
		return unknown
	case "container":
		container(c, ops)
	case "packages", "package-run":
		packageSource(c)
		runPackage(c, name, ops)
	case "remote-change":
		posted(c)
	case "git-fetch":
		released(c)
		cloned(c, ops)
	case "infrastructure":
		if at := c.Index("--"); at >= 0 && at+1 < len(c.List) && c.Exactly("exec", "run", "debug") {
			c.Exec(c.List[at+1:])
		}
	}
	c.Hit(name)
	if name == "secret-read" {
		return secret
	}
	return unknown
}

// runPackage follows the command that a package runner is given.
func runPackage(c *walk.Command, name string, ops argv.List) {
	runs := walk.OneOf(ops.At(0), "exec", "x", "dlx")
	if name != "package-run" && !runs {
		return
	}
	if v, ok := c.Value("c", "call"); ok {
		c.Nested(v)
	}
	if runs || ops.At(0) == "run" {
		ops = ops[1:]
	}
	switch {
	case len(ops) == 0:
	case startsWith(ops[0].S, "https://", "http://", "git+", "git://", "github:", "file:"):
		c.Hit("remote-code")
	case c.Is("yarn") && len(ops) == 1:
		c.Nested(ops[0].S)
	default:
		c.Exec(c.From(c.Index(ops[0].S)))
	}
}

func wordsOf(text string) argv.List { return argv.Of(strings.Fields(text)...) }
