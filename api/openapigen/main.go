// Command openapigen writes the contract where it is committed: go generate ./api.
package main

import (
	"log"
	"os"
	"path/filepath"

	"iris.example/iris/api"
)

func main() {
	document, err := api.OpenAPI()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "schemas", "openapi.json"), document, 0o644); err != nil {
		log.Fatal(err)
	}
}
