-- What is left of sessions that were deleted. The log stays append-only but for these.
-- +goose Up
CREATE TABLE deleted (
	session TEXT NOT NULL PRIMARY KEY,
	doc BYTEA NOT NULL
);
DROP TRIGGER events_append_only ON events;
CREATE TRIGGER events_append_only BEFORE UPDATE OR TRUNCATE ON events
	FOR EACH STATEMENT EXECUTE FUNCTION events_append_only();
-- +goose StatementBegin
CREATE FUNCTION events_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT 1 FROM deleted WHERE session = OLD.session) THEN
		RAISE EXCEPTION 'events are append-only';
	END IF;
	RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER events_kept BEFORE DELETE ON events
	FOR EACH ROW EXECUTE FUNCTION events_kept();
