# Every target does its own set-up; a second start installs and builds nothing.
PY := .venv/bin/python

.PHONY: demo test check lint types imports bench setup clean

setup:
	@bash .ci/setup.sh

demo: setup
	@$(PY) -m harness.front.cli.main demo

test: setup
	@bash .ci/test.sh

check: setup lint types imports
	@bash .ci/test.sh

lint: setup
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: setup
	@$(PY) -m mypy

imports: setup
	@.venv/bin/lint-imports

bench: setup
	@$(PY) -m benchmarks

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache
