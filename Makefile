# Every target creates what it needs: a machine with python3 and make is enough.
# `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SEEDS ?= 200
MINUTES ?= 120
SECONDS ?= 30
# One more than there are processors, for some wait for others' processes.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
BOTH := --numprocesses $(WORKERS) --maxprocesses 4 --dist loadfile
FAST := -m "not e2e and not real and not long"

.DEFAULT_GOAL := help
.PHONY: help demo lab lab-down test long test-real lint format e2e stories sim mutations fuzz coverage crash soak bench docs lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements-dev.lock pyproject.toml
	@echo "setting up $(VENV) (once, a minute or so)"
	@$(PYTHON) -c 'import sys; sys.exit("isthmus needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## Two clusters, joined, on this machine: no root, no Docker, no Kubernetes
	@$(BIN)/isthmus demo

lab: $(READY) ## Two real Kubernetes clusters on this machine, with our image in them; needs root, not Docker
	@$(BIN)/python -m lab up
	@$(BIN)/python -m lab load nginx curl isthmus

lab-down: $(READY) ## End them, and remove all that they left
	@$(BIN)/python -m lab down

test: $(READY) ## The fast suite; what needs a real kube-apiserver is in test-real
	@$(BIN)/python -m pytest $(BOTH) $(FAST)

long: $(READY) ## What takes its time on virtual time: kills of install and rotations, a thousand restarts, bugs built in
	@$(BIN)/python -m pytest $(BOTH) -m long

test-real: $(READY) ## Build kube-apiserver and etcd if missing, then run the contract suite on them
	@$(BIN)/python -m lab build
	@$(BIN)/python -m pytest $(BOTH) -m "real and not e2e"

e2e: $(READY) ## Whole processes as a user runs them, also under load, killed and replaced; E2E=-x for options
	@$(BIN)/python -m pytest -m e2e --ignore tests/e2e/lab $(E2E)

stories: $(READY) ## Stories on two and three real Kubernetes clusters; needs root, builds what is missing
	@$(BIN)/python -m pytest -m e2e tests/e2e/lab $(E2E)

sim: $(READY) ## Random schedules of faults on virtual time; SEEDS=5000 for more
	@$(BIN)/python -m tests.sim --seeds $(SEEDS)

mutations: $(READY) ## Build known bugs in, one by one, and count the schedules until each is caught
	@$(BIN)/python -m tests.sim mutations

fuzz: $(READY) ## Look for inputs that a parser does not survive; TARGET=leaf for one of them, SECONDS=600 for more
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/fuzz/requirements.lock
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(TARGET)

coverage: $(READY) ## Every error path and branch of core, kube, catalogue, xds and pki must have been reached by a test
	@$(BIN)/python -m tests.reached $(BOTH) $(FAST)

crash: $(READY) ## Kill controllers, rotations, install and unlink at every request, not only at every write
	@ISTHMUS_CRASH=all $(BIN)/python -m pytest $(BOTH) tests/crash

soak: $(READY) ## A controller process while links come and go: memory, tasks and files; MINUTES=15 for a first look
	@$(BIN)/python -m tests.soak --minutes $(MINUTES)

lint: $(READY) ## Formatting, lint, types and import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## Let ruff format and mend what it can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY) ## Everything measured beside peers and the floor, 90 minutes; BENCH=--quick for a first look
	@$(BIN)/python -m bench $(BENCH)

docs: $(READY) ## Write the reference of commands, kinds and values from the code (docs/reference)
	@$(BIN)/python -m docs.generate

lock: $(READY) ## Choose the newest allowed dependencies and write all lock files
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --upgrade \
		--custom-compile-command "make lock" pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --upgrade \
		--custom-compile-command "make lock" --group dev pyproject.toml -o requirements-dev.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --upgrade \
		--custom-compile-command "make lock" --constraint requirements.lock \
		bench/requirements.in -o bench/requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --upgrade \
		--custom-compile-command "make lock" tests/fuzz/requirements.in -o tests/fuzz/requirements.lock

clean: ## Remove everything that make created here (the cache of built binaries stays)
	rm -rf $(VENV) .venv-bench build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage.reached*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
