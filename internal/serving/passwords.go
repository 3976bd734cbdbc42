package serving

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/internal/assembly"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/vault"
)

// setPasswords gives the roles of running processes the passwords that PGPASSFILE has for them. A role without one there keeps what it
// has: a server may let it in by certificate. The owner of the tables gets none, because nobody logs in as it.
func setPasswords(ctx context.Context, admin string, p Postgres) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for role, database := range map[string]string{
		vault.Role: assembly.VaultDatabase, migrations.App: assembly.ModelsDatabase, migrations.Projector: assembly.ModelsDatabase,
	} {
		config, err := pgx.ParseConfig(p.URL(database, role))
		if err != nil {
			return refuse("PostgreSQL", "the address can't be read", "correct IRIS_POSTGRES")
		}
		if config.Password == "" {
			continue
		}
		verifier, err := scram(config.Password)
		if err != nil {
			return fmt.Errorf("password of role %s: %w", role, err)
		}
		if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", pgx.Identifier{role}.Sanitize(), verifier)); err != nil {
			return fmt.Errorf("set the password of role %s: %w", role, err)
		}
	}
	return nil
}

const (
	scramRounds = 4096
	leastSecret = 16
)

// scram is what the server keeps of a password (RFC 5803), so that the password itself never travels. Only visible ASCII: anything else
// would have to be prepared by both sides alike.
func scram(password string) (string, error) {
	if len(password) < leastSecret {
		return "", refuse("password", fmt.Sprintf("it has fewer than %d characters", leastSecret), "write a longer one into PGPASSFILE")
	}
	for _, r := range password {
		if r <= ' ' || r > '~' {
			return "", refuse("password", "it holds something else than visible ASCII", "write another one into PGPASSFILE")
		}
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramRounds, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramRounds, encode(salt), encode(stored[:]), encode(mac("Server Key"))), nil
}
