package serving_test

import (
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/serving"
)

func whole() serving.Config {
	return serving.Config{
		NATS:     serving.NATS{URLs: []string{"tls://iris-a:4222", "tls://iris-b:4222"}, Seed: "core.nk"},
		Postgres: "postgres://database:5432/?sslmode=verify-full", Keys: "keys", Evidence: "evidence", HTTP: "0.0.0.0:8443",
		TLS:  serving.TLS{Cert: "cert.pem", Key: "key.pem"},
		OIDC: serving.OIDC{Issuer: "https://login.example/realm", Audience: "iris"},
	}
}

// Half a setting, and what would be unsafe off loopback, is refused before anything is opened, with what to do (spec 9.5).
func TestHalfASettingIsRefused(t *testing.T) {
	t.Parallel()
	const back = "https://iris.example/sign-in/callback"
	require.NoError(t, whole().WithDefaults().Validate([]serving.Part{serving.API}))
	withLogin := whole()
	withLogin.OIDC.Login = serving.Login{ClientID: "iris", SecretFile: "secret", RedirectURL: back, Scopes: []string{"iris"}}
	require.NoError(t, withLogin.WithDefaults().Validate([]serving.Part{serving.API}))
	for name, c := range map[string]struct {
		change func(*serving.Config)
		says   string
	}{
		"off loopback without TLS":      {func(c *serving.Config) { c.TLS = serving.TLS{} }, "off loopback"},
		"a certificate without its key": {func(c *serving.Config) { c.TLS.Key = "" }, "IRIS_TLS_KEY"},
		"a key without its certificate": {func(c *serving.Config) { c.TLS.Cert = "" }, "IRIS_TLS_CERT"},
		"no address":                    {func(c *serving.Config) { c.HTTP = "" }, "IRIS_HTTP"},
		"no port":                       {func(c *serving.Config) { c.HTTP = "iris.example" }, "host:port"},
		"no issuer":                     {func(c *serving.Config) { c.OIDC = serving.OIDC{} }, "IRIS_OIDC_ISSUER"},
		"an issuer without an audience": {func(c *serving.Config) { c.OIDC.Audience = "" }, "IRIS_OIDC_AUDIENCE"},
		"an audience without an issuer": {func(c *serving.Config) { c.OIDC.Issuer = "" }, "IRIS_OIDC_ISSUER"},
		"an issuer in the clear":        {func(c *serving.Config) { c.OIDC.Issuer = "http://login.example" }, "https"},
		"a secret without a client":     {func(c *serving.Config) { c.OIDC.Login = serving.Login{SecretFile: "s3cret"} }, "IRIS_OIDC_CLIENT_ID"},
		"a way back without a client":   {func(c *serving.Config) { c.OIDC.Login = serving.Login{RedirectURL: back} }, "IRIS_OIDC_CLIENT_ID"},
		"scopes without a client":       {func(c *serving.Config) { c.OIDC.Login = serving.Login{Scopes: []string{"iris"}} }, "IRIS_OIDC_CLIENT_ID"},
		"a client without a way back":   {func(c *serving.Config) { c.OIDC.Login = serving.Login{ClientID: "iris"} }, "IRIS_OIDC_REDIRECT_URL"},
		"a way back to elsewhere": {func(c *serving.Config) {
			c.OIDC.Login = serving.Login{ClientID: "iris", RedirectURL: "https://iris.example/"}
		}, "/sign-in/callback"},
		"a way back in the clear": {func(c *serving.Config) {
			c.OIDC.Login = serving.Login{ClientID: "iris", RedirectURL: "http://iris.example/sign-in/callback"}
		}, "https"},
		"a way back around TLS": {func(c *serving.Config) {
			c.OIDC.Login = serving.Login{ClientID: "iris", RedirectURL: "http://localhost:8443/sign-in/callback"}
		}, "with https"},
		"no NATS":                          {func(c *serving.Config) { c.NATS.URLs = nil }, "IRIS_NATS"},
		"NATS in the clear":                {func(c *serving.Config) { c.NATS.URLs[1] = "nats://iris-b:4222" }, "in the clear"},
		"a password in the NATS address":   {func(c *serving.Config) { c.NATS.URLs[0] = "tls://iris:s3cret@iris-a:4222" }, "IRIS_NATS_SEED"},
		"nobody at NATS":                   {func(c *serving.Config) { c.NATS.Seed = "" }, "no credential"},
		"two at NATS":                      {func(c *serving.Config) { c.NATS.Credentials = "core.creds" }, "two credentials"},
		"a client certificate, no key":     {func(c *serving.Config) { c.NATS.Cert = "c.pem" }, "IRIS_NATS_CLIENT_KEY"},
		"two replicas":                     {func(c *serving.Config) { c.NATS.Replicas = 2 }, "1, 3 or 5"},
		"no PostgreSQL":                    {func(c *serving.Config) { c.Postgres = "" }, "IRIS_POSTGRES"},
		"PostgreSQL in the clear":          {func(c *serving.Config) { c.Postgres = "postgres://database:5432/" }, "verify-full"},
		"PostgreSQL that nobody verified":  {func(c *serving.Config) { c.Postgres = "postgres://database/?sslmode=require" }, "verify-full"},
		"PostgreSQL on two hosts, unsure":  {func(c *serving.Config) { c.Postgres = "postgres://127.0.0.1,database/" }, "verify-full"},
		"a user in the PostgreSQL address": {func(c *serving.Config) { c.Postgres = "postgres://iris:s3cret@127.0.0.1/" }, "PGPASSFILE"},
		"a database in the address":        {func(c *serving.Config) { c.Postgres = "postgres://127.0.0.1/iris" }, "leave it out"},
		"no keys":                          {func(c *serving.Config) { c.Keys = "" }, "iris migrate --keys"},
		"no evidence":                      {func(c *serving.Config) { c.Evidence = "" }, "IRIS_EVIDENCE"},
		"a clock moved back":               {func(c *serving.Config) { c.ClockOffset = -1 }, "forward only"},
		"traces in the clear":              {func(c *serving.Config) { c.OTLP = "http://collector:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"half a controller":                {func(c *serving.Config) { c.Controller.Name = "Acme" }, "controller"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := whole()
			c.change(&config)
			_, err := serving.Start(t.Context(), config, serving.API)
			require.ErrorIs(t, err, serving.ErrConfig)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cret", "an error quotes no secret")
		})
	}
	_, err := serving.Start(t.Context(), whole(), "gardener")
	require.ErrorContains(t, err, "intake")
	_, err = serving.Start(t.Context(), whole())
	require.ErrorIs(t, err, serving.ErrConfig)
}

// On loopback TLS may be missing, and a worker may listen nowhere; an issuer is needed all the same.
func TestLoopback(t *testing.T) {
	t.Parallel()
	config := whole()
	config.HTTP, config.TLS, config.Postgres, config.NATS.URLs = "127.0.0.1:8420", serving.TLS{}, "postgres:///?host=/run/postgresql", []string{"nats://127.0.0.1:4222"}
	require.NoError(t, config.WithDefaults().Validate([]serving.Part{serving.API}))
	config.HTTP = ""
	require.NoError(t, config.WithDefaults().Validate(serving.Workers()))
	config.OIDC = serving.OIDC{}
	require.ErrorIs(t, config.WithDefaults().Validate([]serving.Part{serving.API}), serving.ErrConfig)
}

func TestMigrateRefusesHalfASetting(t *testing.T) {
	t.Parallel()
	config := func() serving.MigrateConfig {
		return serving.MigrateConfig{NATS: whole().NATS, Postgres: whole().Postgres, Keys: "keys", PostgresAdmin: "postgres://postgres@database/postgres?sslmode=verify-full"}
	}
	require.NoError(t, config().WithDefaults().Validate())
	for says, change := range map[string]func(*serving.MigrateConfig){
		"IRIS_POSTGRES_ADMIN": func(c *serving.MigrateConfig) { c.PostgresAdmin = "" },
		"verify-full":         func(c *serving.MigrateConfig) { c.PostgresAdmin = "postgres://postgres:s3cret@database/" },
		"IRIS_KEYS":           func(c *serving.MigrateConfig) { c.Keys = "" },
		"organisation":        func(c *serving.MigrateConfig) { c.Organisations = []string{"acme", "*"} },
		"IRIS_NATS":           func(c *serving.MigrateConfig) { c.NATS.URLs = nil },
	} {
		c := config()
		change(&c)
		err := serving.Migrate(t.Context(), c)
		require.ErrorIs(t, err, serving.ErrConfig, says)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "s3cret")
	}
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	for _, text := range []string{"", "acme", "acme/notes", "acme/notes=assistant", "acme/notes=assistant:SUAsecret", "*/notes=assistant:" + key, "acme/no.tes=assistant:" + key} {
		_, err := serving.ParseProducer(text)
		require.ErrorIs(t, err, serving.ErrConfig, text)
		require.NotContains(t, err.Error(), "SUAsecret", "an error quotes no seed")
	}
	p, err := serving.ParseProducer("acme/notes=assistant:" + key)
	require.NoError(t, err)
	require.Equal(t, serving.Producer{Organisation: "acme", Name: "notes", Consumer: "assistant", PublicKey: key}, p)
}
