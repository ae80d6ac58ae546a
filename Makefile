# make demo      install into .venv and run the main job on data that scikit-learn ships
# make test      install into .venv, lint, check types, run all quick tests
# make test-slow all tests that are left out there; PART=2/3: the second of three parts, by the names of files
# make test-versions  what reads, prunes, saves and fits forests, with each version of scikit-learn that pyproject.toml allows
# make test-pythons  the quick tests with each version of Python; PYTHONS="python3.12 /path/to/python3.14": others
# make wheel     sdist and wheel: dist/
# make notebooks  run the chapters and store what they print and draw; minutes
# make docs      the site: docs/_build/html/index.html
# make fuzz SECONDS=600  damaged files against every reader, random instances and cascades; SEED=N: others
# make papers    every experiment of the papers in its short form, on 1,000 rows. The full forms take hours: benchmarks/papers/README.md
# make bench     what it costs, measured: seconds, arcs, bytes; more than an hour. make bench-quick: a minute

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
export MPLBACKEND := Agg
# Rewriting the tests' assertions takes half a minute; later runs read them from __pycache__.
unexport PYTHONDONTWRITEBYTECODE

# versions of scikit-learn for make test-versions, the folder of their environments, and the tests that each runs
SKLEARN ?= 1.6 1.7 1.8 1.9
VERSIONS := build/versions
VERSION_TESTS := tests/prunemodels/models/forests tests/prunemodels/files/test_forests.py tests/prunemodels/test_main_job.py \
	tests/prunemodels/estimators/test_pruned_forest.py tests/prunemodels/estimators/test_budget_pruned_forest.py

# interpreters for make test-pythons, and the folder of their environments
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
PYTHON_TESTS := build/pythons

# seconds for all fuzzers together, and the seed of their random choices
SECONDS ?= 600
SEED ?= 0

.PHONY: demo test test-slow test-versions test-pythons lint types warm wheel notebooks docs fuzz papers bench bench-quick clean

demo: $(VENV)/.user
	$(BIN)/prunemodels demo --force

# While types are checked on one core, the other does once what each of pytest's two workers would do: see warm.
test: lint
	$(MAKE) -j 2 types warm
	$(BIN)/python -m pytest

# Compile kernels, and rewrite the tests' assertions.
warm: $(VENV)/.dev
	$(BIN)/prunemodels warm-up --all --quiet
	$(BIN)/python -m pytest --collect-only -qq -n 0 >/dev/null

test-slow: $(VENV)/.dev
	HYPOTHESIS_PROFILE=$(or $(HYPOTHESIS_PROFILE),explore) $(BIN)/python -m pytest -m slow $(if $(PART),--part $(PART))

# Each version tests itself and saves forests; then each loads what all have saved. An old scikit-learn warns of new SciPy.
test-versions: $(SKLEARN:%=$(VERSIONS)/%/.installed)
	rm -rf $(VERSIONS)/files
	set -e; for v in $(SKLEARN); do \
	  $(VERSIONS)/$$v/bin/python -m pytest -p no:cacheprovider -W "ignore:scipy.optimize:DeprecationWarning" $(VERSION_TESTS); \
	  $(VERSIONS)/$$v/bin/python -m tests.version_files save $(VERSIONS)/files; done
	set -e; for v in $(SKLEARN); do $(VERSIONS)/$$v/bin/python -m tests.version_files load $(VERSIONS)/files; done

$(VERSIONS)/%/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv $(VERSIONS)/$*
	$(VERSIONS)/$*/bin/python -m pip install --quiet --disable-pip-version-check -e ".[plots,io]" "scikit-learn==$*.*" \
	  pytest pytest-xdist hypothesis polars
	@touch $@

# The name of an environment is the version of its Python: two interpreters of one version share it.
test-pythons:
	set -e; for p in $(PYTHONS); do \
	  env=$(PYTHON_TESTS)/$$($$p -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  $$p -m venv $$env; \
	  $$env/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,interop]"; \
	  $$env/bin/python -m pytest -p no:cacheprovider; done

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m notebooks.execute --check

types: $(VENV)/.dev
	$(BIN)/mypy

wheel: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

notebooks: $(VENV)/.dev
	$(BIN)/python -m notebooks.execute

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . docs/_build/html -d docs/_build/doctrees

fuzz: $(VENV)/.dev
	status=0; for fuzzer in files answers limits cascades; do \
	    $(BIN)/python -m benchmarks.fuzzing $$fuzzer --seconds $$(($(SECONDS) / 4)) --seed $(SEED) || status=$$?; \
	done; exit $$status

papers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.papers all --rows 1000

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks
	for name in naive start_up boosted medical default_forest big_tables cluster scale on_demand real_numbers; do \
	    $(BIN)/python -m benchmarks.$$name || exit 1; \
	done
	$(BIN)/python -m benchmarks.on_demand --prices
	$(BIN)/python -m benchmarks.budgets --exact-seconds 0
	$(BIN)/python -m benchmarks.growth --against rows trees programs engines
	$(BIN)/python -m benchmarks.scale --data yahoo

bench-quick: $(VENV)/.dev
	$(BIN)/python -m benchmarks --quick

clean:
	rm -rf $(VENV) demo-output dist build docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plots,io]"
	@touch $@

$(VENV)/.dev: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,docs,interop]"
	@touch $@ $(VENV)/.user
