# Everything runs in a virtual environment of its own, .venv, which the first command sets up.
#   make train    make test    make help

# The first of these that is 3.11 or newer and can make virtual environments. Override: make PYTHON=/path/to/python
PYTHON ?= $(or $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$python" && break; done),none)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CONFIG ?= configs/quick.toml

.DEFAULT_GOAL := help
.PHONY: help train test test-first test-second lint bench tensorboard clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

train: $(VENV)/train.stamp  ## train the quick config (or CONFIG=...) and show how strong it plays
	$(BIN)/rlgo train $(CONFIG) --set run.name=$(basename $(notdir $(CONFIG)))-$$(date +%Y%m%d-%H%M%S)

# All tests on compiled code, in two halves side by side; a subset on the same code without numba; a subset with array
# bounds checked. numba does not key its cache by the last, hence the separate folder.
SEARCH_TESTS := $(addprefix tests/,$(addsuffix .py,\
	rlgo/test_alphabeta train/test_analyze train/test_bench rlgo/test_dyna2 mcts/test_mcts train/test_players test_readme rlgo/test_rollout rlgo/test_table_search rlgo/test_tactics rlgo/test_td_search rlgo/test_thinking mcts/test_tree_options))

test: $(VENV)/test.stamp  ## run the tests
	@$(MAKE) --no-print-directory --jobs=2 test-first test-second

test-first:
	$(BIN)/python -m pytest $(addprefix --ignore=,$(SEARCH_TESTS))

test-second:
	$(BIN)/python -m pytest -p no:cacheprovider $(SEARCH_TESTS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -p no:cacheprovider -m interpreted
	NUMBA_BOUNDSCHECK=1 RLGO_CACHE_DIR=$(CURDIR)/build/cache-boundscheck \
		$(BIN)/python -m pytest -q -p no:cacheprovider -m boundscheck

lint: $(VENV)/test.stamp  ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/train.stamp  ## measure the speed on this machine
	$(BIN)/rlgo bench

tensorboard: $(VENV)/train.stamp  ## show the logs of all runs in a browser
	$(BIN)/tensorboard --logdir runs --samples_per_plugin images=100

clean:  ## remove what can be made again: .venv and caches (runs stay)
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find rlgo mcts train tests -name __pycache__ -prune -exec rm -rf {} +

# Set-up, once, and again when pyproject.toml changes.

$(VENV)/venv.stamp:
	@if [ "$(PYTHON)" = none ]; then \
		echo "make: no Python 3.11 or newer that can make virtual environments (module venv)." >&2; \
		echo "Install one (on Debian: python3 and python3-venv), or name it: make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/train.stamp: pyproject.toml $(VENV)/venv.stamp
	@echo "Installing rlgo and what it needs into $(VENV): a minute or two, once ..."
	$(PIP) install --editable '.[tensorboard]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/venv.stamp
	@echo "Installing rlgo and what its tests need into $(VENV): a minute or two, once ..."
	$(PIP) install --editable '.[test]'
	@touch $@
