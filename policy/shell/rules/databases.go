package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

var (
	sqlDestroys = walk.Lazily(`(?i)\.drop\(|\b(?:drop\s+(?:database|schema|keyspace|user|role|owned|table|view|materialized|tablespace|collection|index|sequence|extension)|flushall|flushdb|dropDatabase|shutdown\b|config\s+set|truncate\b|delete\s+from\s+[\w."]+\s*(?:;|$)|delete\s+from\s+[\w."]+\s+where\s+(?:1\s*=\s*1|true\b)|alter\s+table\s+\S+\s+(?:drop|delete)\b|detach\s+delete|remove\s+(?:table|database|namespace)|pg_(?:terminate|cancel)_backend|swapdb|script\s+flush|(?:deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|debug\s+sleep|grant\s+all|alter\s+(?:user|role))`)
	sqlChanges  = walk.Lazily(`(?i)\b(?:delete\s+from|update\s+[\w."]+\s+set|insert\s+into|replace\s+into|alter\s+(?:table|database|schema)|create\s+(?:table|index|unique|database|user|role|schema|view|extension|function)|grant\b|revoke\b|(?:insert|update|delete|replace)(?:One|Many)|bulkWrite|createIndex|renameCollection)\b`)
	sqlRuns     = walk.Lazily(`(?i)(?:\\!|\.shell|\.system|(?:\.o(?:nce|utput)|\\o)\s*\||^system\s|;\s*system\s|to\s+program|from\s+program|into\s+outfile|load_file|xp_cmdshell|pg_read_file|lo_import|load_extension|\.load\b|readfile\(|writefile\()`)
	sqlCommand  = walk.Lazily(`(?i)(?:\\!|\.shell|\.system|\bsystem|(?:\.o(?:nce|utput)|\\o)\s*\|)\s*(.*)|program\s+'([^']*)'`)
	sqlWrites   = walk.Lazily(`(?i)(?:\.(?:once|output|backup|save|log)(?:\s+main)?|\\[ogw]|\bcopy\b[^;]*?\bto|\b(?:out|dump)file)\s+['"]?([~./][^\s'";|]*)`)
	sqlShows    = walk.Lazily(`(?i)\bshow\s+create\b`)
	sqlUpdates  = walk.Lazily(`(?i)\bupdate\s+[\w."]+\s+set\b`)
)

// database follows the clients of databases, by the text they are given.
func database(c *walk.Command) string {
	databaseTask(c)
	text := sqlShows().ReplaceAllString(strings.Join(c.Texts(), " "), "show ") + "\n" + c.GivenText()
	for _, o := range []string{"f", "file", "init"} {
		if file, ok := c.Value(o); ok || len(o) > 1 {
			own, _ := c.File(cmp.Or(file, c.At(c.Index("-"+o)+1)))
			text += own
		}
	}
	c.Found.Step(len(text) * 16)
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", c.Name)
	}
	for _, s := range sqlCommand().FindAllStringSubmatch(text, 4) {
		c.Nested(s[1] + s[2])
	}
	statementWrites(c, text)
	switch {
	case c.Is("dropdb", "dropuser"), c.Is("mysqladmin") && c.Exactly("drop", "shutdown", "kill"), c.Is("pg_restore") && (c.Has("clean") || c.Exactly("-c")):
		destroysData(c)
	case sqlRuns().MatchString(text):
		c.Hit("program-runs")
	case sqlDestroys().MatchString(text):
		destroysData(c)
	case sqlChanges().MatchString(text), c.Is("pg_restore") && !c.Has("l", "list"), c.Is("redis-cli", "valkey-cli", "keydb-cli") && c.Exactly("del", "DEL", "unlink", "UNLINK"):
		c.Found.Changes = true
		switch {
		case fileDatabase(c): // changed like any other
		case !mark.Known(text) && c.Exactly("del", "DEL", "unlink", "UNLINK"):
			c.Hit("database-destroy")
		case sqlUpdates().MatchString(text) && !strings.Contains(strings.ToLower(text), "where"):
			c.Hit("database-destroy")
		default:
			c.Hit("database-write")
		}
	}
	return unknown
}

// statementWrites rates the files that statements write.
func statementWrites(c *walk.Command, text string) {
	for _, s := range sqlWrites().FindAllStringSubmatch(text, 8) {
		c.Write(s[1])
	}
}

// fileDatabase reports whether the database is a file of the workspace.
func fileDatabase(c *walk.Command) bool {
	if !c.Is("sqlite3", "duckdb", "litecli") {
		return false
	}
	file := c.OperandsAfter("cmd", "init", "separator", "nullvalue", "newline", "c", "s", "e").At(0)
	at := zone.Of(c.Resolve(file))
	return strings.HasPrefix(file, ":") || mark.Known(file) && (at == zone.Workspace || at == zone.Temp || at == zone.Root || at == zone.Nowhere)
}

// destroysData rates statements that destroy data. What a file of the
// workspace loses is no more than the file.
func destroysData(c *walk.Command) {
	switch {
	case c.Exactly(":memory:"):
	case fileDatabase(c):
		c.Hit("database-write")
	default:
		c.Hit("database-destroy") //control:destroyed-data
		if databaseAway(c) {
			c.Hit("database-destroy-remote") //control:remote-database
		}
	}
}

// databaseAway reports whether a database is on another machine, as far as the
// command says: a name with a dot.
func databaseAway(c *walk.Command) bool {
	host, _ := c.Value("h", "host", "S", "server")
	hosts := []string{host}
	for _, a := range c.List {
		if _, rest, ok := strings.Cut(a.S, "://"); ok && !strings.Contains(a.S, " ") {
			hosts = append(hosts, rest[strings.LastIndexByte(rest, '@')+1:])
		}
		if _, rest, ok := strings.Cut(a.S, "host="); ok {
			hosts = append(hosts, walk.FirstWord(rest))
		}
	}
	return slices.ContainsFunc(hosts, func(h string) bool {
		h, _, _ = strings.Cut(h, "/")
		h, _, _ = strings.Cut(h, ":")
		return strings.Contains(h, ".") && !zone.Local(h)
	})
}

// statementDestroys reports whether a text that some client is given is a statement
// that destroys data.
func statementDestroys(text string) bool {
	at := sqlDestroys().FindStringIndex(text)
	return at != nil && strings.Trim(text[:at[0]], " \t\n;\"'") == ""
}

// databaseTask rates the tasks of frameworks and of migration tools that
// destroy a database.
func databaseTask(c *walk.Command) {
	tasks, listed := known.Tables().Tasks[c.Name]
	destroys := listed && c.Fits(tasks) && !c.AsksHelp() || c.Exactly("dbshell", "dbconsole", "dbaccess") && sqlDestroys().MatchString(c.Waiting())
	if code := c.At(c.Index("runner", "shell", "tinker") + 1); c.Is("rails", "artisan", "manage.py") && strings.Contains(code, ".") && c.Exactly("runner", "shell", "tinker") {
		walk.ScanCode(c.With("ruby", nil), code)
	}
	if destroys {
		c.Hit("database-destroy")
	}
}

// migration is for frameworks and migration tools.
func migration(c *walk.Command) string {
	databaseTask(c)
	return subcommands(c)
}
