-- +goose Up

CREATE SCHEMA vault;

-- Which master key this database belongs to: a known text, wrapped. The first process writes it, every later one unwraps it.
CREATE TABLE vault.master_proofs (
    only_one boolean PRIMARY KEY CHECK (only_one),
    box      bytea NOT NULL
);

-- The organisation's key, wrapped by the master key together with organisation and id.
CREATE TABLE vault.organisation_keys (
    id           uuid PRIMARY KEY,
    organisation text NOT NULL,
    generation   integer NOT NULL CHECK (generation > 0),
    wrapped      bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation, generation)
);

-- Whatever else is wrapped by the organisation's key and belongs to somebody: a member, or the organisation itself (nil uuid).
CREATE TABLE vault.holder_keys (
    id           uuid PRIMARY KEY,
    organisation text NOT NULL,
    holder       uuid NOT NULL,
    purpose      text NOT NULL CHECK (purpose IN ('individual', 'person', 'case', 'register', 'recall', 'search', 'directory')),
    generation   integer NOT NULL CHECK (generation > 0),
    wrapped      bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation, holder, purpose, generation)
);

-- One half of a memory's data key. Whose it is stands in the event that names it, not here. Partitioned so that the scrub after
-- an erasure rewrites one part only; id comes first in the key because shredding knows nothing but ids.
CREATE TABLE vault.data_keys (
    id           uuid NOT NULL,
    organisation text NOT NULL,
    wrapped      bytea NOT NULL,
    claimed      boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, organisation)
) PARTITION BY HASH (organisation);

-- +goose StatementBegin
DO $$
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format('CREATE TABLE vault.data_keys_%s PARTITION OF vault.data_keys FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
        EXECUTE format('CREATE INDEX ON vault.data_keys_%s (created_at) WHERE NOT claimed', i);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Who is behind a member id: a keyed hash of issuer and subject. The name is sealed.
CREATE TABLE vault.members (
    organisation text NOT NULL,
    id           uuid NOT NULL,
    identity     bytea NOT NULL,
    name         bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation, id),
    UNIQUE (organisation, identity)
);

-- Roles belong to the whole server, and goose's lock to one database: another database's migration may make the role between
-- our look and our try. An existing role is left as it is.
-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'iris_vault') THEN
        CREATE ROLE iris_vault LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
-- +goose StatementEnd

GRANT USAGE ON SCHEMA vault TO iris_vault;
GRANT SELECT, INSERT ON vault.master_proofs, vault.organisation_keys TO iris_vault;
GRANT SELECT, INSERT, DELETE ON vault.holder_keys, vault.data_keys, vault.members TO iris_vault;
GRANT UPDATE (wrapped) ON vault.holder_keys TO iris_vault;
GRANT UPDATE (wrapped, claimed) ON vault.data_keys TO iris_vault;
