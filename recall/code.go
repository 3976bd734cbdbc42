package recall

import (
	"embed"

	"iris.example/iris/events"
)

//go:embed *.go
var sources embed.FS

// Code names the code of this package, for who keeps what it made: a book knows its memories by ConflictKey.
func Code() string { return events.CodeOf(sources) }
