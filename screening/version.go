package screening

import (
	"crypto/sha256"
	"encoding/hex"
)

// engine changes whenever the code may answer differently for the same rules.
const engine = "screening/6"

// Version names the rules and the code that reads them, so that an answer can say by which it was given.
func Version() string {
	sum := sha256.New()
	for _, part := range [...][]byte{[]byte(engine), patternsJSON, confusablesJSON, conceptsJSON, scrubJSON} {
		size := len(part)
		sum.Write([]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)})
		sum.Write(part)
	}
	return engine + "+" + hex.EncodeToString(sum.Sum(nil)[:8])
}
