# make up     sets up and starts everything        make test   sets up and runs the whole suite
# make lint   ruff, mypy --strict, import order    make bench  measures searches at 10,000 tools
# make clean  removes the virtual environment

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --quiet --quiet
PY := $(VENV)/bin/python
TESTS ?=
# TORCH=1 also installs torch, for the tests that need it (sentence-transformers, training): about 1 GB.
TORCH ?=
# How many tests run at a time: one more than there are cores, because many wait for processes that they started.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); echo $$((n < 7 ? n + 1 : 8)))

.DEFAULT_GOAL := help
.PHONY: help up test lint bench clean

help:
	@sed -n 's/^# //p' Makefile

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed (make PYTHON=/path/to/python3.12 …)"; exit 1; }
	@echo "Creating $(VENV) with $(PYTHON) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing dependencies …"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests need …"
	@$(PIP) install -c constraints.txt -e '.[dev,otel]'
	@touch $@

$(VENV)/.installed-torch: $(VENV)/.installed-dev
	@echo "Installing torch …"
	@$(PIP) install -c constraints.txt -e '.[st,train]'
	@touch $@

up: $(VENV)/.installed
	@exec $(PY) manage.py up

test: $(VENV)/.installed-dev $(if $(TORCH),$(VENV)/.installed-torch)
	@$(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(TESTS)

lint: $(VENV)/.installed-dev
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy .
	@$(PY) -m pytest -q tests/test_import_order.py

bench: $(VENV)/.installed-dev
	@$(PY) -m benchmarks.search

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
