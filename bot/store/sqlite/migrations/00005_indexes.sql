-- Lists of sessions, and the intents of one, without reading all of them.
-- +goose Up
CREATE INDEX sessions_repo ON sessions (repo, n);
CREATE INDEX sessions_requester ON sessions (requester, n);
CREATE INDEX sessions_state ON sessions (state, n);
CREATE INDEX intents_session ON intents (session);
