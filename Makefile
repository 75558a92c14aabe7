.DEFAULT_GOAL := help
SHELL := bash

.PHONY: help demo check build test sim campaign contract bench bless setup up down

# The services that tests and the demo use: what `make up` started, or what AMENDS_TEST_* name.
kafka_port := $(or $(AMENDS_KAFKA_PORT),19092)
postgres_port := $(or $(AMENDS_POSTGRES_PORT),15432)
brokers := $(or $(AMENDS_TEST_BROKERS),127.0.0.1:$(kafka_port))
database := $(or $(AMENDS_TEST_DATABASE_URL),postgres://amends:amends-local-only@127.0.0.1:$(postgres_port)/amends)
services = AMENDS_TEST_BROKERS='$(brokers)' AMENDS_TEST_DATABASE_URL='$(database)'

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup up ## show the whole story on real services: corrections, a cancellation, a kill -9
	@cargo build --locked -p amends
	@AMENDS_DATABASE_URL='$(database)' cargo run --quiet --locked -p amends -- demo --brokers '$(brokers)'

check: ## what CI runs: set-up, fmt, clippy, all tests on real services, the demo
	@fixtures/check.sh

build: setup ## build everything
	@cargo build --workspace --locked

test: setup up ## run all tests on real services
	@$(services) cargo test --workspace --locked

sim: setup ## tell all scenarios, live 20,000 worlds of tier A and 2,000 of tier B, and compare two profiles
	@fixtures/sim.sh

campaign: setup ## live 100,000 worlds of tier A and 20,000 of tier B; all that can go wrong must be seen
	@cargo sim campaign --tier a --seeds 0..100000
	@cargo sim campaign --tier b --seeds 0..20000

contract: setup up ## hold the model of PostgreSQL and its stored answers against a real one; BLESS=1 stores what it answers
	@cargo sim contract --live '$(database)' $(if $(BLESS),--bless)

bench: ## measure the reducer
	@cargo bench --locked -p amends-core

bless: setup up ## rewrite the stored traces and docs/transitions.md from what the code does now
	@$(services) INSTA_UPDATE=always AMENDS_BLESS=1 cargo test --workspace --locked

setup: ## install, or name, what a build and the local services need
	@fixtures/services/setup.sh

up: ## start Kafka (or Redpanda) and PostgreSQL, and wait until they answer
	@fixtures/services/services.sh up

down: ## stop what `make up` started; the data stays
	@fixtures/services/services.sh down
