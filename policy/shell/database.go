package shell

import (
	"strings"
)

var (
	sqlDestroys = lazily(`(?i)\.drop\(|\b(?:drop\s+(?:database|schema|keyspace|user|role|owned|table|view|materialized|tablespace|collection|index|sequence|extension)|flushall|flushdb|dropDatabase|shutdown\b|config\s+set|truncate\b|delete\s+from\s+\w+\s*(?:;|$)|(?:deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|debug\s+sleep|grant\s+all|alter\s+(?:user|role))`)
	sqlChanges  = lazily(`(?i)\b(?:delete\s+from|update\s+[\w."]+\s+set|insert\s+into|replace\s+into|alter\s+(?:table|database|schema)|create\s+(?:table|index|unique|database|user|role|schema|view|extension|function)|grant\b|revoke\b|(?:insert|update|delete|replace)(?:One|Many)|bulkWrite|createIndex|renameCollection)\b`)
	sqlRuns     = lazily(`(?i)(?:\\!|\.shell|\.system|^system\s|;\s*system\s|to\s+program|from\s+program|into\s+outfile|load_file|xp_cmdshell|pg_read_file|lo_import|load_extension|\.load\b|readfile\(|writefile\()`)
	sqlCommand  = lazily(`(?i)(?:\\!|\.shell|\.system|\bsystem)\s+(.*)|program\s+'([^']*)'`)
)

func (m *machine) database(c command) {
	text := strings.Join(texts(c.args), " ")
	if m.given() {
		text += "\n" + m.stdin()
	}
	if c.name == "dropdb" || c.name == "dropuser" || c.name == "mysqladmin" && c.exactly("drop", "shutdown", "kill") {
		m.r.hit("database-destroy", c.line())
		return
	}
	m.r.step(len(text) * 16)
	for _, s := range sqlCommand().FindAllStringSubmatch(text, 4) {
		m.nested(s[1] + s[2])
	}
	if c.name == "pg_restore" && c.has("clean") || c.exactly("-c") && c.name == "pg_restore" {
		m.r.hit("database-destroy", c.line())
		return
	}
	switch {
	case sqlRuns().MatchString(text):
		m.r.hit("program-runs", c.line())
	case sqlDestroys().MatchString(text):
		m.r.hit("database-destroy", c.line())
	case sqlChanges().MatchString(text), c.name == "pg_restore" && !c.has("l", "list"), c.name == "redis-cli" && c.exactly("del", "DEL", "unlink", "UNLINK"):
		m.databaseWrite(c, text)
	}
}

// sqlUpdateAll is an update of every row of a table.
var sqlUpdateAll = lazily(`(?i)\bupdate\s+[\w."]+\s+set\b`)

// databaseWrite rates a change of data. A database that is a file of the
// workspace is changed like any other file of it.
func (m *machine) databaseWrite(c command, text string) {
	m.r.changes = true
	if c.name == "sqlite3" || c.name == "duckdb" {
		return
	}
	if sqlUpdateAll().MatchString(text) && !strings.Contains(strings.ToLower(text), "where") {
		m.r.hit("database-destroy", c.line())
		return
	}
	m.r.hit("database-write", c.line())
}

// databaseTasks are the sub-commands with which frameworks and migration
// tools destroy a database.
var databaseTasks = [...]struct{ names, tasks string }{
	{"rails rake hanami", "db:drop db:reset db:purge db:truncate_all db:drop:all db:migrate:reset db:schema:load db:environment:set"},
	{"artisan", "migrate:fresh migrate:reset migrate:refresh db:wipe"},
	{"manage.py django-admin", "flush reset_db sqlflush"},
	{"mix", "ecto.drop ecto.reset"},
	{"console", "doctrine:database:drop doctrine:schema:drop"},
	{"sequelize sequelize-cli typeorm mikro-orm", "db:drop schema:drop database:drop db:migrate:undo:all"},
	{"flyway", "clean"},
	{"liquibase", "dropAll drop-all"},
	{"goose dbmate geni", "reset drop down-to"},
	{"migrate golang-migrate", "drop"},
	{"wp", "reset drop"},
	{"drush", "sql-drop sql:drop"},
	{"etcdctl", "del"},
	{"rabbitmqctl", "reset force_reset"},
	{"influx", "delete"},
}

// databaseTask rates the tasks of frameworks that destroy a database.
func (m *machine) databaseTask(c command) {
	for _, t := range databaseTasks {
		if hasWord(t.names, c.name) && c.exactly(strings.Fields(t.tasks)...) && !c.asksHelp() {
			m.r.hit("database-destroy", c.line())
			return
		}
	}
	switch {
	case c.name == "prisma" && (c.exactly("reset") || c.has("force-reset", "accept-data-loss")),
		hasWord("diesel sqlx supabase", c.name) && c.exactly("reset", "drop"),
		c.name == "alembic" && c.exactly("downgrade") && c.exactly("base"),
		hasWord("kafka-topics kafka-topics.sh kafka-consumer-groups", c.name) && c.has("delete"),
		c.name == "heroku" && c.exactly("pg:reset"):
		m.r.hit("database-destroy", c.line())
	}
}
