# Every target does its own set-up; a second start installs and builds nothing.
PY := .venv/bin/python

.PHONY: demo test check lint types imports bench bench-peers bench-growth bench-pays setup clean

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

# What the harness is set beside lives in an environment of its own: the product never depends on it.
.venv-peers/bin/python:
	@$(PY) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install -q pydantic-monty smolagents 'llm-sandbox[docker]' ipybox

bench-peers: setup .venv-peers/bin/python
	@$(PY) -m benchmarks.peers

bench-growth: setup
	@$(PY) -m benchmarks.growth

bench-pays: setup
	@$(PY) -m benchmarks.pays

clean:
	rm -rf .venv build .mypy_cache .ruff_cache .pytest_cache
