-- +goose Up
-- Rows: as they were.

-- The newest migration when this schema was made, and so under which its rows were filled from the first event on (migrations.Outdated).
-- One row: 0 where it was made before this table was, else Up writes it.
CREATE TABLE edition (version bigint NOT NULL);
INSERT INTO edition VALUES (0);
GRANT SELECT ON edition TO iris_projector, iris_app;
