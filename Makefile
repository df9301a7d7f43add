# Everything below needs Python 3.11+, and a Java 17+ for Spark and Kafka; the rest is fetched into .venv and ~/.cache/trident.
PYTHON ?= python3
MINUTES ?= 10
PYTEST_ARGS ?=
# two workers, and together what shares an expensive server (conftest.py)
WORKERS ?= -n 2 --dist loadgroup --no-loadscope-reorder
MUTANTS_DRAWN ?= 3
MUTANTS_SEED ?=
EFFORT ?= verify
BENCH_ARGS ?=
GUARD ?=
SEEDS ?= 20000
SEED ?=
CHAOS_ARGS ?=
NEWEST_ARGS ?=
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo chaos reliability test verify lint bench bench-outputs bench-operations bench-acking bench-scale soak mutants prove simulate explore spark-newest wheel wheel-trial docs constraints clean java

help:
	@echo "make demo              the payments job with kills, on a real Kafka and a real PostgreSQL"
	@echo "make chaos             real kills of drivers, executors, brokers and databases, with verdicts; CHAOS_ARGS='--seed 2'"
	@echo "make test              the short form, and the coverage; PYTEST_ARGS='-k name' for some"
	@echo "make reliability       what is lost and what comes twice at each level, by fault, beside a study of Storm; RELIABILITY_ARGS='--scale 0.1'"
	@echo "make verify            the long forms: seeds, crash matrix, outages, containers, demo, chaos, mutants, newest Spark; EFFORT=whole"
	@echo "make lint              ruff and mypy --strict"
	@echo "make bench             throughput and latency beside hand-written Structured Streaming; BENCH_ARGS='--scale 0.1'"
	@echo "make bench-outputs     the same for records to Kafka and rows to PostgreSQL"
	@echo "make bench-operations  every operation at 1,000,000 records beside the same on plain DataFrames"
	@echo "make bench-acking      what tracking costs a batch, and each message of a queue"
	@echo "make bench-scale       how the cost of a batch grows with partitions, keys, states ...; BENCH_ARGS='--axes keys'"
	@echo "make soak MINUTES=10   resident memory over time"
	@echo "make mutants           each guard removed in a copy of the tree: which test, of which layer, notices? GUARD=word"
	@echo "make prove             what each slow layer is said to notice alone: does no quicker one? (an hour)"
	@echo "make simulate          the protocol in virtual time under faults; SEEDS=100000 for more, SEED=123 for one again"
	@echo "make explore           every future of a small world, breadth first; the large scopes, MINUTES for each"
	@echo "make spark-newest      the main job, the DSL and a kill on the newest Spark that is allowed, in .venv-newest"
	@echo "make wheel             sdist and wheel into dist/"
	@echo "make wheel-trial       the wheel in empty environments with the oldest and the newest Spark: what README and docs print is run there"
	@echo "make docs              README, docs/ and the reference as pages for a browser, in build/site"
	@echo "make constraints       pin the newest versions of all dependencies that fit"
	@echo "make clean             delete all that make has made"

demo: $(INSTALLED) java
	@$(RUN) -m examples.demo

chaos: $(INSTALLED) java
	@$(RUN) -m chaos.run $(CHAOS_ARGS)
	@$(RUN) -m pytest -q --effort verify integration_tests/restores
	@$(RUN) -m pytest -q --effort whole integration_tests/sinks/test_lost_ends.py

reliability: $(INSTALLED) java
	@$(RUN) -m reliability.run $(RELIABILITY_ARGS)

# Only a whole run has a coverage to be held to.
test: $(INSTALLED) java
	@$(RUN) -m pytest $(WORKERS) $(if $(PYTEST_ARGS),$(PYTEST_ARGS),--cov --cov-report=)
	@$(if $(PYTEST_ARGS),,$(RUN) -m tests.covered)

verify: $(INSTALLED) java
	@$(RUN) -m integration_tests.newest_spark
	@$(RUN) -m tests.mutants.run --drawn $(MUTANTS_DRAWN) $(if $(MUTANTS_SEED),--seed $(MUTANTS_SEED))
	@$(RUN) -m pytest $(WORKERS) --effort $(EFFORT) --durations 40 $(PYTEST_ARGS)

lint: $(INSTALLED)
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

bench: $(INSTALLED) java
	@$(RUN) -m benchmarks.run $(BENCH_ARGS)

bench-outputs: $(INSTALLED) java
	@$(RUN) -m benchmarks.outputs $(BENCH_ARGS)

bench-operations: $(INSTALLED) java
	@$(RUN) -m benchmarks.operations $(BENCH_ARGS)

bench-acking: $(INSTALLED) java
	@$(RUN) -m benchmarks.acking $(BENCH_ARGS)

bench-scale: $(INSTALLED) java
	@$(RUN) -m benchmarks.scale $(BENCH_ARGS)

soak: $(INSTALLED) java
	@$(RUN) -m benchmarks.soak --minutes $(MINUTES)

mutants: $(INSTALLED)
	@$(RUN) -m tests.mutants.run --guard '$(GUARD)'

prove: $(INSTALLED)
	@$(RUN) -m tests.simulation.proving
	@$(RUN) -m tests.mutants.run --prove

simulate: $(INSTALLED)
	@$(RUN) -m tests.simulation --seeds $(SEEDS) $(if $(SEED),--seed $(SEED))

explore: $(INSTALLED)
	@$(RUN) -m tests.simulation.exploring $(if $(filter command line environment,$(origin MINUTES)),--minutes $(MINUTES))

spark-newest: $(INSTALLED) java
	@$(RUN) -m integration_tests.newest_spark $(NEWEST_ARGS)

wheel: $(INSTALLED)
	@$(RUN) -m build --no-isolation

wheel-trial: $(INSTALLED) java
	@$(RUN) -m integration_tests.wheel_trial

docs: $(INSTALLED)
	@$(RUN) -m manual.build

java: $(INSTALLED)
	@$(RUN) -m trident.local.java
	-@$(RUN) -m trident.local.class_data

# The stamp makes a second run quick: it is older than these files only when they have changed.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, $(PYTHON) is " + sys.version.split()[0] + ": install it, or name another one with make PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(RUN) -m pip install --quiet --editable '.[local,dev]' --constraint constraints.txt
	@touch $@

constraints:
	@$(PYTHON) -m venv --clear build/constraints
	@build/constraints/bin/python -m pip install --quiet '.[local,dev]' 'pyspark==4.0.0'
	@build/constraints/bin/python -m pip freeze --exclude trident-pyspark > constraints.txt

clean:
	rm -rf $(VENV) .venv-newest build dist spark-warehouse .mypy_cache .ruff_cache .pytest_cache .hypothesis
