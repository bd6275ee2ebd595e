# hdbkit: every task from a fresh clone; needs Python 3.11 or later, and make.
#
#   make demo [QUICK=1]   private server, build, sweep, report
#   make test             ruff, mypy and the tests of each change
#   make stress [TIMES=5] make test, repeated beside two busy processes
#   make soak             long tests: random kills of runs and sweeps, 10,000 damaged files, each engine's demo
#   make newest           hdbkit on Debian's newest servers and Python, unpacked into its cache; part of make soak
#   make lint             ruff, mypy, import-linter
#   make bench [QUICK=1]  the speed of hdbkit beside other tools; each figure with its target
#   make lab              JupyterLab with the notebooks
#   make docs [QUICK=1]   the documentation site, in build/docs, with executed notebooks; QUICK=1 leaves their outputs out
#   make clean            remove the environment and all caches; results are kept

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install
FOR_DEMO := $(VENV)/.demo
INSTALLED := $(VENV)/.installed
NEWEST := python3.14 postgresql-19 mysql-server-core mariadb-server-core redis-server valkey-server

unexport PYTHONDONTWRITEBYTECODE # tests, sweeps and bench start hundreds of processes, which read compiled modules

.PHONY: help demo test stress bench soak newest lint tools lab docs client clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

demo: $(FOR_DEMO)
	@$(BIN)/hdbkit demo $(if $(QUICK),--quick)

test: tools
	@lint=0; $(MAKE) --no-print-directory lint || lint=1; sh .ci/tests $(BIN)/python || exit 1; \
		[ $$lint -eq 0 ] || { echo "the tests passed; lint failed: see above them"; exit 1; }

stress: $(INSTALLED)
	@sh .ci/stress $(or $(TIMES),5)

soak: $(INSTALLED) newest
	@lscpu | sed -n 's/^Model name: */processor: /p; s/^CPU(s): */cores: /p'; uname -sr
	@HDBKIT_SOAK=1 $(BIN)/python -m pytest --durations=10 tests/soak --ignore=tests/soak/test_newest.py $(addprefix tests/run/test_,cli_demo.py custom.py hammerdb.py private_server_settings.py)
	@$(BIN)/python -m pytest --durations=10 -m long tests

newest: $(INSTALLED)
	@for one in $(NEWEST); do $(BIN)/python .ci/newest $$one || true; done # tests of what is missing are skipped
	@HDBKIT_SOAK=1 $(BIN)/python -m pytest tests/soak/test_newest.py

lint: $(INSTALLED)
	@sh .ci/lint $(BIN)

tools:
	@sh .ci/tools

bench: $(INSTALLED)
	@$(BIN)/python -m bench

lab: $(INSTALLED)
	@$(BIN)/jupyter lab --config=notebooks/.lab/config.py

docs: $(VENV)/.docs
	@HDBKIT_DOCS_NOTEBOOKS=$(if $(QUICK),off,force) $(BIN)/sphinx-build -q -W --keep-going -b html -c docs . build/docs
	@echo "docs: build/docs/index.html"

$(VENV)/.docs: $(INSTALLED)
	@echo "docs: installing Sphinx into $(VENV) (once)"
	@$(INSTALL) docs
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(FOR_DEMO): pyproject.toml | $(BIN)/python
	@$(INSTALL) postgresql,private
	@touch $@

$(INSTALLED): pyproject.toml | $(BIN)/python
	@extra=$$(sh .ci/driver $(BIN)/python) && $(INSTALL) postgresql,redis,odbc,oracle,db2,private,lab,app,agent,cluster,tproc-h,dev$$extra
	@touch $@ $(FOR_DEMO)

$(BIN)/python:
	@sh .ci/environment $(VENV)
