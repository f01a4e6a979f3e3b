# Everything runs in a virtual environment of its own, .venv, which the first command sets up.
#   make train    make test    make help

# The first of these that is 3.11 or newer and can make virtual environments. Override: make PYTHON=/path/to/python
PYTHON ?= $(or $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$python" && break; done),none)

, := ,
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CONFIG ?= configs/quick.toml

.DEFAULT_GOAL := help
.PHONY: help train check test test-more test-all lint docs bench tensorboard web clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

train: $(VENV)/train.stamp  ## train the quick config (or CONFIG=...) and show how strong it plays
	$(BIN)/rlgo train $(CONFIG) --set run.name=$(basename $(notdir $(CONFIG)))-$$(date +%Y%m%d-%H%M%S)

# One process a core, with one thread for linear algebra: two would wait for each other, each on a busy core. A file stays
# in one process, and files run in the order of tests/conftest.py.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
CORE := tests/rlgo tests/mcts  # where there is compiled code
SIDE_BY_SIDE := --numprocesses=auto --dist=loadfile --no-loadscope-reorder

check: lint  ## lint, types and the fast tests, in under a minute once everything is compiled
	$(PYTEST) $(SIDE_BY_SIDE) -m "not slow and not process and not gnugo and not ray and not browser"

test: $(VENV)/test.stamp  ## run the tests of all rooms
	$(PYTEST) $(SIDE_BY_SIDE) -m "not more and not thorough"

# What compiles most or starts most processes; then a subset on the same code without numba, and a subset with array
# bounds checked. numba does not key its cache by the last, hence the separate folder. There, optimising would take three
# times as long as testing; without it, numba cannot cache everything, and says so.
test-more: $(VENV)/test.stamp  ## run what `make test` leaves out, and parts of both interpreted and with bounds checked
	$(PYTEST) $(SIDE_BY_SIDE) -m "more and not thorough"
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q -p no:cacheprovider $(SIDE_BY_SIDE) -m interpreted $(CORE)
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=0 RLGO_CACHE_DIR=$(CURDIR)/build/cache-boundscheck \
		$(PYTEST) -q -p no:cacheprovider $(SIDE_BY_SIDE) -m boundscheck -W ignore::numba.core.errors.NumbaWarning $(CORE)

test-all: $(VENV)/test.stamp  ## run all tests on every Python there is, and with the lowest versions of what rlgo needs
	$(BIN)/nox

lint: $(VENV)/test.stamp  ## check style, types and security
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive rlgo mcts train

docs: $(VENV)/docs.stamp  ## build the documentation site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

bench: $(VENV)/train.stamp  ## measure the speed on this machine
	$(BIN)/rlgo bench

tensorboard: $(VENV)/train.stamp  ## show the logs of all runs in a browser
	$(BIN)/tensorboard --logdir runs --samples_per_plugin images=100

web:  ## rebuild the page of `rlgo web` from train/play/web/page; needs Node.js
	cd train/play/web/page && npm ci && npm run build

clean:  ## remove what can be made again: .venv and caches (runs stay)
	rm -rf $(VENV) .nox build dist .cache .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find rlgo mcts train tests tools studies -name __pycache__ -prune -exec rm -rf {} +

# Set-up, once, and again when pyproject.toml changes. pip says what it is doing. Without --no-compile, half of the time
# would go into translating modules to byte code, most of which are never imported. Where Python may not do that later,
# it is done now: otherwise each start would translate them again.
define install
	@echo "Installing $(1) into $(VENV), once:"
	@start=$$(date +%s); $(PIP) install $(if $(PYTHONDONTWRITEBYTECODE),--compile,--no-compile) --editable '.[$(2)]' \
	$(if $(PYTHONDONTWRITEBYTECODE),&& $(BIN)/python -m compileall -q rlgo mcts train) \
	&& echo "Installed after $$(( $$(date +%s) - start )) s"
endef

$(VENV)/venv.stamp:
	@if [ "$(PYTHON)" = none ]; then \
		echo "make: no Python 3.11 or newer that can make virtual environments (module venv)." >&2; \
		echo "Install one (on Debian: python3 and python3-venv), or name it: make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi
	@echo "Making the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/train.stamp: pyproject.toml $(VENV)/venv.stamp
	$(call install,rlgo and what it needs,tensorboard)
	@touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/venv.stamp
	$(call install,rlgo and what its tests need,test)
	@touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/venv.stamp
	$(call install,rlgo and what its documentation needs,docs)
	@touch $@

# Both at once, for .ci/run: each installation builds rlgo and resolves all that it needs.
$(VENV)/ci.stamp: pyproject.toml $(VENV)/venv.stamp
	$(call install,rlgo and what its tests and documentation need,test$(,)docs)
	@touch $(VENV)/test.stamp $(VENV)/docs.stamp $@
