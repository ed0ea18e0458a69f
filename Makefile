# The pipeline: installs what is pinned, runs DVC, prints the results. `make` alone is `make help`.
.PHONY: help install repro figures facts corpus release retrain runtime install-runtime deb wheel demo dev test test-fast test-long fuzz ui lint audit lock sbom bench site
RUN := scripts/run.sh
DEV := $(RUN) scripts/bootstrap.sh requirements-dev.lock
# A file's tests stay together, and the order of files is tests/conftest.py's.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile
	@$(RUN) scripts/moved.sh

install: ## install the pinned packages into .venv
	@$(RUN) scripts/bootstrap.sh requirements.lock

repro: ## install, dvc repro, print the results; V=1: all of them
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/dvc repro
	@$(RUN) .venv/bin/cachezoo models results $(if $(V),-v)

# Tables and plots that only people read, and the pipeline does not need: lab/dvc.yaml
figures: ## tables and plots outside the pipeline, in lab/results/
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python -m lab
	@$(RUN) .venv/bin/python -m scripts.facts

# Counts, tables and plots of results in README.md and docs/, from metrics/ and lab/results/: after `make repro`.
# What pages show of commands, and their plots: python -m scripts.pictures
facts: ## counts, tables and plots of results in README.md and docs/
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python -m scripts.facts

# The corpus's traces that are missing, one after the other; as root. data/raw/corpus/README.md
corpus: ## capture the traces of the corpus that are missing (as root)
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python -m tools.capture corpus

# Every bundle as one archive in release/, with SHA256SUMS, and docs/zoo.md; then what else a release takes.
release: ## pack every bundle into release/, and walk the list; KEY=private.pem signs
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python -m scripts.release $(addprefix --key ,$(KEY))

# Your own traces join the fit, and the models made of it challenge: make retrain TRACES="a.csv b.csv" CATEGORY=database
# With TRY=1 nothing is changed: it says what an hour, a day and a week of the trace bring the page cache.
retrain: ## train on your traces: TRACES="a.csv b.csv" CATEGORY=database; TRY=1: only try
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python scripts/retrain.py $(if $(TRY),--try) $(addprefix --category ,$(CATEGORY)) $(TRACES)

# docs/runtime.md has what these build.
runtime: ## libcachezoo and its nbdkit filter, in runtimes/c/build
	@$(MAKE) -s -C runtimes/c all filter

# What a server needs, without Python packages: PREFIX=/usr/local, DESTDIR= for packagers. docs/serve.md
PREFIX ?= /usr/local
DESTDIR ?=
install-runtime: ## what a server needs: library, filter, cachezoo-serve; PREFIX= DESTDIR=
	@$(MAKE) -s -C runtimes/package install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

deb: ## the same, as a package of Debian and Ubuntu, in dist/
	@$(MAKE) -s -C runtimes/package deb

wheel: ## Python wheels with libcachezoo, in dist/: of the runtime alone, of everything
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/python -m pip wheel -q --no-deps --no-build-isolation -w dist runtimes/python
	@$(RUN) env CACHEZOO_WITH_LIBRARY=1 .venv/bin/python -m pip wheel -q --no-deps --no-build-isolation -w dist .

# DEMO="-o demo.png" keeps the plot. The filter is built where nbdkit's headers are.
demo: ## recommend and run a cache for a small trace, in a minute
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(MAKE) -s -C runtimes/c lib $(if $(wildcard /usr/include/nbdkit-filter.h),filter)
	@$(RUN) env CACHEZOO_LIBRARY=runtimes/c/build/libcachezoo.so.1 .venv/bin/cachezoo demo $(DEMO)

dev: ## install what the tests need as well; then: .venv/bin/python -m pytest PATH
	@$(DEV)

test: ## all tests but the long ones
	@$(DEV)
	@$(RUN) .venv/bin/python -m pytest $(PYTEST_ARGS) -m "not long"

test-fast: ## all tests but the slow ones
	@$(DEV)
	@$(RUN) .venv/bin/python -m pytest $(PYTEST_ARGS) -m "not slow and not long"

# What is marked long, and every property again on 400 random examples; a campaign of fuzzing is `make fuzz`.
test-long: ## the long tests, and 400 examples for every property
	@$(DEV)
	@$(RUN) .venv/bin/python -m pytest $(PYTEST_ARGS) -m "long or hypothesis" --hypothesis-profile=long

# Every reader on damaged inputs: make fuzz MINUTES=60, in all; TARGET=msr for one reader. docs/fuzzing.md
MINUTES ?= 60
JOBS ?= 2
TARGET ?=
fuzz: ## every reader on damaged inputs: MINUTES=60 in all, TARGET=msr for one
	@$(DEV)
	@$(RUN) .venv/bin/python -m tests.fuzz.campaign --minutes $(MINUTES) --jobs $(JOBS) $(addprefix --target ,$(TARGET))

ui: ## MLflow on 127.0.0.1:5000
	@$(RUN) scripts/bootstrap.sh requirements.lock
	@$(RUN) .venv/bin/cachezoo models track sync
	@$(RUN) .venv/bin/cachezoo models track ui

lint: ## ruff, clang-format, mypy and, where osv.dev answers, audit
	@$(DEV)
	@$(RUN) .venv/bin/ruff check src pipelines lab tools tests benchmarks notebooks
	@$(RUN) .venv/bin/clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')
	@$(RUN) .venv/bin/mypy
	@$(RUN) .venv/bin/python -m scripts.audit --if-reachable

audit: ## the locks against published vulnerabilities
	@$(DEV)
	@$(RUN) .venv/bin/python -m scripts.audit

# After a change of the dependencies in pyproject.toml. To have another version of a package, remove its lines first.
lock: ## both locks, with hashes, from pyproject.toml; and docs/licences.md
	@$(DEV)
	@$(RUN) .venv/bin/python -m scripts.locks
	@$(DEV)
	@$(RUN) .venv/bin/python -m scripts.sbom --licences

sbom: ## a bill of materials (CycloneDX) of what the pipeline runs with: build/sbom.cdx.json
	@$(DEV)
	@$(RUN) .venv/bin/python -m scripts.sbom build/sbom.cdx.json

bench: ## all benchmarks
	@$(DEV)
	@$(RUN) .venv/bin/python benchmarks/policies.py
	@$(RUN) .venv/bin/python benchmarks/following.py --speed
	@$(RUN) .venv/bin/python benchmarks/curves.py
	@$(RUN) .venv/bin/python benchmarks/sampling.py
	@$(RUN) .venv/bin/python benchmarks/recommend.py --speed 1000000
	@$(RUN) .venv/bin/python benchmarks/characteristics.py
	@$(RUN) .venv/bin/python benchmarks/page_cache.py
	@$(RUN) .venv/bin/python benchmarks/decisions.py
	@$(RUN) .venv/bin/python benchmarks/limits.py
	@$(if $(CACHEZOO_PUBLIC_TRACES),$(RUN) .venv/bin/python benchmarks/agreement.py)
	@$(RUN) .venv/bin/python benchmarks/flash.py
	@$(RUN) .venv/bin/python benchmarks/labels.py
	@$(RUN) .venv/bin/python benchmarks/streams_build.py
	@$(RUN) .venv/bin/python benchmarks/devices.py
	@$(RUN) .venv/bin/python benchmarks/ftl.py
	@$(RUN) .venv/bin/python benchmarks/wear.py
	@$(RUN) .venv/bin/python benchmarks/wear.py --caches
	@$(RUN) .venv/bin/python benchmarks/virtual.py
	@$(RUN) .venv/bin/python benchmarks/ingest.py --large

# The pages of docs/ with search, in site/: open site/index.html. mkdocs.yml
site: ## the documentation as a site, in site/
	@$(DEV)
	@$(RUN) env NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict
