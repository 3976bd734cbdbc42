-- +goose Up

-- An administrator may correct how a member is called. Who the member is, the row's identity, never changes.
GRANT UPDATE (name) ON vault.members TO iris_vault;
