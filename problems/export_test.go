package problems

import (
	"maps"
	"slices"
)

// Codes are all that a caller can be told.
func Codes() []string { return slices.Sorted(maps.Keys(rows)) }
