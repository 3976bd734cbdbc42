package serving

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/pgserver"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/vault"
)

// A server that asks for passwords lets the roles in with those that the file has for them, and with no other.
func TestPasswords(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "iris-serving-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	data := filepath.Join(dir, "postgres")
	server, err := pgserver.Start(t.Context(), pgserver.Config{DataDir: data, UnsafeNoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	superuser := server.URL("postgres", server.Superuser())
	require.NoError(t, assembly.PrepareDatabases(t.Context(), superuser, server))

	passfile := filepath.Join(dir, "passfile")
	content := "*:*:*:" + migrations.App + ":read-a-lot-of-rows\n*:*:*:" + vault.Role + ":short\n"
	require.NoError(t, os.WriteFile(passfile, []byte(content), 0o600))
	address, err := url.Parse(server.URL("", ""))
	require.NoError(t, err)
	address.User, address.Path = nil, "/"
	address.RawQuery += "&passfile=" + url.QueryEscape(passfile)
	postgres := Postgres(address.String())
	require.NoError(t, postgres.Validate())
	require.ErrorContains(t, setPasswords(t.Context(), superuser, postgres), "fewer than")
	require.NoError(t, os.WriteFile(passfile, []byte(content[:len(content)-len("short\n")]+"keys-and-no-rows\n"), 0o600))
	require.NoError(t, setPasswords(t.Context(), superuser, postgres))

	hba := filepath.Join(data, "pg_hba.conf")
	rules, err := os.ReadFile(hba)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(hba, append([]byte(fmt.Sprintf("local all %s,%s scram-sha-256\n", migrations.App, vault.Role)), rules...), 0o600))
	admin, err := pgx.Connect(t.Context(), superuser)
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	_, err = admin.Exec(t.Context(), "SELECT pg_reload_conf()")
	require.NoError(t, err)
	connects := func(address string) error {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err
	}
	require.Eventually(t, func() bool { return connects(server.URL(assembly.ModelsDatabase, migrations.App)) != nil }, 30*time.Second, 10*time.Millisecond,
		"nobody comes in without a password")
	require.NoError(t, connects(postgres.URL(assembly.ModelsDatabase, migrations.App)))
	require.NoError(t, connects(postgres.URL(assembly.VaultDatabase, vault.Role)))
	require.NoError(t, os.WriteFile(passfile, []byte("*:*:*:*:something-else-entirely\n"), 0o600))
	require.Error(t, connects(postgres.URL(assembly.ModelsDatabase, migrations.App)))

	_, err = scram("with spaces in the middle")
	require.ErrorContains(t, err, "visible ASCII")
}
