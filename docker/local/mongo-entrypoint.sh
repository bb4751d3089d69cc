#!/bin/sh
# Like the official image: `docker run IMAGE --replSet rs0` and `docker run IMAGE mongod --replSet rs0` both start mongod
# on every interface of the container.
set -e
case "${1:-}" in '' | -*) set -- mongod "$@" ;; esac
[ "$1" = mongod ] && set -- "$@" --bind_ip_all --nounixsocket
exec "$@"
