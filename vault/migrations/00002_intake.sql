-- +goose Up

-- The organisation's intake key: producers seal claims to its public half.
ALTER TABLE vault.holder_keys DROP CONSTRAINT holder_keys_purpose_check;
ALTER TABLE vault.holder_keys ADD CONSTRAINT holder_keys_purpose_check
    CHECK (purpose IN ('individual', 'person', 'case', 'register', 'recall', 'search', 'directory', 'intake'));

-- Claims that couldn't be read, as they came, sealed: what doesn't parse is personal text too. They can't be made again from the
-- streams, so they don't stand in the database of read models (docs/decisions/parked-claims-in-the-vault.md).
CREATE TABLE vault.parked_claims (
    organisation text NOT NULL,
    id           uuid NOT NULL,
    producer     text NOT NULL,
    code         text NOT NULL,
    parked_at  timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    box          bytea NOT NULL,
    PRIMARY KEY (organisation, id)
);

CREATE INDEX ON vault.parked_claims (organisation, parked_at DESC, id DESC);
CREATE INDEX ON vault.parked_claims (expires_at);

GRANT SELECT, INSERT, DELETE ON vault.parked_claims TO iris_vault;
GRANT UPDATE (box) ON vault.parked_claims TO iris_vault;
