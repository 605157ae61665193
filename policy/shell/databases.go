package shell

import "strings"

var (
	sqlDestroys = lazily(`(?i)\.drop\(|\b(?:drop\s+(?:database|schema|keyspace|user|role|owned|table|view|materialized|tablespace|collection|index|sequence|extension)|flushall|flushdb|dropDatabase|shutdown\b|config\s+set|truncate\b|delete\s+from\s+\w+\s*(?:;|$)|(?:deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|debug\s+sleep|grant\s+all|alter\s+(?:user|role))`)
	sqlChanges  = lazily(`(?i)\b(?:delete\s+from|update\s+[\w."]+\s+set|insert\s+into|replace\s+into|alter\s+(?:table|database|schema)|create\s+(?:table|index|unique|database|user|role|schema|view|extension|function)|grant\b|revoke\b|(?:insert|update|delete|replace)(?:One|Many)|bulkWrite|createIndex|renameCollection)\b`)
	sqlRuns     = lazily(`(?i)(?:\\!|\.shell|\.system|^system\s|;\s*system\s|to\s+program|from\s+program|into\s+outfile|load_file|xp_cmdshell|pg_read_file|lo_import|load_extension|\.load\b|readfile\(|writefile\()`)
	sqlCommand  = lazily(`(?i)(?:\\!|\.shell|\.system|\bsystem)\s+(.*)|program\s+'([^']*)'`)
	sqlUpdates  = lazily(`(?i)\bupdate\s+[\w."]+\s+set\b`)
)

// database follows the clients of databases, by the text they are given.
func database(c *command, f *finding) string {
	databaseTask(c, f)
	text := strings.Join(c.Texts(), " ") + "\n" + c.givenText()
	f.step(len(text) * 16)
	for _, s := range sqlCommand().FindAllStringSubmatch(text, 4) {
		c.nested(s[1] + s[2])
	}
	switch {
	case c.is("dropdb", "dropuser"), c.is("mysqladmin") && c.Exactly("drop", "shutdown", "kill"), c.is("pg_restore") && (c.Has("clean") || c.Exactly("-c")):
		f.hit("database-destroy", c.line())
	case sqlRuns().MatchString(text):
		f.hit("program-runs", c.line())
	case sqlDestroys().MatchString(text):
		f.hit("database-destroy", c.line())
	case sqlChanges().MatchString(text), c.is("pg_restore") && !c.Has("l", "list"), c.is("redis-cli") && c.Exactly("del", "DEL", "unlink", "UNLINK"):
		f.changes = true
		switch {
		case c.is("sqlite3", "duckdb"): // a file of the workspace, changed like any other
		case sqlUpdates().MatchString(text) && !strings.Contains(strings.ToLower(text), "where"):
			f.hit("database-destroy", c.line())
		default:
			f.hit("database-write", c.line())
		}
	}
	return unknown
}

// databaseTask rates the tasks of frameworks and of migration tools that
// destroy a database.
func databaseTask(c *command, f *finding) {
	destroys := c.Exactly(tables().tasks[c.name]...) && !c.asksHelp()
	switch c.name {
	case "prisma":
		destroys = c.Exactly("reset") || c.Has("force-reset", "accept-data-loss")
	case "alembic":
		destroys = c.Exactly("downgrade") && c.Exactly("base")
	case "kafka-topics", "kafka-topics.sh", "kafka-consumer-groups":
		destroys = c.Has("delete")
	}
	if destroys {
		f.hit("database-destroy", c.line())
	}
}

// migration is for frameworks and migration tools.
func migration(c *command, f *finding) string {
	databaseTask(c, f)
	return subcommands(c, f)
}
