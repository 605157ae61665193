package shell

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// families returns the rules by their names in tables.txt. A program needs no rule if its
// effect depends only on its words, but a line there.
func families() map[string]rule {
	return map[string]rule{
		"alias": alias, "builtin": builtin, "commandBuiltin": commandBuiltin, "echo": echo, "eval": eval,
		"printenv": printenv, "printfBuiltin": printfBuiltin, "pwd": pwd, "readBuiltin": readBuiltin,
		"setBuiltin": setBuiltin, "source": source, "trap": trap,
		"awk": awk, "grep": grep, "makeTemp": makeTemp, "pathTool": pathTool,
		"processes": processes, "sed": sed, "tee": tee, "textTool": textTool, "yes": yes,
		"archive": archive, "copyFiles": copyFiles, "create": create, "dd": dd,
		"listFiles": listFiles, "permissions": permissions, "removeFiles": removeFiles,
		"rsync": rsync, "searchFiles": searchFiles,
		"build": build, "console": console,
		"scriptableTool": scriptableTool, "taskRunner": taskRunner,
		"cloud": cloud, "database": database, "kill": kill, "makeFilesystem": makeFilesystem,
		"download": download, "gitTool": gitTool, "netcat": netcat, "openssl": openssl, "remoteCopy": remoteCopy,
		"parallel": parallel, "sender": sender, "ssh": ssh, "xargs": xargs,
	}
}

// rulesByProgram returns the rules of all known programs.
func rulesByProgram() map[string]rule {
	rules := map[string]rule{}
	add := func(r rule, programs []string) {
		for _, program := range programs {
			rules[program] = r
		}
	}
	add(plain, slices.Collect(maps.Keys(tables().rows["reads"])))
	for _, list := range []string{"looks", "checkers", "project-tools"} {
		add(plain, wordsIn(list))
	}
	add(tabled, slices.Collect(maps.Keys(tables().rows["rule"])))
	add(runShell, wordsIn("shells"))
	add(language, wordsIn("languages"))
	family := families()
	for program, rows := range tables().rows["as"] {
		rules[program] = family[rows[0][0][0]]
	}
	add(wrapper, slices.Collect(maps.Keys(tables().rows["wrap"])))
	return rules
}

func programRule(c *command) rule {
	if under(path.Dir(path.Clean(c.path)), "/etc/init.d", "/etc/rc.d", "/usr/local/etc/rc.d") {
		c.name = "service"
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
	switch {
	case strings.ContainsAny(c.path, " \t\n,;()|&<>'\"`"): // a text, of which the shell makes a command elsewhere
		c.hit("unknown-command")
	case !strings.HasPrefix(c.name, "-") && !c.completes(): // not a program
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

// rated applies the first line of the tables that fits the words of a command, and reports
// whether there is one.
func (c *command) rated() (rules []string, ok bool) {
	for _, r := range rowsOf("rule", c.name) {
		if !c.fitsAll(r[0]) {
			continue
		}
		for _, name := range r[1] {
			c.found.network = c.found.network || inList("network-rules", name)
			c.rateFurther(name)
			c.hit(name)
		}
		return r[1], true
	}
	return nil, false
}

// rateFurther rates the other arguments of a command, by the rule of its sub-command.
func (c *command) rateFurther(rule string) {
	switch rule {
	case "container":
		container(c)
	case "packages", "package-run":
		runPackage(c)
	case "remote-change":
		sendsSecret(c, c.givenText())
	case "git-fetch":
		cloned(c, c.operands())
	}
}

// rateDestructive rates destructive sub-commands of the clients of remote services.
func rateDestructive(c *command) {
	if !inList("remote-clients", c.name) || c.asksHelp() {
		return
	}
	ops := c.operands()
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

// verbWords splits a sub-command into words: db:drop, drop-table.
func verbWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("-_:.", r) })
}

// plain is the rule of unknown or harmless programs, which may be wrappers.
func plain(c *command) string {
	if !inList("word-arguments", c.name) {
		mayWrap(c)
	}
	return c.passedOn()
}

// mayWrap follows a command in the arguments. Only critical findings count.
func mayWrap(c *command) {
	if at := slices.IndexFunc(c.list, func(a arg) bool { return dangerous(programName(a.s)) && !strings.HasSuffix(a.s, "/") }); at >= 0 {
		c.onlyCritical(c.list[at:], c.line())
	}
	for i, a := range c.list {
		if dangerous(firstWord(a.s)) && strings.Contains(a.s, " ") && !inList("text-options", c.at(i-1)) {
			c.onlyCritical(argsOf("sh", "-c", a.s), c.line())
		}
	}
}

func statements(c *command) {
	if slices.ContainsFunc(c.list, func(a arg) bool { return strings.Contains(a.s, " ") && statementDestroys(a.s) }) {
		c.hit("database-destroy")
	}
}

// tabled is the rule of the programs that the tables describe by their words.
func tabled(c *command) string {
	rules, ok := c.rated()
	switch {
	case anyIn("secret-rules", rules):
		return secret
	case ok && len(rules) == 0:
		return c.passedOn()
	case !ok && c.operands().at(0) == unknown && slices.ContainsFunc(rowsOf("rule", c.name), hasSubcommands):
		c.hit("unknown-command")
	}
	statements(c)
	if !ok {
		rateDestructive(c)
	}
	return plain(c)
}

func hasSubcommands(r row) bool {
	return slices.ContainsFunc(r[0], func(word string) bool { return strings.HasPrefix(word, "^") })
}

// fitsAll reports whether the arguments of the command match the words of a table line.
// tables.txt describes their forms.
func (c *command) fitsAll(words []string) bool {
	asked, fits := false, false
	for _, w := range words {
		if not, ok := strings.CutPrefix(w, "!"); ok {
			if c.fits(not) {
				return false
			}
			continue
		}
		asked = true
		fits = fits || c.fits(w)
	}
	return fits || !asked
}

func (c *command) fits(word string) bool {
	if one, other, ok := strings.Cut(word, "&"); ok {
		return c.fits(one) && c.fits(other)
	}
	switch word {
	case "?":
		return c.asksHelp()
	case "0":
		return len(c.list) == 0
	case "^":
		return len(c.operands()) == 0
	case "*":
		return len(c.operands()) > 0
	case "**":
		return len(c.operands()) > 1
	}
	switch rest := word[1:]; word[0] {
	case '~':
		return c.has(rest)
	case '%':
		return c.contains(rest)
	case '^':
		return c.begins(rest)
	}
	return slices.ContainsFunc(c.list, func(a arg) bool { return like(word, a.s) })
}

// begins reports whether the operands begin with a sub-command. The first one may also be
// the value of the option before it.
func (c *command) begins(word string) bool {
	ops := c.operands()
	first, second, two := strings.Cut(word, ":")
	is := func(ops list) bool {
		return len(ops) > 0 && like(word, ops[0].s) || two && len(ops) > 1 && first == ops[0].s && like(second, ops[1].s)
	}
	before := c.at(c.index(ops.at(0)) - 1)
	return is(ops) || len(before) > 1 && before[0] == '-' && !strings.Contains(before, "=") && is(ops.from(1))
}

// like reports whether a text is a word of the tables, in which "*" is any text.
func like(word, s string) bool {
	begin, end, open := strings.Cut(word, "*")
	return s == word || open && len(s) >= len(begin)+len(end) && strings.HasPrefix(s, begin) && strings.HasSuffix(s, end)
}

// runPackage follows the command passed to a package manager, and rates its options that
// name a program or the directory to install into.
func runPackage(c *command) {
	if t, ok := c.option("target", "root", "prefix"); ok {
		c.write(t)
	}
	ops := c.operands()
	runs := oneOf(ops.at(0), "exec", "x", "dlx")
	if !runs && !inList("package-runners", c.name) {
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
	default:
		c.exec(c.from(c.index(ops[0].s)))
	}
}
