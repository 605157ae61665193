-- +goose Up
CREATE TABLE deliveries (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	key TEXT UNIQUE,
	event TEXT NOT NULL,
	thread TEXT NOT NULL,
	sender TEXT NOT NULL,
	priority INTEGER NOT NULL,
	payload BLOB,
	received INTEGER NOT NULL,
	done INTEGER,
	note TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_open ON deliveries (thread, seq) WHERE done IS NULL;
CREATE INDEX deliveries_done ON deliveries (done) WHERE done IS NOT NULL;

CREATE TABLE leases (
	key TEXT NOT NULL PRIMARY KEY,
	owner TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	until INTEGER NOT NULL,
	not_before INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	wanted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX leases_taken ON leases (until) WHERE owner <> '' OR wanted = 1;

CREATE TABLE sessions (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	thread TEXT NOT NULL,
	repo TEXT NOT NULL,
	requester TEXT NOT NULL,
	state TEXT NOT NULL,
	created INTEGER NOT NULL,
	version INTEGER NOT NULL,
	doc BLOB NOT NULL
);
CREATE INDEX sessions_thread ON sessions (thread, n);

CREATE TABLE events (
	session TEXT NOT NULL,
	seq INTEGER NOT NULL,
	time INTEGER NOT NULL,
	turn INTEGER NOT NULL,
	type TEXT NOT NULL,
	v INTEGER NOT NULL,
	data BLOB,
	prev TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (session, seq)
);

CREATE TABLE heads (
	session TEXT NOT NULL PRIMARY KEY,
	seq INTEGER NOT NULL,
	hash TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE intents (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	key TEXT NOT NULL UNIQUE,
	session TEXT NOT NULL,
	state TEXT NOT NULL,
	doc BLOB NOT NULL
);
CREATE INDEX intents_open ON intents (session, n) WHERE state IN ('intended', 'attempted');

CREATE TABLE approvals (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	session TEXT NOT NULL,
	state TEXT NOT NULL,
	deadline INTEGER NOT NULL,
	doc BLOB NOT NULL
);
CREATE INDEX approvals_open ON approvals (session, n) WHERE state IN ('pending', 'approved');

CREATE TABLE meta (
	key TEXT NOT NULL PRIMARY KEY,
	value BLOB NOT NULL
) WITHOUT ROWID;

-- The log is append-only, also for those who open the file by hand.
-- +goose StatementBegin
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN
	SELECT RAISE(ABORT, 'events are append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN
	SELECT RAISE(ABORT, 'events are append-only');
END;
-- +goose StatementEnd
