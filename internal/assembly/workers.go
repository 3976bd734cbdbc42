package assembly

import (
	"context"

	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/natsmarks"
	"iris.example/iris/workers/intake"
	"iris.example/iris/workers/projector"
)

// Projector carries the lines of these organisations to a database, as iris_projector. mend makes a database that was dropped; nil:
// the lines say that it isn't there.
func (r *Rooms) Projector(organisations []string, databaseURL string, mend func(context.Context) error) (*projector.Worker, error) {
	return projector.New(projector.Config{
		Organisations: organisations, DatabaseURL: databaseURL, Follow: engine.Followed(r.cfg.Log), Codec: r.Codec, Read: r.cfg.Log.At,
		Announce: natsmarks.Publisher{Conn: r.cfg.Conn, Here: r.Marks}, Mend: mend, Logger: r.cfg.Logger, Tracer: r.cfg.Tracer,
	})
}

// Intake takes claims from a source to a recorded proposal.
func (r *Rooms) Intake(source intake.Source) (*intake.Worker, error) {
	return intake.New(intake.Config{
		Source: source, Contract: r.cfg.Contract, Claims: r.Acts, Outcomes: r.cfg.Conn, Logger: r.cfg.Logger, Now: r.cfg.Now,
		Observe: r.cfg.Metrics.Settled, Tracer: r.cfg.Tracer,
	})
}
