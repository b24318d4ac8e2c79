# make lists the targets. Everything runs from a fresh clone: tools are pinned
# in tools/go.mod and built on first use, test servers are started by the tests.

GO       ?= go
TOOL     := scripts/tool tools
ARGS     ?=
DURATION ?= 1h
FUZZTIME ?= 10s
STRESS   ?= 60s
GUARDS   ?= 0s
SINCE    ?= main
COUNT    ?= 20
WRITES   ?= 10000000
READS    ?= 1000000

# What must be installed for the tests: a missing one fails them, see
# internal/dbtest. scripts/install-test-deps installs it.
export HOTROW_TEST_REQUIRE = postgres,sqlite3,python3,psql,mariadb,memcached,pgbouncer,zbarimg,nginx,haproxy,caddy,systemd-analyze,zsh,fish,man,tmux,promtool

HOTROW_TEST_REQUIRE += ,redis-server,redis-cli,redis-benchmark,wycheproof,chromium-headless-shell

# No C anywhere, as in what is released: packages are compiled once for the vet, the tests
# and the programs that tests build.
export CGO_ENABLED = 0

# Without symbol tables and debug information: a third smaller, and stack traces
# have their names and lines all the same.
SMALL := -s -w

# The packages of all modules of go.work: the server, the client and the benchmarks.
ALL := ./... ./client/... ./bench/...

# Systems besides this one for which everything must compile.
CROSS := linux/arm64 darwin/arm64 windows/amd64

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## serve the demo on 127.0.0.1:8080 (ARGS="app.db" serves something else)
	$(GO) run -trimpath -ldflags='$(SMALL)' ./cmd/hotrow $(if $(ARGS),serve $(ARGS),demo)

.PHONY: build
build: ## build bin/hotrow, one static binary
	$(GO) build -trimpath -ldflags='$(SMALL)' -o bin/hotrow ./cmd/hotrow

.PHONY: release
release: ## build a release of HEAD into build/release: packages, archives, an image
	scripts/release

.PHONY: release-test
release-test: ## build it twice, compare, try it as installed: upgrade, rollback (Debian, as root; half an hour)
	scripts/release-test

.PHONY: vulnerabilities
vulnerabilities: ## known ones in what the program and the client call; needs vuln.go.dev (or GOVULNDB)
	scripts/vulnerabilities

# Each change passes make test, in a quarter of an hour on two processors. Of tests that take
# longest it has a part: every third question of the browser's, states of the freshness protocol
# but for four scenarios of hundreds of thousands, a burst of writes of four thousand rows, arrays
# of seven types, two of three widths of a page, a part of the statements that triggers tell of,
# readers that leave the processors to others.
# make test-long has all of it: what waittest.Long() makes longer, before a release.
.PHONY: test
test: deps vet lint ## everything that a change must pass (a quarter of an hour)
	scripts/test $(TESTFLAGS)

.PHONY: test-long
test-long: deps ## the packages whose tests have long forms, in these (a quarter of an hour): before a release
	scripts/test --long $(TESTFLAGS)

.PHONY: test-new
test-new: deps ## the tests that SINCE (main) does not have, COUNT (20) times each beside busy processors
	scripts/test-new $(SINCE) $(COUNT)

.PHONY: deps
deps: ## install the servers and shells that the tests need, if missing
	scripts/install-test-deps

.PHONY: links-data
links-data: ## real links for the shortener's measurements, in build/data
	scripts/links-data

.PHONY: country
country: ## a file of countries for links.country, in build/data
	scripts/country-file

.PHONY: vet
vet: ## go vet
	$(GO) vet $(ALL)

.PHONY: tidy
tidy: ## go mod tidy in each module of go.work
	scripts/tidy

.PHONY: cross
cross: $(CROSS:%=cross/%) ## compile for the other systems (make test checks types only: a tenth of the time)

cross/%:
	GOOS=$(*D) GOARCH=$(*F) $(GO) build $(ALL)

.PHONY: generate
generate: ## make the Go code of the web pages anew: *_templ.go of *.templ
	$(TOOL) templ fmt -log-level=warn internal
	$(TOOL) templ generate -log-level=warn

.PHONY: pictures
pictures: deps ## the animated picture and the screenshots of docs/pictures, from real runs (two minutes)
	HOTROW_PICTURES=write $(GO) test -trimpath ./internal/pictures -count=1 -v

.PHONY: lint
lint: ## gofmt, staticcheck, and whether make generate was run; the rules of our own are tests, in internal/policy
	@unformatted=$$(gofmt -l cmd internal client bench); test -z "$$unformatted" || \
		{ echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	@$(TOOL) templ generate -check -log-level=warn || { echo "run make generate"; exit 1; }
	$(TOOL) staticcheck $(ALL)

.PHONY: race
race: export CGO_ENABLED = 1
race: ## the packages with locks and goroutines under the race detector
	$(GO) test -race -count=1 -timeout 30m -skip "^TestModel" ./internal/fresh
	$(GO) test -race -count=1 -timeout 30m ./internal/arena ./internal/tier ./internal/resource ./internal/eventloop \
		./internal/source/... ./internal/front/...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	scripts/fuzz $(FUZZTIME)

.PHONY: soak
soak: ## simulations and torture of connections for DURATION (1h) each, lists beside WRITES rows, a thousand kill -9
	$(GO) test ./internal/fresh -run '^TestSimulation(_Standby)?$$' -sim.duration=$(DURATION) -timeout 0 -v
	$(GO) test ./internal/fresh -run '^TestSimulationWords$$' -sim.words=$(DURATION) -timeout 0 -v
	$(GO) test ./internal/stress/lists -run ListsBesideMassWrites -stress.writes=$(WRITES) -timeout 0 -v
	$(MAKE) torture
	HOTROW_ROBUST=soak $(GO) test ./internal/robust -run 'Matrix/(17|31)_' -count=1 -timeout 0 -v

.PHONY: torture
torture: ## connections that cut, close and reset at random for DURATION (1h), as long over HTTP/2, and the arena (make guards)
	$(GO) test ./internal/eventloop -run '^TestTorture$$' -torture.duration=$(DURATION) -timeout 0 -v
	$(GO) test ./internal/httpserve/h2 -run '^TestTorture$$' -torture.duration=$(DURATION) -timeout 0 -v
	$(GO) test ./internal/arena -run '^TestTorture$$' -torture.duration=$(DURATION) -timeout 0 -v
	$(MAKE) guards GUARDS=$(DURATION)

.PHONY: guards
guards: ## the arena where freed memory is overwritten, then where it is inaccessible: its tests, GUARDS (0s) of torture; who reads it
	for tag in arena_poison arena_protect; do \
		$(GO) vet -tags=$$tag ./internal/arena && \
		$(GO) test -tags=$$tag -count=1 ./internal/arena -torture.duration=$(GUARDS) -timeout 0 || exit 1; \
	done
	$(GO) test -tags=arena_poison -count=1 -timeout 30m ./internal/tier ./internal/resource ./internal/front/...

.PHONY: robust
robust: deps ## everything fails that hotrow depends on: the failure matrix, as a table
	HOTROW_ROBUST=all $(GO) test ./internal/robust -count=1 -timeout 60m -v

.PHONY: interop
interop: ## clients of Redis and memcached in six languages, and a collector of OpenTelemetry, installed where missing (Debian, as root)
	scripts/interop-kv
	scripts/interop-otel

.PHONY: interop-postgrest
interop-postgrest: ## five clients of PostgREST on three databases, into docs/reference/postgrest.md (Debian, as root)
	scripts/interop-postgrest

.PHONY: interop-openapi
interop-openapi: ## validators, schemathesis, tsc and supabase-js read the OpenAPI document and the types (Debian, as root; 10 minutes)
	scripts/interop-openapi

.PHONY: npm-package
npm-package: ## pack the TypeScript client into build/npm
	scripts/npm-package

.PHONY: interop-typescript
interop-typescript: ## the TypeScript client as a package: its tests, its types, its page, Chromium (Debian, as root)
	scripts/interop-typescript

.PHONY: sql-suites
sql-suites: ## PostgreSQL's own tests and those of drivers, direct and through hotrow, as a table in docs (Debian, as root; half an hour)
	scripts/sql-suites

.PHONY: sql-truth
sql-truth: ## READS (1000000) of SQL from memory beside writers, feeds that are cut and definitions that change, each compared
	$(GO) test -count=1 -v -timeout 0 -run '^TestServe_Truth$$' ./internal/sqlcache -atleast=$(READS) -audit=1000

.PHONY: sql-idle
sql-idle: ## the memory of 10,000 idle sessions of SQL (Linux, as root)
	ulimit -n 100000 && HOTROW_TEST_SESSIONS=10000 $(GO) test -count=1 -v -timeout 20m \
		-run IdleOnesAreTiny ./internal/front/sql

.PHONY: memory-limit
memory-limit: ## documents of 1 MiB beside 10,000 connections in a cgroup of 512 MiB: the kernel kills nothing (Linux, as root)
	ulimit -n 20000 && HOTROW_TEST_CONNECTIONS=10000 $(GO) test -count=1 -v -timeout 20m \
		-run 'TestServe_(MegabytesBeside|CacheTakesAShare)' ./internal/memlimit

.PHONY: sql-logins
sql-logins: ## log-ins by ten drivers to PostgreSQL 15, 17 and 18 over every combination of TLS, as a table in docs (Debian, as root)
	scripts/sql-logins

.PHONY: sql-orms
sql-orms: ## what memory would answer of the statements of drivers and object mappers, as a table in docs (Debian, as root)
	scripts/sql-orms

.PHONY: sql-use
sql-use: ## pages of a site of links, direct and answered from memory: hits, processor time, in pairs, as a table in docs (Debian, as root)
	scripts/sql-use

.PHONY: sql-page
sql-page: ## pages of 12 SELECTs by libpq, psycopg and pgx, direct and answered from memory, in pairs (Debian, as root)
	scripts/sql-page

.PHONY: h2spec
h2spec: ## h2spec against hotrow and net/http, as a table of what fails (make test runs it too)
	$(GO) test ./cmd/hotrow -run '^TestServe_H2Spec$$' -count=1 -v

.PHONY: stress
stress: ## real databases under load and faults for STRESS (60s); no read may stay stale
	$(GO) test ./internal/stress/... -run '^TestStress' -stress.duration=$(STRESS) -timeout 30m -v

.PHONY: engines
engines: deps ## the drivers on PostgreSQL 15, 17 and 18, MariaDB, Galera and MySQL, as a table in docs (ENGINES="mysql" runs one; half an hour)
	scripts/engines $(ENGINES)

.PHONY: mutants
mutants: ## every wrong variant of the freshness protocol must fail its tests
	$(GO) run ./internal/fresh/mutants

.PHONY: spec
spec: ## the freshness protocol in Promela, checked by SPIN, and what is broken in it refuted (minutes; Debian installs it as root)
	scripts/spec

.PHONY: spec-large
spec-large: ## the same with scenarios of more states (an hour)
	SPEC=large MEMLIM=8000 scripts/spec

.PHONY: bench
bench: ## side by side with peers, into bench/results (ARGS="-quick" to try it; hours otherwise)
	scripts/install-bench-deps
	$(GO) run ./bench $(ARGS)

.PHONY: bench-programs
bench-programs: ## ordinary clients of five languages: hotrow, Redis, memcached, PostgreSQL (Debian, as root; 10 minutes)
	scripts/install-bench-deps
	scripts/install-bench-programs
	$(GO) run ./bench -run 07 -keys 1000 $(ARGS)

.PHONY: bench-micro
bench-micro: ## benchmarks of the packages, compared with main by benchstat
	scripts/bench-micro

.PHONY: memory-figures
memory-figures: ## what hotrow, memcached, Redis and Valkey take for the same rows, as a table (ARGS="-sets 10000000x200"; half an hour)
	scripts/memory-figures $(ARGS)

.PHONY: cover
cover: ## coverage of all tests together, in build/cover.html
	@mkdir -p build
	$(GO) test -count=1 -coverpkg=./...,./client/... -coverprofile=build/cover.out $(ALL)
	$(GO) tool cover -html=build/cover.out -o build/cover.html
	$(GO) tool cover -func=build/cover.out | tail -n 1

.PHONY: clean
clean: ## remove what make has made
	rm -rf bin build
