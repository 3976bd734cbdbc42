-- +goose Up
-- Rows: as they were.

-- Commits that a line set aside, and what their aggregates have behind them (spec 9.4). Only lines that say nothing about what may
-- be used do that. code names what is wrong, never the text of it; reason is an operator's, of the form of a code.
CREATE TABLE parked_commits (
    organization_id text        NOT NULL,
    line            text        NOT NULL,
    position        bigint      NOT NULL,
    aggregate       text        NOT NULL,
    code            text        NOT NULL,
    state           text        NOT NULL CHECK (state IN ('parked', 'discarded')),
    reason          text        NOT NULL DEFAULT '',
    attempts        integer     NOT NULL,
    first_seen      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, line, position)
);

ALTER TABLE parked_commits ENABLE ROW LEVEL SECURITY;
ALTER TABLE parked_commits FORCE ROW LEVEL SECURITY;
CREATE POLICY organisation ON parked_commits USING (organization_id = nullif(current_setting('iris.organization_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON parked_commits TO iris_projector;
GRANT SELECT ON parked_commits TO iris_app;
