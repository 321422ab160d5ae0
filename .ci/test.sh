#!/usr/bin/env bash
# The tests: everything that this machine can run; what it cannot is listed with the reason at the end (pytest -ra).
# With CI=true a missing backend is a failure: see tests/conftest.py.
set -euo pipefail
cd "$(dirname "$0")/.."
bash .ci/suites.sh || [ "${CI:-}" != true ] # the same for the suites
bash .ci/npm.sh || [ "${CI:-}" != true ] # without npm the tests that need it say so, and in CI fail
# A worker that dies ends the run with the test's name: pytest-xdist would replace it and then wait for ever.
exec .venv/bin/python -m pytest -q -n "${TEST_WORKERS:-2}" --dist loadgroup --max-worker-restart=0 "$@"
