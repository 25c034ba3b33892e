# The daily commands. They need Python 3.11, make and git, Go for the tools that are not on PATH, and openssl; uv is fetched.
SHELL := /bin/bash
STACK ?=
NODE ?=
PYTHON ?= python3
# uv makes the Python environment. Without one on PATH, make puts this version into a folder of the project's own.
UV_VERSION := 0.13.9
OWN_UV := $(CURDIR)/.local/uv-$(UV_VERSION)
UV := $(or $(shell command -v uv),$(OWN_UV)/bin/uv)
# Some tools call uv by its name.
export PATH := $(patsubst %/,%,$(dir $(UV))):$(PATH)
RUN := $(UV) run --no-sync python -m
# Says what it fetches only when there is no environment yet.
SYNC := $(UV) sync $(if $(wildcard .venv),--quiet) --locked --inexact
UP := $(RUN) tools.up $(if $(STACK),--stack $(STACK)) $(if $(NODE),--real-node)

.PHONY: golden help up down doctor test fast laws lint fmt bench diff accuracy oracle runtime sync

help: ## Show these commands
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

up: $(UV) ## Deploy a stack (STACK=dev) on a local control plane, from nothing; NODE=1 runs the real engine on a real node
	@$(SYNC) --no-default-groups
	@$(UP) --plan
	@$(SYNC)
	@$(UP) --planned

down: sync ## Stop the local control plane and remove all of it, also after a crash
	@$(RUN) tools.up --down

doctor: sync ## Say what is there, what is missing and what would be built
	@$(RUN) tools.doctor

test: sync ## Build the tools, then lint and every tier of tests (what CI runs)
	@$(RUN) tools.check

fast: sync ## Lint and the tiers that need no tools
	@$(RUN) tools.check --fast

laws: sync ## The laws on new examples, other ones each time (`make test` takes the same everywhere)
	@LAWS=new $(UV) run --no-sync pytest -q tests/property

lint: sync ## ruff, mypy, import contracts
	@$(RUN) tools.check --lint

fmt: sync ## Format and sort imports
	@$(UV) run --no-sync ruff check --fix --quiet . ; $(UV) run --no-sync ruff format .

bench: sync ## Measure: plan, sizings, the command, preview beside a flat program, policy pack, control plane; goals at the end
	@$(RUN) tools.bench

golden: sync ## Write what is generated and reviewed: rendered stacks, config reference, schemas, findings, mechanisms, shown output
	@$(RUN) tools.golden --write && $(RUN) tools.config_reference && $(RUN) tools.component_arguments && $(RUN) tools.component_docs && $(RUN) tools.schemas && $(RUN) tools.findings && $(RUN) tools.mechanisms && $(RUN) tools.shown

accuracy: sync ## How wrong the memory planner is, on every public log at hand: docs/accuracy.md
	@$(RUN) tools.accuracy

oracle: sync ## Ask vLLM's own planning code again (no GPU; 9 GB and some minutes per version): tests/engine/{oracle,activation}.jsonl
	@$(RUN) tools.oracle && $(RUN) tools.oracle --activation

runtime: sync ## Write the archive that pods run: build/interlock-runtime.pyz
	@$(RUN) tools.runtime

diff: sync ## Show how the rendered stacks differ from the last commit
	@$(RUN) tools.golden --diff

sync: $(UV)
	@$(SYNC)

# Never made for a uv on PATH, which is there.
$(OWN_UV)/bin/uv:
	$(PYTHON) -m venv $(OWN_UV) && $(OWN_UV)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
