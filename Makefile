# `make play`, `make demo` and `make test` do all of their own set-up; nothing but Python 3.11+ and make is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt

LOWEST := .venv-lowest
LOWEST_PYTHON ?= python3.11
NOT_LOWEST := deep cluster experiments faults test_pages.py  # extras; long ones; pages of the newest versions

.PHONY: demo play test test-all test-lowest lint types imports bench docs clean

demo: $(VENV)/.base
	@$(BIN)/equipoise warm-up
	@$(BIN)/python -m equipoise.demo

play: $(VENV)/.base
	@$(BIN)/equipoise play

test: lint types imports
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test-all: lint types imports
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "slow or not slow"

test-lowest: $(LOWEST)/.dev
	@$(LOWEST)/bin/python -m pytest -q -n $(JOBS) --dist worksteal tests $(addprefix --ignore=tests/,$(NOT_LOWEST))

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.dev
	@$(BIN)/mypy

imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-cache

bench: $(VENV)/.dev
	@$(BIN)/equipoise bench

docs: $(VENV)/.docs
	@$(BIN)/python -m sphinx -q -W -b html docs build/docs
	@echo "open build/docs/index.html"

clean:
	rm -rf $(VENV) $(LOWEST) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Equipoise needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once)..."
	@$(PYTHON) -m venv $(VENV) || \
	    { rm -rf $(VENV); echo "Python's venv module is missing; on Debian: apt install python3-venv" >&2; exit 1; }

$(VENV)/.base: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing Equipoise and what it needs into $(VENV) (once, about a minute):"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "Installing what the tests need (once, some minutes):"
	@$(INSTALL) --editable '.[dev,deep,cluster]'
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	@echo "Installing what the pages need (once):"
	@$(INSTALL) --editable '.[docs]'
	@touch $@

$(LOWEST)/.dev: pyproject.toml tests/helpers/lowest_versions.py
	@$(LOWEST_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	    { echo "This needs Python 3.11, the lowest; name it with: make test-lowest LOWEST_PYTHON=..." >&2; exit 1; }
	@echo "Setting up $(LOWEST) with the lowest versions (once)..."
	@rm -rf $(LOWEST) && $(LOWEST_PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python tests/helpers/lowest_versions.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/constraints.txt \
	    --editable '.[dev]'
	@touch $@
