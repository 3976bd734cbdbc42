# Two commands do everything on a fresh machine: make run, make test.

SHELL   := /bin/sh
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo dev)
BIN     := bin/iris
DATA    ?= $(shell sh scripts/data-directory)
GO      ?= go

.PHONY: help run test generate verify bench fuzz build setup clean

help: ## what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

setup: ## install what is missing (PostgreSQL, Chromium), or say what to do
	@sh scripts/setup

build:
	@$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(BIN) ./cmd/iris

run: setup build ## start everything embedded, with demonstration data; Ctrl-C stops it
	@$(BIN) up --data $(DATA) $(ARGS)

test: setup ## everything: rules, unit, property, servers, crash, browser
	$(GO) vet ./...
	$(GO) test -timeout 20m ./...

generate: ## the documents that are written from the code: OpenAPI, AsyncAPI, the table of metrics
	$(GO) generate ./api ./metrics
	$(GO) run ./schemas/asyncapigen

verify: ## formatting, vet, contracts and documents as they were generated
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) test ./schemas/... ./policy ./internal/rules ./recall ./metrics -count=1
	$(GO) test ./api -run 'Contract' -count=1
	$(GO) run ./schemas/compat

bench: setup build ## the figures, as ratios to the raw limits of the same run
	@$(BIN) bench
	@$(GO) test ./runner -run '^$$' -bench Writers -benchtime 8x

fuzz: ## every decoder, for FUZZTIME each (30s)
	@sh scripts/fuzz

clean: ## what the build made; never the state
	rm -rf bin
