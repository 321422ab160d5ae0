#!/usr/bin/env bash
# A private Docker engine in a folder: `engine.sh start FOLDER`, `engine.sh stop FOLDER`. Needs root and dockerd.
# It answers on unix://FOLDER/docker.sock, changes no network or cgroup of the host, and several live side by side.
# Containers must use the network `none`. Where gVisor's runsc is installed it is a runtime of the engine.
set -euo pipefail

usage() {
  sed -n '2,4s/^# //p' "$0" >&2
  exit 2
}

answers() {
  # dockerd listens before it can serve: only an answer to /_ping says that it is ready.
  python3 - "$1/docker.sock" <<'PY' 2>/dev/null
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(2)
s.connect(sys.argv[1])
s.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
sys.exit(not s.recv(100).startswith(b"HTTP/1.0 200"))
PY
}

alive() {
  # An ended process that nobody waits for stays in state Z: that counts as gone.
  local state
  state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || return 1
  [ -n "$state" ] && [ "$state" != Z ]
}

start() {
  local folder=$1 options=()
  mkdir -p "$folder"
  rm -f "$folder/docker.pid" "$folder/docker.sock"
  if runsc=$(command -v runsc); then
    # host-uds: a box under gVisor reaches the run's socket; an older or newer runsc that lacks it uses the stream.
    cat >"$folder/daemon.json" <<JSON
{"runtimes": {"runsc": {"path": "$runsc", "runtimeArgs": ["--host-uds=open", "--network=none"]}}}
JSON
    options+=(--config-file "$folder/daemon.json")
  fi
  setsid dockerd --iptables=false --ip6tables=false --bridge=none --ip-forward=false \
    --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/docker.pid" \
    -H "unix://$folder/docker.sock" "${options[@]}" >"$folder/log" 2>&1 </dev/null &
  local engine=$!
  for _ in $(seq 300); do
    if answers "$folder"; then
      echo "engine: ready at unix://$folder/docker.sock"
      return 0
    fi
    alive "$engine" || break
    sleep 0.1
  done
  echo "engine: no answer from dockerd; the end of $folder/log:" >&2
  tail -n 20 "$folder/log" >&2
  return 1
}

stop() {
  local folder=$1 pid
  pid=$(cat "$folder/docker.pid" 2>/dev/null) || return 0
  # A pid file can be stale: only a process that is this folder's dockerd is ended.
  tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "--pidfile $folder/docker.pid" || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  for _ in $(seq 300); do
    alive "$pid" || return 0
    sleep 0.1
  done
  echo "engine: dockerd $pid does not end; killing it" >&2
  kill -KILL "$pid" 2>/dev/null || true
}

[ $# -eq 2 ] || usage
case $1 in
  start) start "$(realpath -m "$2")" ;;
  stop) stop "$(realpath -m "$2")" ;;
  *) usage ;;
esac
