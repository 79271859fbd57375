# Everything a person or a machine does with this repository. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PEERS_VENV := .venv-peers
PEERS_READY := $(PEERS_VENV)/ready
NODE_READY := frontend/node_modules/.package-lock.json
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Keeps TensorFlow's start-up lines out of the way; its errors still show.
export TF_CPP_MIN_LOG_LEVEL ?= 2
# Two tests at a time, for most of them wait; the one that is done first helps the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help env demo screenshots cases test check lint fast frontend frontend-check bench bench-store torture compat audit build proto docs format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(READY) ## Make the environment in .venv

demo: $(READY) ## Record real trainings and open the Health tab (HEADLESS=1: check and exit)
	$(BIN)/python -m demo $(if $(HEADLESS),--headless)

screenshots: $(READY) ## Take every view of the tab, light and dark, at three widths
	$(BIN)/python -m demo.screenshots

cases: $(READY) ## Run trainings that fail or look as if, and compare verdicts (CASES=dir, IDS="k1 k2")
	$(BIN)/python -m tests.cases $(IDS) $(if $(CASES),--dir $(CASES))

test: check ## Everything: lint, types, all tests, a real TensorBoard, a real browser
	$(PYTEST) -m "live or browser or thorough"

check: lint frontend-check fast ## Lint, types and fast tests, in under two minutes

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell

fast: $(READY)
	$(PYTEST) -q -m "not live and not browser and not thorough"

frontend: $(NODE_READY) ## Build the page into tb_health_plugin/server/static
	.ci/npm run build

frontend-check: $(NODE_READY)
	.ci/npm run check
	.ci/npm test

bench: $(if $(PEERS),$(PEERS_READY),$(READY)) ## Measure what recording and reading cost (QUICK=1, PEERS=1: beside others, WORKLOAD=name)
	$(if $(PEERS),PEERS=1 $(PEERS_VENV)/bin/python,$(BIN)/python) -m bench

bench-store: $(READY) ## Keep the last measurement in the repository and write its figures into the README
	$(BIN)/python -m bench.stored

torture: $(READY) ## Try to break it for a while (MINUTES=5)
	$(BIN)/python -m tests.torture --minutes $(or $(MINUTES),5)

compat: $(READY) ## Try the wheel with the oldest and newest versions it allows (ONLY=name)
	$(BIN)/python -m tests.compat $(if $(ONLY),--only "$(ONLY)")

audit: $(READY) ## Ask for known weaknesses of what we depend on
	$(BIN)/python -m pip install -q --disable-pip-version-check pip-audit
	$(BIN)/python -m tests.audit $(if $(STRICT),--strict)

build: $(READY) ## Build the wheel into dist/
	$(BIN)/python -m build --wheel

proto: $(READY) ## Compile health.proto into health.binpb
	$(BIN)/python -m grpc_tools.protoc -Itb_health_plugin/events \
		--descriptor_set_out=tb_health_plugin/events/health.binpb health.proto

docs: $(READY) ## Write docs/rules.md from the pages of the rules
	$(BIN)/python -m tests.diagnosis.rule_reference

format: $(READY) $(NODE_READY) ## Format all code
	$(BIN)/ruff check --fix -q .
	$(BIN)/ruff format -q .
	.ci/npm run format

clean: ## Remove everything that make made
	rm -rf $(VENV) $(PEERS_VENV) build dist *.egg-info demo/out bench/out frontend/node_modules

$(READY): setup.py pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Training Health needs Python 3.10 or newer; run: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[tensorflow,gpu,dev]'
	touch $@

# Other recorders, for the bench alone. They see what is in .venv, and change nothing there.
$(PEERS_READY): $(READY)
	$(PYTHON) -m venv $(PEERS_VENV)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(PEERS_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/product.pth"
	$(PEERS_VENV)/bin/python -m pip install -q --disable-pip-version-check wandb 'mlflow<4'
	touch $@

$(NODE_READY): $(READY) frontend/package.json frontend/package-lock.json
	.ci/npm ci --no-audit --no-fund --loglevel=error
	touch $@
