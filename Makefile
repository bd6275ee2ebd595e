# hdbkit: everything from a fresh checkout, with only Python 3.11 (or later) and make.
#
#   make demo [QUICK=1]   the main job on a private server: build, sweep, verdict, report
#   make test             ruff, mypy, and every test
#   make lint             ruff, mypy, import-linter
#   make lab              JupyterLab with the notebooks
#   make clean            remove the environment and every cache (results stay)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALLED := $(VENV)/.installed
LAB := $(VENV)/.installed-lab

.PHONY: help demo test lint tools lab clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

demo: $(INSTALLED)
	@$(BIN)/hdbkit demo $(if $(QUICK),--quick)

test: tools lint
	@$(BIN)/python -m pytest

lint: $(INSTALLED)
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . && echo "ruff: clean"
	@$(BIN)/mypy --no-error-summary && echo "mypy: clean"
	@$(BIN)/lint-imports --no-cache >$(VENV)/imports.log || { cat $(VENV)/imports.log; false; }
	@echo "imports: every layer holds"

tools:
	@sh .ci/tools

lab: $(LAB)
	@$(BIN)/jupyter lab --notebook-dir=notebooks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "environment: installing hdbkit and its tools into $(VENV) (once, a few minutes)"
	@$(PIP) install --editable '.[postgresql,private,dev]'
	@touch $@

$(LAB): $(INSTALLED)
	@echo "environment: installing JupyterLab"
	@$(PIP) install --editable '.[lab]'
	@touch $@

$(BIN)/python:
	@sh .ci/environment $(VENV)
