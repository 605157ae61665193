-- What is left of sessions that were deleted. The log stays append-only but for these.
-- +goose Up
CREATE TABLE deleted (
	session TEXT NOT NULL PRIMARY KEY,
	doc BLOB NOT NULL
) WITHOUT ROWID;
DROP TRIGGER events_no_delete;
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM deleted WHERE session = OLD.session) BEGIN
	SELECT RAISE(ABORT, 'events are append-only');
END;
-- +goose StatementEnd
