package member

import (
	"embed"

	"iris.example/iris/events"
	"iris.example/iris/recall"
)

//go:embed *.go
var sources embed.FS

// Code names the code that folds a book. Another version may fold the same events to another state, though its type is the same.
func Code() string { return events.CodeOf(sources) + recall.Code() }
