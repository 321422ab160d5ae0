#!/usr/bin/env bash
# Servers and suites from npm that tests use, locked, into .ci/npm/node_modules; nothing is done where they are there.
set -euo pipefail
cd "$(dirname "$0")/npm"

wanted=$(sha256sum <package-lock.json | cut -d' ' -f1)
stamp=node_modules/.installed
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi
if ! command -v npm >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
  else
    echo "npm: Node.js and npm are needed; on Debian and Ubuntu: apt-get install nodejs npm" >&2
    exit 7
  fi
fi
npm ci --silent --no-audit --no-fund --ignore-scripts
echo "$wanted" >"$stamp"
