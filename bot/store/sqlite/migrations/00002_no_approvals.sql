-- What people were asked and answered is in the event log alone.
-- +goose Up
DROP TABLE approvals;
