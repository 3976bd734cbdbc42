// Command asyncapigen writes the contract of the broker where it is committed. Run it at the root of the repository:
// go run ./schemas/asyncapigen
package main

import (
	"log"
	"os"
	"path/filepath"

	"iris.example/iris/schemas/asyncapi"
)

func main() {
	document, err := asyncapi.Document()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("schemas", "asyncapi.json"), document, 0o644); err != nil {
		log.Fatal(err)
	}
}
