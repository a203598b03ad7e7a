# Everything runs in .venv, which is made on first use with the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
ENV := .venv/.installed
PYTEST_ARGS ?= # for instance -m slow
# One thread a process: the tests are many small products, and there are two processes.
# Bytecode is kept, as many tests start processes of their own.
TEST_ENV := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# The tests whose numbers come from matrix products, which every CPU rounds its own way;
# without those of what torch's compiler, exporters and processes support.
NUMERIC_TESTS := $(addprefix tests/,functional density nn estimators inspection) \
  --ignore=tests/nn/test_support.py
OLD_KERNELS := OPENBLAS_CORETYPE=Nehalem ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-kernels check format bench bench-estimators bench-speed results docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(ENV) ## profile, fit and predict on a real incomplete table; writes demo/demo.html
	$(BIN)/lacunet demo

reproduce: $(ENV) ## all experiments of the paper on small data, in minutes; writes reproduced/report.html
	$(BIN)/python -m reproduction run all --data digits --jobs 2 --out reproduced
	$(BIN)/python -m reproduction report reproduced -o reproduced/report.html --force

test: check ## check, then run tests, doctests and the README's code blocks
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test-kernels: $(ENV) ## run the numeric tests under other CPU kernels
	$(TEST_ENV) $(OLD_KERNELS) $(BIN)/python -m pytest -n 2 $(NUMERIC_TESTS)
	if grep -qs avx512f /proc/cpuinfo; then \
	  $(TEST_ENV) OPENBLAS_CORETYPE=SkylakeX $(BIN)/python -m pytest -n 2 $(NUMERIC_TESTS); \
	fi

check: $(ENV) ## format, lint, types and the layer rule, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(ENV) ## format the code and fix what the linter can fix
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: $(ENV) ## measure speed and memory of the core; prints a table
	$(BIN)/python -m benchmarks.run

bench-estimators: $(ENV) ## compare the estimators with others; LACUNET_DATA names the data folder
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[boosting,reproduction]"
	$(BIN)/python -m benchmarks.tables

bench-speed: $(ENV) ## measure fits and predictions of 1,000 to 100,000 rows beside boosted trees
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[boosting,reproduction]"
	$(BIN)/python -m benchmarks.speed

results: $(ENV) ## make docs/results.md of the committed results
	$(BIN)/python -m reproduction report -o docs/results.md --force

docs: $(ENV) ## check the links of README.md and docs
	$(BIN)/python docs/check_links.py

$(ENV): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "lacunet needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@echo "Installing into .venv; torch is a large download. This happens once."
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	@touch $@
