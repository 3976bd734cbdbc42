package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/rebuild"
)

// rebuilding is the rebuild that runs here or was the last one. The zero value: none yet.
type rebuilding struct {
	mu   sync.Mutex // guards what follows
	busy bool
	last Rebuilt
}

// Rebuilt is where a rebuild stands, as the operator's route tells it.
type Rebuilt struct {
	Act      string           `json:"act"` // empty: none since this process started
	Running  bool             `json:"running"`
	Progress rebuild.Progress `json:"progress"`
	Report   *rebuild.Report  `json:"report"` // when it has ended well, or found differences
	Error    string           `json:"error"`
	Kept     []string         `json:"kept"` // schemas that can be rolled back to
}

// ErrRebuilding: one at a time.
var ErrRebuilding = errors.New("rebuild_running")

// Models asks for an act upon the read models.
type Models struct {
	Act               string `json:"act"` // rebuild, rollback or drop
	Schema            string `json:"schema"`
	AcceptDifferences bool   `json:"acceptDifferences"`
}

// Rebuild makes the read models anew, rolls back or drops what is kept, while everything goes on.
func (i *Instance) Rebuild(ctx context.Context, ask Models, tell func(rebuild.Progress)) (rebuild.Report, error) {
	admin, err := i.modelsAdmin()
	if err != nil {
		return rebuild.Report{}, err
	}
	cfg := rebuild.Config{
		AdminURL: admin, OwnerURL: i.databases.URL(modelsDatabase, migrations.Owner), ProjectorURL: i.databases.URL(modelsDatabase, migrations.Projector),
		Organisations: i.cfg.organisations(), Follow: engine.Followed(i.Log), Last: i.Log.Last, Codec: i.Codec, AcceptDifferences: ask.AcceptDifferences, Progress: tell,
	}
	switch ask.Act {
	case "rebuild":
		return rebuild.Run(ctx, cfg)
	case "rollback":
		return rebuild.Rollback(ctx, cfg)
	case "drop":
		return rebuild.Report{}, rebuild.Drop(ctx, cfg, ask.Schema)
	}
	return rebuild.Report{}, fmt.Errorf("%w: there is rebuild, rollback and drop", rebuild.ErrConfig)
}

// renew begins a rebuild where what is read was filled before an update that brought it something which past events fill. Until it has
// flipped, lists answer as they did before the update.
func (i *Instance) renew(ctx, working context.Context) error {
	outdated, err := i.models.Outdated(ctx)
	if err != nil || !outdated || i.cfg.KeepOutdated {
		return err
	}
	i.say("this version's read models are more than what is read: rebuilding them meanwhile (`iris rebuild` watches it)")
	i.cfg.Logger.Warn("what is read was filled before an update: rebuilding")
	return i.startRebuild(working, Models{Act: "rebuild"})
}

// modelsAdmin addresses the read models' database as who may make it.
func (i *Instance) modelsAdmin() (string, error) {
	if i.postgres != nil {
		return i.postgres.URL(modelsDatabase, i.postgres.Superuser()), nil
	}
	u, err := url.Parse(i.cfg.PostgresURL)
	if err != nil {
		return "", errors.New("IRIS_POSTGRES_URL is no address of the form postgres://user@host/")
	}
	u.Path = "/" + modelsDatabase
	return u.String(), nil
}

// mendModels makes the read models' database where somebody dropped it: the lines fill it again from the streams. It never touches
// the vault's, which is nobody's copy.
func (i *Instance) mendModels(ctx context.Context) error {
	i.mending.Lock()
	defer i.mending.Unlock()
	conn, err := pgx.Connect(ctx, i.AdminURL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to make database %s: %w", modelsDatabase, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", modelsDatabase).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", modelsDatabase, err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+modelsDatabase); err != nil {
			return fmt.Errorf("make database %s: %w", modelsDatabase, err)
		}
		i.cfg.Logger.Warn("the read models' database was not there: it is filled anew from the streams")
	}
	admin, err := i.modelsAdmin()
	if err != nil {
		return err
	}
	if err := migrations.Prepare(ctx, admin, migrations.Schema); err != nil {
		return err
	}
	return migrations.Up(ctx, i.databases.URL(modelsDatabase, migrations.Owner), migrations.Schema)
}
