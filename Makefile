# Everything runs in .venv, or for packages whose pins disagree in .venvs/*: these targets create and
# keep up to date what they need.

PYTHON  ?= python3
WORKERS ?= 2

VENV := .venv
BIN  := $(VENV)/bin
# Python compiles what is imported; compiling everything at once takes 350 MB and a minute.
PIP  := $(BIN)/python -m pip --disable-pip-version-check -qq install --no-compile

# The experiments' data, when it is kept beside the checkout.
ifndef TRUELINE_DATA
ifneq ($(wildcard ../shared/data/.),)
export TRUELINE_DATA := $(abspath ../shared/data)
endif
endif

# One environment for each list of packages: their pins disagree, or they are large.
READERS := $(patsubst packages/%.txt,.venvs/%/.ready,$(wildcard packages/*.txt))

# What `make bench` runs.
BENCHMARKS := core estimator mixtures memory files models online inventory depth parquet
BENCHMARKS := $(wildcard $(BENCHMARKS:%=benchmarks/%.py))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup test packages lowest build docs compare sharpness counts reproduce lint format demo bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## set up the development environment

test: $(VENV)/.dev ## run all tests and doctests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup $(ARGS)

packages: $(READERS) ## test what needs environments of its own: other packages, Spark, a browser
	$(PYTHON) packages/environments.py test $(ARGS)
	@$(PYTHON) packages/environments.py list

lowest: .venvs/lowest/.ready ## test with the lowest versions that pyproject.toml allows
	$(PYTHON) packages/lowest.py test -n $(WORKERS) $(ARGS)

build: ## build wheel and sdist, and use each in an empty environment
	$(PYTHON) packages/build.py

docs: .venvs/docs/.ready ## build the documentation: docs/_build/html/index.html
	$(PYTHON) packages/docs.py build
	$(PYTHON) packages/docs.py check

compare: .venvs/trees/.ready ## recalibrate what those packages forecast, on the UCI sets
	OMP_NUM_THREADS=1 .venvs/trees/bin/python examples/packages.py $(ARGS)

sharpness: .venvs/trees/.ready ## compare the sharpness of models of quantiles with Conditional
	OMP_NUM_THREADS=1 .venvs/trees/bin/python examples/sharpness.py $(ARGS)

counts: .venvs/series/.ready ## forecast doctor visits, before and after calibration
	OMP_NUM_THREADS=1 .venvs/series/bin/python examples/counts.py $(ARGS)

reproduce: $(VENV)/.dev ## run an experiment of the paper, such as ARGS="table1 --quick"
	@$(BIN)/python -m reproduce $(ARGS)

lint: $(VENV)/.dev ## check style, types, layers and sizes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python benchmarks/house.py --check

format: $(VENV)/.dev ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

demo: $(VENV)/.core ## recalibrate an over-confident model, write report.html
	@$(BIN)/python -m trueline.demo

bench: $(VENV)/.dev ## measure speed and memory: 15 minutes, with ARGS=--quick two
	@failed=0; for script in $(BENCHMARKS); do \
	    echo "== $$script"; $(BIN)/python $$script $(ARGS) || failed=1; \
	done; exit $$failed

clean: ## remove the environment, caches and builds
	@rm -rf $(VENV) .venvs build dist docs/_build docs/api docs/auto_examples .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src reproduce tests benchmarks packages -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The core alone, which is all that the demo needs. A broken environment is created again.
$(VENV)/.core: pyproject.toml constraints/cpu.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "trueline needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing trueline into $(VENV)"
	@$(PIP) -e . -c constraints/cpu.txt
	@touch $@

# The development tools come on top of the core: never two installs into one environment at a time.
$(VENV)/.dev: $(VENV)/.core
	@echo "installing the development tools into $(VENV): 1.8 GB, two to seven minutes"
	@$(PIP) -e ".[dev]" -c constraints/cpu.txt
	@touch $@

$(READERS): .venvs/%/.ready: packages/%.txt pyproject.toml constraints/cpu.txt
	@$(PYTHON) packages/environments.py make $*

.venvs/docs/.ready: pyproject.toml
	@$(PYTHON) packages/docs.py make

.venvs/lowest/.ready: pyproject.toml constraints/cpu.txt
	@$(PYTHON) packages/lowest.py make
