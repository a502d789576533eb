# Each target installs what it needs into .venv and says what it does. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-unit test-cert-manager conformance chaos reloads check format cluster bench-admission bench-decisions bench-memory-usage bench-serving bench-extender clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(READY): setup.cfg pyproject.toml
	@echo "Installing custom-scheduler and its tools into $(VENV) (about a minute the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) can't make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY) ## show the main job on a real control plane; KEEP=1 leaves it running
	@$(BIN)/python -m demo $(if $(KEEP),--keep)

test: $(READY) ## run all tests, the end-to-end ones on a real control plane too
	@$(BIN)/python -m devcluster build
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-unit: $(READY) ## run the tests that need no control plane
	@$(BIN)/python -m pytest -m 'not e2e' $(PYTEST_ARGS)

test-cert-manager: $(READY) ## run the tests with the real cert-manager, which is built first: a minute or two, once
	@$(BIN)/python -m devcluster build
	@$(BIN)/python -m pytest -m cert_manager tests/e2e tests/chaos $(PYTEST_ARGS)

conformance: $(READY) ## compare decisions with kube-scheduler's; SEEDS=2000 START=0 say which
	@$(BIN)/python -m devcluster build
	@CONFORMANCE_SEEDS=$(or $(SEEDS),2000) CONFORMANCE_START=$(or $(START),0) $(BIN)/python -m pytest -q tests/conformance $(PYTEST_ARGS)

chaos: $(READY) ## change all that can change under calls, and count those that fail; CALLS=6000 a scenario
	@$(BIN)/python -m devcluster build
	@CHAOS_CALLS=$(or $(CALLS),6000) $(BIN)/python -m pytest -q -p no:randomly tests/chaos $(PYTEST_ARGS)

reloads: $(READY) ## reload plugins under a stream of pods, and measure the memory that it takes; RELOADS=100
	@$(BIN)/python -m devcluster build
	@RELOADS=$(or $(RELOADS),100) $(BIN)/python -m pytest -q -s tests/e2e/test_plugin_reload.py $(PYTEST_ARGS)

check: $(READY) ## check format, lint, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy docs/template/my_plugin.py
	@$(BIN)/lint-imports

format: $(READY) ## format the code and mend what the linter can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

cluster: $(READY) ## start a throwaway control plane and print its KUBECONFIG line; Ctrl-C ends it
	@$(BIN)/python -m devcluster up

bench-admission: $(READY) ## measure a decision in process, at several sizes of body
	@$(BIN)/python -m bench.admission

bench-decisions: $(READY) ## measure a scheduling decision in process, on clusters of several sizes
	@$(BIN)/python -m bench.decisions

bench-memory-usage: $(READY) ## replay streams of pods, and compare how evenly rules fill nodes with them
	@$(BIN)/python -m bench.memory_usage

bench-serving: $(READY) ## compare the webhook under load with controller-runtime and kopf; RUNS=12 SECONDS=1
	@$(BIN)/python -m bench.serving --runs $(or $(RUNS),12) --seconds $(or $(SECONDS),1)

bench-extender: $(READY) ## measure what one pod costs in the extender's handlers
	@$(BIN)/python -m bench.extender

clean: ## remove the virtual environment and what the tools cached
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
