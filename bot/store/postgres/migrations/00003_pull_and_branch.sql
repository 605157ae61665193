-- A check is of a pull request or a branch: the session of either is looked up.
-- +goose Up
ALTER TABLE sessions ADD COLUMN pull BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN branch TEXT NOT NULL DEFAULT '';
UPDATE sessions SET
	pull = COALESCE((convert_from(doc, 'UTF8')::json->>'pull')::bigint, 0),
	branch = COALESCE(convert_from(doc, 'UTF8')::json->>'branch', '');
CREATE INDEX sessions_pull ON sessions (repo, pull, n) WHERE pull <> 0;
CREATE INDEX sessions_branch ON sessions (repo, branch, n) WHERE branch <> '';
