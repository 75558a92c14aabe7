.DEFAULT_GOAL := help
SHELL := bash

.PHONY: help setup up down

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install, or name, what a build and the local services need
	@fixtures/services/setup.sh

up: ## start Kafka (or Redpanda) and PostgreSQL, and wait until they answer
	@fixtures/services/services.sh up

down: ## stop what `make up` started; the data stays
	@fixtures/services/services.sh down
