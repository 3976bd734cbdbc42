-- +goose Up
-- Rows: filled anew.

-- The keyed words of each memory's current text (spec 9.4); no text, no unkeyed word. There is no index over the words: row-level
-- security keeps one from being used (array containment is not leakproof), and one member's rows are few.
CREATE TABLE memory_search (
    organization_id text   NOT NULL,
    memory_id       uuid   NOT NULL,
    member_id       uuid   NOT NULL,
    words           text[] NOT NULL,
    position        bigint NOT NULL,
    PRIMARY KEY (organization_id, memory_id)
);

CREATE INDEX memory_search_of_member ON memory_search (organization_id, member_id);

ALTER TABLE memory_search ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_search FORCE ROW LEVEL SECURITY;
CREATE POLICY organisation ON memory_search USING (organization_id = nullif(current_setting('iris.organization_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_search TO iris_projector;
GRANT SELECT ON memory_search TO iris_app;
