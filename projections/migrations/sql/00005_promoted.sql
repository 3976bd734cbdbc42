-- +goose Up
-- Rows: as they were.

-- The memory of tier person that a promotion made of this one: a list shows one of the two (spec 1.5).
ALTER TABLE memory_records ADD promoted_to uuid;
