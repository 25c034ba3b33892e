# The daily commands. `make up` and `make test` need Python 3.11, uv, Go (for what is not on PATH), openssl and make.
SHELL := /bin/bash
STACK ?=
NODE ?=
RUN := uv run --no-sync python -m

.PHONY: golden help up down doctor test fast lint fmt bench diff accuracy oracle sync

help: ## Show these commands
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

up: sync ## Deploy a stack (STACK=dev) on a local control plane, from nothing; NODE=1 runs the real engine on a real node
	@$(RUN) tools.up $(if $(STACK),--stack $(STACK)) $(if $(NODE),--real-node)

down: sync ## Stop the local control plane and remove all of it, also after a crash
	@$(RUN) tools.up --down

doctor: sync ## Say what is there, what is missing and what would be built
	@$(RUN) tools.doctor

test: sync ## Build the tools, then lint and every tier of tests (what CI runs)
	@$(RUN) tools.check

fast: sync ## Lint and the tiers that need no tools
	@$(RUN) tools.check --fast

lint: sync ## ruff, mypy, import contracts
	@$(RUN) tools.check --lint

fmt: sync ## Format and sort imports
	@uv run --no-sync ruff check --fix --quiet . ; uv run --no-sync ruff format .

bench: sync ## Measure: plan, preview at 10 and 100 servers, control plane start, warm `make up`
	@$(RUN) tools.bench

golden: sync ## Write what is generated and reviewed: rendered stacks, config reference, schemas, findings
	@$(RUN) tools.golden --write && $(RUN) tools.config_reference && $(RUN) tools.schemas

accuracy: sync ## How wrong the memory planner is, on every public log at hand: docs/accuracy.md
	@$(RUN) tools.accuracy

oracle: sync ## Ask vLLM's own planning code again (no GPU; 9 GB and some minutes per version): tests/engine/{oracle,activation}.jsonl
	@$(RUN) tools.oracle && $(RUN) tools.oracle --activation

diff: sync ## Show how the rendered stacks differ from the last commit
	@$(RUN) tools.golden --diff

sync:
	@command -v uv >/dev/null || { echo "error: no uv on PATH; \`pip install uv\` installs it" >&2; exit 2; }
	@uv sync --quiet --locked --inexact
