-- +goose Up
CREATE TABLE deliveries (
	seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	key TEXT UNIQUE,
	event TEXT NOT NULL,
	thread TEXT NOT NULL,
	sender TEXT NOT NULL,
	priority BIGINT NOT NULL,
	payload BYTEA,
	received BIGINT NOT NULL,
	done BIGINT,
	note TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_open ON deliveries (thread, seq) WHERE done IS NULL;
CREATE INDEX deliveries_done ON deliveries (done) WHERE done IS NOT NULL;

CREATE TABLE leases (
	key TEXT NOT NULL PRIMARY KEY,
	owner TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	until BIGINT NOT NULL,
	not_before BIGINT NOT NULL,
	attempts BIGINT NOT NULL,
	wanted BIGINT NOT NULL
);
CREATE INDEX leases_taken ON leases (until) WHERE owner <> '' OR wanted = 1;

CREATE TABLE sessions (
	n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	thread TEXT NOT NULL,
	repo TEXT NOT NULL,
	requester TEXT NOT NULL,
	state TEXT NOT NULL,
	created BIGINT NOT NULL,
	version BIGINT NOT NULL,
	doc BYTEA NOT NULL
);
CREATE INDEX sessions_thread ON sessions (thread, n);

CREATE TABLE events (
	session TEXT NOT NULL,
	seq BIGINT NOT NULL,
	time BIGINT NOT NULL,
	turn BIGINT NOT NULL,
	type TEXT NOT NULL,
	v BIGINT NOT NULL,
	data BYTEA,
	prev TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (session, seq)
);

CREATE TABLE heads (
	session TEXT NOT NULL PRIMARY KEY,
	seq BIGINT NOT NULL,
	hash TEXT NOT NULL
);

CREATE TABLE intents (
	n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key TEXT NOT NULL UNIQUE,
	session TEXT NOT NULL,
	state TEXT NOT NULL,
	doc BYTEA NOT NULL
);
CREATE INDEX intents_open ON intents (session, n) WHERE state IN ('intended', 'attempted');

CREATE TABLE approvals (
	n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	session TEXT NOT NULL,
	state TEXT NOT NULL,
	deadline BIGINT NOT NULL,
	doc BYTEA NOT NULL
);
CREATE INDEX approvals_open ON approvals (session, n) WHERE state IN ('pending', 'approved');

CREATE TABLE meta (
	key TEXT NOT NULL PRIMARY KEY,
	value BYTEA NOT NULL
);

-- The log is append-only, also for those who connect by hand.
-- +goose StatementBegin
CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'events are append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_append_only();
