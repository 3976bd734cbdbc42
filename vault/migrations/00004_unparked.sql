-- +goose Up

-- What an administrator has retried or discarded, by the command's id, so that a repeat of it answers as it did. Nothing of the claim.
CREATE TABLE vault.unparked_claims (
    organisation text NOT NULL,
    command      uuid NOT NULL,
    position     bigint NOT NULL,
    done_at      timestamptz NOT NULL,
    PRIMARY KEY (organisation, command)
);

CREATE INDEX ON vault.unparked_claims (done_at);

GRANT SELECT, INSERT, DELETE ON vault.unparked_claims TO iris_vault;
