package member

import (
	"embed"

	"iris.example/iris/events"
)

//go:embed *.go
var sources embed.FS

// Source names the code that folds a book. Another version may fold the same events to another state, though its type is the same.
func Source() string { return events.SourceOf(sources) }
