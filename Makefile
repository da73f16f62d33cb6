# Every target does all of its own set-up. Needed beforehand: Rust stable, Python 3.11 or later, make.
#
# Paths in here are relative, since make cannot name files in a directory whose own path has a space.

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
TARGET := "$$(realpath -m -- "$${CARGO_TARGET_DIR:-target}")"

# The native module does not link to libpython: the interpreter that loads it brings those symbols.
export PYO3_BUILD_EXTENSION_MODULE := 1
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# What the native module is made of; the data files are part of it.
NATIVE_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates devices designs workloads -type f ! -name '*.md' 2>/dev/null)

# maturin tells PyO3 about the interpreter by a file. Naming the same file to cargo keeps it from
# building PyO3, and whatever rests on it, a second time.
CARGO = config=$$(ls $(TARGET)/maturin/pyo3-config-*-abi3.txt 2>/dev/null | head -n 1); \
	$${config:+env "PYO3_CONFIG_FILE=$$config"} cargo

.PHONY: setup demo test rust-lints python-lints rust-tests python-tests soak mutants bench lock audit clean

# Install packages while the engine compiles.
setup:
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.native $(VENV)/.tools

$(BIN)/python:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust, https://rustup.rs" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up, once; about 3 minutes on two cores. First Python's packages into $(VENV) ..."
	$(PYTHON) -m venv $(VENV)

# requirements/ has the exact versions, with the checksums of their wheels; pyproject.toml is the one list of ranges.
PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
LOCKED = --require-hashes --only-binary :all:

$(VENV)/.runtime: requirements/runtime.txt | $(BIN)/python
	$(PIP_INSTALL) $(LOCKED) -r $<
	@touch $@

$(VENV)/.tools: requirements/dev.txt $(VENV)/.runtime
	$(PIP_INSTALL) $(LOCKED) -r $<
	@touch $@

$(VENV)/.native: $(NATIVE_SOURCES) $(VENV)/.runtime
	@echo "Compiling the engine; about 2 minutes on two cores if nothing of it is there yet ..."
	VIRTUAL_ENV="$$PWD/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@

# The demo draws nothing, so that it needs no more than the engine.
demo: $(VENV)/.native
	@if [ -z "$$TINYTAIL_TRACES" ]; then \
		workload=examples/recordings/postgresql.trace.zst; why="TINYTAIL_TRACES is not set"; \
	elif [ -f "$$TINYTAIL_TRACES/DTRS1K.trace.zst" ]; then \
		workload=dtrs; why="found in $$TINYTAIL_TRACES"; \
	else \
		workload=examples/recordings/postgresql.trace.zst; why="no DTRS1K.trace.zst in $$TINYTAIL_TRACES"; \
	fi; \
	case $$workload in \
		dtrs) echo "Workload: the real DTRS trace ($$why)." ;; \
		*) echo "Workload: a recording of PostgreSQL instead of the real DTRS trace ($$why)." ;; \
	esac; \
	echo "Three designs on aged drives of 256 GB; their ageing is kept, so that the next time takes seconds."; \
	$(BIN)/python -m tinytail compare base ttflash base+no-gc --device ttflash-256g --workload $$workload

# The same cases of every property in every run: what fails here fails everywhere.
test: export PROPTEST_RNG_SEED ?= 1
# Four threads even on two cores, since some tests only wait for fio.
test: export RUST_TEST_THREADS ?= 4
# Tests start hundreds of commands; without bytecode each of them compiles the package again.
test: export PYTHONDONTWRITEBYTECODE :=
test: setup
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line rust-lints python-lints
	$(CARGO) test --release --workspace --locked --no-run
	@$(MAKE) --no-print-directory --jobs 2 rust-tests python-tests

# Side by side, since at the end of each some tests are left that use one core. rustdoc cannot reach the jobserver of make.
rust-tests: export MAKEFLAGS :=
rust-tests:
	$(CARGO) test --release --workspace --locked --quiet

python-tests:
	$(BIN)/python -m pytest -n 3 --dist worksteal

rust-lints:
	cargo fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings

python-lints:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m mypy

# New cases of every property, twenty times as many, with arithmetic that must not overflow. Tests that draw a sample in
# `make test` run their full product: TINYTAIL_SOAK tells them so. In Python these tests carry the mark `soak`.
soak: export TINYTAIL_SOAK := 1
soak: export PROPTEST_CASES ?= 5000
soak: export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS = true
soak: export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS = true
soak: setup
	cargo test --release --workspace --locked --no-fail-fast --target-dir $(TARGET)/soak
	$(BIN)/python -m pytest -n 2 --dist worksteal -m soak

# How good the tests of the core are: hours for all 500 mutants, less for a fair part of them (evidence/mutants.md).
mutants: $(BIN)/cargo-mutants
	$(BIN)/python tools/mutants.py

# Its list of mutants is what the sample is drawn from, so the version is fixed.
$(BIN)/cargo-mutants: | $(BIN)/python
	cargo install cargo-mutants --version 27.0.0 --locked --root $(VENV)

# The newest versions that pyproject.toml allows, for every Python and system that it is for.
lock: $(BIN)/uv
	$(BIN)/python tools/lock.py

$(BIN)/uv: | $(BIN)/python
	$(PIP_INSTALL) uv==0.13.9

# Whether a version that is locked, of Python or of Rust, has a known weakness. Needs the databases of both.
audit: $(VENV)/audit $(BIN)/cargo-audit
	$(BIN)/python tools/audit.py

# Apart, since its own packages may need other versions.
$(VENV)/audit: | $(BIN)/python
	$(BIN)/python -m venv $@
	$@/bin/python -m pip install --disable-pip-version-check --progress-bar off pip-audit==2.10.1

$(BIN)/cargo-audit: | $(BIN)/python
	cargo install cargo-audit --locked --root $(VENV)

bench: setup
	$(BIN)/python -m tinytail bench

clean:
	rm -rf $(VENV) $(TARGET) python/tinytail/_native*.so .mypy_cache .pytest_cache .ruff_cache
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
