#!/bin/sh
# What an operator does to replicas "a" and "b": sh replicas.sh start|stop|kill|restart|bad|good|maintain|back a [b]
# SERVE is the command that starts an engine; --host and --port are added to it. Process ids and logs are in run/.
set -eu
: "${SERVE:=llama-server -m model.gguf --alias my-model --parallel 4 --metrics}"
: "${PYTHON:=python3}"
cd "$(dirname "$0")"
mkdir -p run

port() { case $1 in a) echo 8001 ;; b) echo 8002 ;; *) echo "no such replica: $1" >&2; exit 2 ;; esac }

# in a session of its own and without our files, so that it goes on when the drill's command has ended
started() {
  number=$(port "$1")
  setsid sh -c 'echo $$ > "run/$1.pid"; shift; exec "$@"' sh "$1" $2 --host 127.0.0.1 --port "$number" \
    < /dev/null >> "run/$1.log" 2>&1 &
}

# and waits until it is gone, or only waits to be buried by a container's first process
signalled() {
  number=$(cat "run/$2.pid" 2> /dev/null) || return 0
  kill "-$1" "$number" 2> /dev/null || return 0
  while kill -0 "$number" 2> /dev/null; do
    case $(cat "/proc/$number/stat" 2> /dev/null) in *") Z "*) return 0 ;; esac
    sleep 0.05
  done
}

socket() { "$PYTHON" -m cabida.bench.drills.haproxy run/haproxy.sock "$@"; }

what=$1
shift
for name in "$@"; do
  case $what in
    start | back) ;;
    maintain) socket drain "be/$name" --wait 30; signalled TERM "$name" ;;
    stop) signalled TERM "$name" ;;
    *) signalled KILL "$name" ;;
  esac
done
for name in "$@"; do
  case $what in
    start | restart | good) started "$name" "$SERVE" ;;
    back) started "$name" "$SERVE"; socket ready "be/$name" ;;
    bad) started "$name" "$PYTHON bad_version.py" ;;  # answers HTTP and not the API
  esac
done
