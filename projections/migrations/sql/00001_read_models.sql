-- +goose Up
-- Rows: filled anew.

-- Names are unqualified: the schema is the connection's search_path, so that the same file builds the next version of the read
-- models beside the one that is read (spec 9.4). Placed columns hold sealed fields (events.Placed); no text stands here in clear.

-- The cursor row is the lock of a line: whoever moves it from the position it knows owns the transaction.
CREATE TABLE cursors (
    organization_id text   NOT NULL,
    stream          text   NOT NULL,
    position        bigint NOT NULL CHECK (position >= 0),
    PRIMARY KEY (organization_id, stream)
);

-- Positions that the stream no longer had when the line passed them. Inclusive.
CREATE TABLE gaps (
    organization_id text   NOT NULL,
    stream          text   NOT NULL,
    first_position  bigint NOT NULL,
    last_position   bigint NOT NULL CHECK (last_position >= first_position),
    PRIMARY KEY (organization_id, stream, first_position)
);

-- One row per memory: its current revision, all tiers in one table. Label columns and sealed fields are NULL once erased.
CREATE TABLE memory_records (
    organization_id      text        NOT NULL,
    memory_id            uuid        NOT NULL,
    member_id            uuid        NOT NULL,
    namespace            text        NOT NULL,
    tier                 text        NOT NULL,
    kind                 text        NOT NULL,
    program              text        NOT NULL,
    scope_kind           text,
    scope_key            text,
    adapter_scope        text,
    tenant_id            text,
    category             text,
    origin               text        NOT NULL,
    lifecycle            text        NOT NULL,
    revision             integer     NOT NULL,
    revision_id          uuid        NOT NULL,
    previous_revision_id uuid,
    on_behalf_of         uuid,
    body                 jsonb,
    labels               jsonb,
    details              jsonb,
    forget_at            timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    position             bigint      NOT NULL,
    PRIMARY KEY (organization_id, memory_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.01);

CREATE INDEX memory_records_of_member ON memory_records (organization_id, member_id, position DESC, memory_id DESC);

-- One row per revision: what made it. A sealed field is NULL where the revision kept the one before, or once erased.
CREATE TABLE memory_revisions (
    organization_id      text        NOT NULL,
    memory_id            uuid        NOT NULL,
    revision             integer     NOT NULL,
    revision_id          uuid        NOT NULL,
    previous_revision_id uuid,
    member_id            uuid        NOT NULL,
    lifecycle            text        NOT NULL,
    event_id             uuid        NOT NULL,
    event_type           text        NOT NULL,
    actor_kind           text        NOT NULL,
    actor_id             text        NOT NULL,
    at                   timestamptz NOT NULL,
    body                 jsonb,
    labels               jsonb,
    details              jsonb,
    position             bigint      NOT NULL,
    PRIMARY KEY (organization_id, memory_id, revision)
);

-- One row per claim, taken or refused. position is of the commit that recorded it and never moves.
CREATE TABLE proposals (
    organization_id     text        NOT NULL,
    proposal_id         uuid        NOT NULL,
    member_id           uuid        NOT NULL,
    command_id          uuid        NOT NULL,
    state               text        NOT NULL,
    outcome             text        NOT NULL,
    reason              text        NOT NULL,
    producer            text        NOT NULL,
    client              text        NOT NULL,
    consumer            text        NOT NULL,
    promotion_candidate boolean     NOT NULL,
    namespace           text,
    tier                text,
    kind                text,
    program             text,
    origin              text,
    scope_kind          text,
    scope_key           text,
    adapter_scope       text,
    tenant_id           text,
    category            text,
    on_behalf_of        uuid,
    body                jsonb,
    labels              jsonb,
    details             jsonb,
    notes               jsonb,
    recorded_at         timestamptz NOT NULL,
    expires_at          timestamptz,
    answered_at         timestamptz,
    position            bigint      NOT NULL,
    answered_position   bigint,
    PRIMARY KEY (organization_id, proposal_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.01);

CREATE INDEX proposals_of_member ON proposals (organization_id, member_id, position DESC, proposal_id DESC);
CREATE INDEX proposals_of_command ON proposals (organization_id, command_id);

-- The consent ledger, one row per event. ordinal is the event's place among those of its commit.
CREATE TABLE consents (
    organization_id text        NOT NULL,
    event_id        uuid        NOT NULL,
    member_id       uuid        NOT NULL,
    key             text        NOT NULL,
    state           text        NOT NULL,
    at              timestamptz NOT NULL,
    expires_at      timestamptz,
    supersedes      uuid,
    terms_id        text        NOT NULL,
    terms_version   text        NOT NULL,
    source          text        NOT NULL,
    locale          text        NOT NULL,
    fingerprint     text        NOT NULL,
    sha256          text        NOT NULL,
    record          jsonb       NOT NULL,
    position        bigint      NOT NULL,
    ordinal         integer     NOT NULL,
    PRIMARY KEY (organization_id, event_id)
);

CREATE INDEX consents_of_member ON consents (organization_id, member_id, key, position DESC, ordinal DESC);

-- One row per recall; position is on the access stream. What was asked and found stays sealed on the stream.
CREATE TABLE recalls (
    organization_id text        NOT NULL,
    recall_id       uuid        NOT NULL,
    member_id       uuid        NOT NULL,
    at              timestamptz NOT NULL,
    purpose         text        NOT NULL,
    surface         text        NOT NULL,
    consumer        text        NOT NULL,
    severity        text        NOT NULL,
    evaluated_count integer     NOT NULL,
    returned_ids    uuid[]      NOT NULL,
    result_sha256   text        NOT NULL,
    as_of           bigint      NOT NULL,
    position        bigint      NOT NULL,
    PRIMARY KEY (organization_id, recall_id)
);

CREATE INDEX recalls_of_member ON recalls (organization_id, member_id, position DESC, recall_id DESC);

-- Sealed text doesn't compress and is mostly read with its row: trying, and keeping it apart, costs a third of the projector.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['memory_records', 'memory_revisions', 'proposals'] LOOP
        EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 8160), ALTER body SET STORAGE MAIN, ALTER labels SET STORAGE MAIN, '
            'ALTER details SET STORAGE MAIN', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Forced, so that the owner is held too; nullif, because a setting made inside a transaction reads '' after it.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO iris_projector, iris_app', current_schema());
    FOREACH name IN ARRAY ARRAY['cursors', 'gaps', 'memory_records', 'memory_revisions', 'proposals', 'consents', 'recalls'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY organisation ON %I USING (organization_id = nullif(current_setting(''iris.organization_id'', true), ''''))', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO iris_projector', name);
        EXECUTE format('GRANT SELECT ON %I TO iris_app', name);
    END LOOP;
END
$$;
-- +goose StatementEnd
