#!/usr/bin/env bash
# `docker/pin-images.sh` pulls the official images by their tags and writes them with their digests into docker/.env, where compose and
# docker/build.sh read them. `--check` changes nothing and exits with 1 if a tag names another image than the digest there. ENV_FILE
# is written instead of docker/.env.
set -euo pipefail
file=${ENV_FILE:-$(dirname "$0")/.env}
declare -A tags=(
  [MONGO_IMAGE]=mongo:8.0 [PROXY_IMAGE]=nginx:1.28-bookworm [NODE_IMAGE]=node:24-bookworm-slim [BASE_IMAGE]=debian:bookworm-slim
)

# digest_of IMAGE: its current digest in the registry.
digest_of() {
  docker pull --quiet "$1" >/dev/null || return
  docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$1" | sed -n "s/^${1%%:*}@\(sha256:[0-9a-f]\{64\}\)\$/\1/p" | head -1
}

moved=0
for name in $(printf '%s\n' "${!tags[@]}" | sort); do
  tag=${tags[$name]}
  digest=$(digest_of "$tag") || digest=
  if [ -z "$digest" ]; then
    echo "No registry gives the digest of $tag: nothing is changed" >&2
    exit 1
  fi
  pinned=$tag@$digest
  if [ "${1:-}" != --check ]; then
    lines=$(grep -v "^$name=" "$file" || true)
    printf '%s\n%s=%s\n' "$lines" "$name" "$pinned" >"$file"
    echo "$pinned"
  elif ! grep -qx "$name=$pinned" "$file"; then
    echo "$name is not $pinned" >&2
    moved=1
  fi
done
exit "$moved"
