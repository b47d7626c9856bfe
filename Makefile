# Every target does its own set-up. `make help` lists them.

# The toolchain is fetched by whatever Go is installed, also where the
# environment says GOTOOLCHAIN=local.
export GOTOOLCHAIN := go1.27.3
# "gatehouse version" names the commit where git can tell it.
STAMP := -buildvcs=$(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)

SHELL := /bin/bash -euo pipefail
.DEFAULT_GOAL := help

BIN := $(CURDIR)/bin
LINT := $(BIN)/lint
# Packages tested at a time; two, so that tests of latency are not starved.
TEST_P ?= 2
TEST_TIMEOUT ?= 20m
TEST_FLAGS ?= -race -shuffle=on -count=1
BENCH ?= .
BENCH_FLAGS ?=

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: build
build: ## Build bin/gatehouse and the programs of the demo
	go build $(STAMP) -o $(BIN)/ ./cmd/...
	go build -o $(BIN)/hack/ ./hack/...

.PHONY: envoy
envoy: ## Put the pinned Envoy into the cache directory
	@hack/fetch-envoy.sh

.PHONY: lab-programs
lab-programs: ## Make sure that nginx and HAProxy, which the laboratory runs, are here
	@hack/fetch-programs.sh

.PHONY: postgres
postgres: ## Make sure that PostgreSQLs and psycopg, which the database router is tested with, are here
	@hack/fetch-postgres.sh
	@hack/fetch-postgres-new.sh

.PHONY: forward-proxies
forward-proxies: # User data of instances is tested with the programs that it installs.
	@hack/fetch-forward-proxies.sh

.PHONY: redis
redis: # Leases can be kept in it, or in Valkey.
	@hack/fetch-redis.sh

.PHONY: cluster
cluster: ## Build the Kubernetes control plane that tests run (minutes, the first time)
	@hack/build-cluster.sh

.PHONY: cluster-up
cluster-up: cluster ## Start a Kubernetes control plane in the background and name its kubeconfig
	@go build -o $(BIN)/hack/ ./hack/cluster && $(BIN)/hack/cluster up

.PHONY: cluster-down
cluster-down: ## End it
	@go build -o $(BIN)/hack/ ./hack/cluster && $(BIN)/hack/cluster down

.PHONY: clients
clients: cc ## Put PostgreSQL drivers of other languages into the cache directory, with what runs them
	@hack/fetch-clients.sh

.PHONY: schemathesis
schemathesis: ## Put Schemathesis into the cache directory, which holds the lease API against its description
	@hack/fetch-schemathesis.sh

.PHONY: crawlers
crawlers: # Clients of the lease API are tested with Scrapy, requests and Playwright.
	@hack/fetch-crawlers.sh

.PHONY: pgbouncer
pgbouncer: # The router's speed is compared with it.
	@hack/fetch-pgbouncer.sh

.PHONY: cc
cc: # The race detector needs a C compiler; a fresh machine may have none.
	@command -v gcc >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends gcc libc6-dev; }

.PHONY: curl
curl: # Forward proxies are tested with it.
	@command -v curl >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends curl; }

.PHONY: chromium
chromium: # The laboratory's report is tested in a real browser.
	@command -v chromium-headless-shell chromium google-chrome >/dev/null || { apt-get update -q && \
		{ apt-get install -q -y --no-install-recommends chromium-headless-shell || apt-get install -q -y --no-install-recommends chromium; }; }

.PHONY: demo
demo: build envoy ## Run the shop: edit its files, watch Envoy follow, Ctrl-C to end
	@exec $(BIN)/hack/demo

.PHONY: demo-check
demo-check: build envoy ## Walk the whole tour of the demo without a terminal and assert it
	$(BIN)/hack/demo --check

.PHONY: demo-fleet
demo-fleet: build curl ## A fleet of egress proxies on this machine, and a crawler that is banned and goes on
	@exec $(BIN)/hack/demofleet

.PHONY: demo-fleet-check
demo-fleet-check: build curl ## Tell the story of that demo and assert it
	$(BIN)/hack/demofleet --check

.PHONY: test
test: build envoy lab-programs postgres forward-proxies redis cluster cc chromium curl vet generate-check ## Everything that must hold: unit, property, scenario, traffic, demo
	$(BIN)/hack/gotest -p $(TEST_P) -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...
	$(MAKE) --no-print-directory demo-check
	$(MAKE) --no-print-directory demo-fleet-check

.PHONY: test-clients
test-clients: build postgres clients schemathesis crawlers chromium ## All that needs further languages: PostgreSQL drivers through the database router; Schemathesis, Scrapy, requests and Playwright on the lease API
	GATEHOUSE_CLIENTS=all $(BIN)/hack/gotest -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./test/postgres/clients/... ./test/fleet/schemathesis ./test/fleet/clients/...

.PHONY: vet
vet:
	go vet ./...

.PHONY: generate
generate: ## Write generated files again
	go generate ./...

.PHONY: generate-check
generate-check: # Generated files are what the generators write now.
	@hack/generate-check.sh

.PHONY: bench
bench: build envoy lab-programs ## Run the benchmarks; docs/benchmarks.md says how to read them
	GATEHOUSE_BIN=$(BIN)/gatehouse go test -run '^$$' -bench '$(BENCH)' $(BENCH_FLAGS) -benchmem -timeout 60m $$(go list ./... | grep -vE 'test/bench/(postgres|fleet)')

# BENCH_ROUNDS=2 BENCH_SECONDS=2 for a first look; BENCH=Transactions for one table.
.PHONY: bench-postgres
bench-postgres: build postgres pgbouncer ## Compare the PostgreSQL router with PgBouncer, in turns; half an hour
	GATEHOUSE_BIN=$(BIN)/gatehouse go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 120m ./test/bench/postgres

.PHONY: bench-fleet
bench-fleet: redis ## A thousand Proxies created under a limit of requests, in synthetic time; ten thousand probed; the spec hash; the forward proxy; the lease API and Redis; the super-proxy beside squid
	go test -run '^$$' -bench '$(BENCH)' -benchtime 3x ./test/bench/fleet
	go test -run '^$$' -bench '$(BENCH)' -benchtime 1x ./test/bench/fleet/probes
	go test -run '^$$' -bench '$(BENCH)' -benchtime 5x ./test/bench/egress
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count 5 ./internal/fleet/lifecycle ./internal/fleet/forward ./internal/fleet/lease
	go test -run '^$$' -bench '$(BENCH)' -benchtime 100000x -count 3 ./internal/fleet/discovery
	go test -run '^$$' -bench '$(BENCH)' -benchtime 100000x -count 3 ./internal/fleet/lease/redis

LAB_DURATION ?= 60s

.PHONY: lab
lab: build envoy lab-programs ## Play the default script on models and real proxies, assert and show what they believed
	@mkdir -p $(BIN)/lab && rm -f $(BIN)/lab/run.json
	GATEHOUSE_LAB_DURATION=$(LAB_DURATION) GATEHOUSE_LAB_RESULT=$(BIN)/lab/run.json $(BIN)/hack/gotest -count=1 -timeout 15m ./test/lab
	go test -run "^$$" -bench MillionEvents -benchtime 1x ./internal/lab/model
	$(BIN)/gatehouse lab propagation --from $(BIN)/lab/run.json
	$(BIN)/gatehouse lab propagation --from $(BIN)/lab/run.json -o html > $(BIN)/lab/report.html
	@echo "open $(BIN)/lab/report.html"

$(LINT)/.built: tools/go.mod tools/go.sum
	@mkdir -p $(LINT)
	@echo "building the linters (minutes, the first time)"
	go -C tools build -o $(LINT)/ tool
	@touch $@

.PHONY: lint
lint: $(LINT)/.built ## Format, style, import rules, vet, outdated idioms
	@test -z "$$($(LINT)/gofumpt -l . | tee /dev/stderr)" || { echo "run: make fix" >&2; exit 1; }
	$(LINT)/golangci-lint run ./...
	$(LINT)/go-arch-lint check
	go vet ./...
	@test -z "$$(go fix -diff ./... | tee /dev/stderr)" || { echo "run: make fix" >&2; exit 1; }

.PHONY: fix
fix: $(LINT)/.built ## Format, and repair what the linters can repair by themselves
	go fix ./...
	$(LINT)/golangci-lint run --fix ./... || true
	$(LINT)/golangci-lint fmt ./...

.PHONY: clean
clean: ## Remove what was built here (the Envoy cache stays)
	rm -rf $(BIN)
