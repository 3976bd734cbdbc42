-- +goose Up

-- Folded books, so that a cold load needs no more than the newest events (spec 9.4). They stand in a schema of their own: what is
-- read is rebuilt and flipped, this is only ever dropped. box is sealed under the member's register key and has no text of a memory
-- in it, but labels; it is NULL where something was erased, and position then is the one that a newer snapshot has to be beyond.
CREATE TABLE books (
    organization_id text   NOT NULL,
    aggregate       text   NOT NULL,
    form            text   NOT NULL, -- of the build that can read it
    version         bigint NOT NULL,
    position        bigint NOT NULL,
    box             bytea,
    PRIMARY KEY (organization_id, aggregate)
);

ALTER TABLE books ALTER COLUMN box SET STORAGE EXTERNAL; -- what is sealed doesn't compress
ALTER TABLE books ENABLE ROW LEVEL SECURITY;
ALTER TABLE books FORCE ROW LEVEL SECURITY;
CREATE POLICY organisation ON books USING (organization_id = nullif(current_setting('iris.organization_id', true), ''));
GRANT USAGE ON SCHEMA iris_snapshots TO iris_projector, iris_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON books TO iris_projector, iris_app;
