package vault

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// The vault's own errors; events.ErrKeyUnavailable and events.ErrTampered come beside them.
var (
	ErrConfig    = errors.New("vault_config_invalid")
	ErrMaster    = errors.New("vault_master_key_refused")
	ErrReference = errors.New("vault_reference_invalid") // no key can have this name: a fault of the caller
	ErrStore     = errors.New("vault_store_failed")      // the database; worth another try
	ErrClosed    = errors.New("vault_closed")
)

// storeError keeps the server's message but not its detail, which may quote a row.
func storeError(act string, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return fmt.Errorf("%s: %w: %s (SQLSTATE %s)", act, ErrStore, pg.Message, pg.Code)
	}
	return fmt.Errorf("%s: %w: %w", act, ErrStore, err)
}
