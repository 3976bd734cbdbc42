-- +goose Up
-- Rows: as they were.

-- What was kept ahead of the member's answer, to be listed for undo (spec 1.5).
ALTER TABLE memory_records ADD auto_kept boolean NOT NULL DEFAULT false;
