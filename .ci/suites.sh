#!/usr/bin/env bash
# The JSON Schema Test Suite, out of the source archive of `jsonschema`, into .ci/suites; nothing is done where it is there.
set -euo pipefail
cd "$(dirname "$0")"

wanted=$(sha256sum <requirements-suites.txt | cut -d' ' -f1)
if [ -f suites/.installed ] && [ "$(cat suites/.installed)" = "$wanted" ]; then
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
../.venv/bin/python -m ensurepip -q >/dev/null 2>&1 || true
../.venv/bin/python -m pip download -q --disable-pip-version-check --no-deps --no-binary jsonschema --require-hashes \
  -r requirements-suites.txt -d "$work"
rm -rf suites
mkdir -p suites
tar xzf "$work"/jsonschema-*.tar.gz -C suites --strip-components=2 --wildcards '*/json/tests/draft7' '*/json/tests/draft2020-12'
echo "$wanted" >suites/.installed
