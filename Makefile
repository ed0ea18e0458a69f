# The pipeline: installs what is pinned, runs DVC, prints the results.
.PHONY: install repro figures corpus release retrain runtime wheel demo test test-fast fuzz ui lint bench
DEV := scripts/bootstrap.sh requirements-dev.lock
# A file's tests stay together, and the order of files is tests/conftest.py's.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

install:
	@scripts/bootstrap.sh requirements.lock

repro:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/python scripts/repro.py
	@.venv/bin/cachezoo results

# Tables and plots that only people read, and the pipeline does not need: experiments/dvc.yaml
figures:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/python experiments/figures.py

# The corpus's traces that are missing, one after the other; as root. data/raw/corpus/README.md
corpus:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/cachezoo trace corpus

# Every bundle as one archive in release/, with SHA256SUMS, and docs/zoo.md. KEY=private.pem signs them.
release:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/cachezoo bundle release release --page docs/zoo.md $(addprefix --key ,$(KEY))

# Your own traces join the fit, and the models made of it challenge: make retrain TRACES="a.csv b.csv" CATEGORY=database
retrain:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/python scripts/retrain.py --category $(CATEGORY) $(TRACES)

# libcachezoo and its nbdkit filter in runtimes/c/build; the small Python wheel in dist/. docs/runtime.md
runtime:
	@$(MAKE) -s -C runtimes/c all filter

wheel:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/python -m pip wheel -q --no-deps --no-build-isolation -w dist runtimes/python

# A mounted cache in front of a slow disk, policy by policy: docs/mounted.md. DEMO="--category mail --requests 0"
demo:
	@scripts/bootstrap.sh requirements.lock
	@$(MAKE) -s -C runtimes/c all filter demo

test:
	@$(DEV)
	@.venv/bin/python -m pytest $(PYTEST_ARGS)

# All but the tests marked slow: about three minutes on two cores.
test-fast:
	@$(DEV)
	@.venv/bin/python -m pytest $(PYTEST_ARGS) -m "not slow"

# Every reader on damaged inputs: make fuzz MINUTES=60, in all; TARGET=msr for one reader. docs/fuzzing.md
MINUTES ?= 60
JOBS ?= 2
TARGET ?=
fuzz:
	@$(DEV)
	@.venv/bin/python -m tests.fuzz.campaign --minutes $(MINUTES) --jobs $(JOBS) $(addprefix --target ,$(TARGET))

ui:
	@scripts/bootstrap.sh requirements.lock
	@.venv/bin/cachezoo track sync
	@.venv/bin/cachezoo track ui

lint:
	@$(DEV)
	@.venv/bin/ruff check src pipelines experiments tests benchmarks notebooks
	@.venv/bin/mypy

bench:
	@$(DEV)
	@.venv/bin/python benchmarks/policies.py
	@.venv/bin/python benchmarks/following.py --speed
	@.venv/bin/python benchmarks/page_cache.py
	@.venv/bin/python benchmarks/decisions.py
	@.venv/bin/python benchmarks/limits.py
	@$(if $(CACHEZOO_PUBLIC_TRACES),.venv/bin/python benchmarks/agreement.py)
	@.venv/bin/python benchmarks/labels.py
	@.venv/bin/python benchmarks/devices.py
	@.venv/bin/python benchmarks/ingest.py --large
