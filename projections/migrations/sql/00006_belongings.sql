-- +goose Up
-- Rows: filled anew.

-- One row per event about where a member belongs and what they hold (spec 1.1), never changed: what is so is the newest of each
-- member, kind and key. kind: member, program, role, inspection-role. Nothing of it is personal: ids and slugs.
CREATE TABLE belongings (
    organization_id text        NOT NULL,
    event_id        uuid        NOT NULL,
    member_id       uuid        NOT NULL,
    kind            text        NOT NULL,
    key             text        NOT NULL,
    holds           boolean     NOT NULL,
    at              timestamptz NOT NULL,
    forget_at       timestamptz,
    position        bigint      NOT NULL,
    ordinal         integer     NOT NULL,
    PRIMARY KEY (organization_id, event_id)
);

CREATE INDEX belongings_of_member ON belongings (organization_id, member_id, kind, key, position DESC, ordinal DESC);
CREATE INDEX belongings_of_key ON belongings (organization_id, kind, key, member_id, position DESC, ordinal DESC);
CREATE INDEX belongings_by_position ON belongings (organization_id, kind, position DESC, member_id DESC);

ALTER TABLE belongings ENABLE ROW LEVEL SECURITY;
ALTER TABLE belongings FORCE ROW LEVEL SECURITY;
CREATE POLICY organisation ON belongings USING (organization_id = nullif(current_setting('iris.organization_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON belongings TO iris_projector;
GRANT SELECT ON belongings TO iris_app;
