-- Vectors of files, by the model that made them and the content.
-- +goose Up
CREATE TABLE vectors (
	maker TEXT NOT NULL,
	blob TEXT NOT NULL,
	used BIGINT NOT NULL,
	data BYTEA NOT NULL,
	PRIMARY KEY (maker, blob)
);
CREATE INDEX vectors_used ON vectors (used);
