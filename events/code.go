package events

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// sources is what this package is made of, the codec and its upcasters with it.
//
//go:embed *.go
var sources embed.FS

// Code names the code of this package: what was read by another is not taken for what this one would read.
func Code() string { return CodeOf(sources) }

// CodeOf digests the files of a package. They are in the program: it can't fail.
func CodeOf(files embed.FS) string {
	h := sha256.New()
	names, _ := fs.Glob(files, "*.go")
	for _, name := range names {
		content, _ := files.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(h.Sum(nil))
}
