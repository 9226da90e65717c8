# Each target first makes what it needs: a virtual environment with the packages that constraints.txt pins, and in it an
# editable install, which rebuilds the core at import after a change of its sources. `make test PYTHON=python3.12` uses
# another interpreter, in a separate virtual environment.

ifdef PYTHON
VENV := .venv-$(notdir $(PYTHON))
else
VENV := .venv
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
endif
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
READY := $(VENV)/ready
PIP_INSTALL := $(PY) -m pip install --disable-pip-version-check -c constraints.txt
EDITABLE := --no-build-isolation --config-settings=editable.rebuild=true --config-settings=build-dir

# cmake, ninja and the linters are programs of the virtual environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# An installed compiler that supports C++20. If there is none, setup installs the one in the Python package ziglang.
COMPILER = $(shell for cxx in $${CXX:-c++ g++ clang++}; do \
	echo 'int main() {}' | $$cxx -std=c++20 -x c++ -fsyntax-only - 2>/dev/null && echo $$cxx && break; done; \
	command -v cl || true)
ZIG = $(PY) -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name("zig"))'
TOOLCHAIN = $(if $(COMPILER),,CMAKE_TOOLCHAIN_FILE=$(CURDIR)/uno_flex_env/core/zig.cmake ZIG="$$($(ZIG))")

# `jupyter execute` without the times of execution, which would differ each time.
EXECUTE := 'import nbclient.cli; nbclient.NotebookClient.record_timing = False; nbclient.cli.main()'

CORE_SOURCES := $(wildcard uno_flex_env/core/*.hpp uno_flex_env/core/*.cpp)
SANITIZED := build/sanitized

.DEFAULT_GOAL := help
.PHONY: help test train benchmark docs notebooks bench lint format core sanitize clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python' >&2; exit 1; }
	@echo "Setting up $(VENV), once: a virtual environment, about 2 GB of packages, and the core. It takes 3 to 10 minutes."
	@echo '1 of 3: the virtual environment and the tools to build with, about half a minute'
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) scikit-build-core nanobind cmake ninja $(if $(COMPILER),,ziglang)
	# Every import of an editable install runs cmake twice, and pip's Python wrapper around cmake is slow.
	ln -sf "$$($(PY) -c 'import cmake; print(cmake.CMAKE_BIN_DIR)')/cmake" $(BIN)/cmake
	@echo '2 of 3: packages, torch among them, and a first build of the core, some minutes'
	$(TOOLCHAIN) $(PIP_INSTALL) $(EDITABLE)=$(VENV)/core -e '.[dev]'
	@echo '3 of 3: done; what you have asked for begins'
	touch $@

test: core ## Run the tests; FAST=1 leaves out the slow ones and most parameters of the others
	$(TOOLCHAIN) $(PY) -m pytest -n logical --maxprocesses 8 --dist worksteal $(if $(FAST),--fast)

train: $(READY) ## Train an agent for some minutes and print its win rates
	@echo 'Training takes about 6 minutes on two cores. You can end it with Ctrl-C and continue later.'
	$(PY) -m experiments train --config configs/train/quick.toml

benchmark: core ## Run the smoke suite of the benchmark, about a minute
	rm -rf runs/benchmark/smoke
	$(PY) -m experiments benchmark run smoke

docs: core ## Build the documentation site in docs/_build/html
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html

notebooks: $(READY) ## Run the notebooks from their text and keep what they show
	$(BIN)/jupytext --sync notebooks/*.py
	$(PY) -c $(EXECUTE) --inplace notebooks/*.ipynb

bench: $(READY) ## Measure the speed, also beside RLCard
	$(PIP_INSTALL) rlcard
	$(PY) -m uno_flex_env bench
	$(PY) -m experiments core_speed

lint: core ## Check style, types and formatting
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	clang-format --dry-run --Werror $(CORE_SOURCES)

format: $(READY) ## Rewrite the sources in the project's style
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	clang-format -i $(CORE_SOURCES)

core: $(READY) ## Rebuild the core now and show the compiler's output
	SKBUILD_EDITABLE_VERBOSE=1 $(PY) -c 'import uno_flex_env._core'

# A second environment that holds only the package, built with sanitizers. All other packages come from the first one.
sanitize: $(READY) ## Run the tests marked so on a core that stops at memory errors and undefined behavior (gcc)
	$(PY) -m venv --without-pip $(SANITIZED)
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
		"$$($(SANITIZED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
	$(PY) -m pip --python $(SANITIZED)/bin/python install --no-deps $(EDITABLE)=$(SANITIZED)/core \
		--config-settings=cmake.define.UNO_FLEX_SANITIZE=ON -e .
	LD_PRELOAD="$$(for library in asan ubsan stdc++; do \
		$(firstword $(COMPILER)) -print-file-name=lib$$library.so; done | tr '\n' :)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(SANITIZED)/bin/python -m pytest --capture=sys -m sanitize

clean: ## Remove what was built, the virtual environments included
	rm -rf build dist docs/_build docs/_generated .venv .venv-* uno_flex_env/_core.pyi
