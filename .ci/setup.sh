#!/usr/bin/env bash
# The virtual environment `.venv` with the locked packages and this project; quick where nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(cat .ci/requirements.txt .ci/requirements-data.txt pyproject.toml | sha256sum | cut -d' ' -f1)
stamp=.venv/.installed
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python -c pass 2>/dev/null; then
  exit 0
fi

python=""
for name in python3.13 python3.12 python3.11 python3 /usr/bin/python3; do
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$(command -v "$name")
    break
  fi
done
if [ -z "$python" ]; then
  echo "setup: Python 3.11 or later is needed; on Debian and Ubuntu: apt-get install python3 python3-venv" >&2
  exit 7
fi

if [ ! -x .venv/bin/python ]; then
  if ! "$python" -m venv .venv 2>/dev/null; then
    rm -rf .venv
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
      python=/usr/bin/python3
      "$python" -m venv .venv
    else
      echo "setup: this Python cannot make a virtual environment; as root: apt-get install python3-venv" >&2
      exit 7
    fi
  fi
fi

echo "setup: installing packages into .venv" >&2
if command -v uv >/dev/null; then
  uv pip install -q -p .venv/bin/python --require-hashes -r .ci/requirements.txt
  uv pip install -q -p .venv/bin/python --no-deps --require-hashes -r .ci/requirements-data.txt
  uv pip install -q -p .venv/bin/python --no-deps -e .
else
  .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r .ci/requirements.txt
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r .ci/requirements-data.txt
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -e .
fi
echo "$wanted" >"$stamp"
