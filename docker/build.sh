#!/usr/bin/env bash
# Builds the images of the services: docker/build.sh [TAG] [TARGET…], by default oncehook-local/{gateway,fulfilment,simulator,setup}:test.
# NODE_IMAGE and BASE_IMAGE are the base images. If unset, the script uses the official images if it has them or can pull them,
# otherwise those of docker/local/build.sh. IMAGE_PREFIX (oncehook-local) is the part of the names before the slash. REVISION is the
# source revision for the images' label; if unset, Git's revision of this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:-test}
shift || true
targets=("$@")
if ((${#targets[@]} == 0)); then targets=(gateway fulfilment simulator setup); fi
prefix=${IMAGE_PREFIX:-oncehook-local}

# first_of OFFICIAL LOCAL
first_of() {
  if docker image inspect "$2" >/dev/null 2>&1 && ! docker image inspect "$1" >/dev/null 2>&1; then echo "$2"
  elif docker image inspect "$1" >/dev/null 2>&1 || docker pull --quiet "$1" >/dev/null 2>&1; then echo "$1"
  else
    bash docker/local/build.sh >&2
    echo "$2"
  fi
}

# The variables that docker/pin-images.sh has written; those of the shell override them.
pinned() { sed -n "s/^$1=//p" docker/.env | tail -1; }
NODE_IMAGE=${NODE_IMAGE:-$(pinned NODE_IMAGE)}
BASE_IMAGE=${BASE_IMAGE:-$(pinned BASE_IMAGE)}
node_image=${NODE_IMAGE:-$(first_of node:24-bookworm-slim oncehook-local/node:24.21.0)}
base_image=${BASE_IMAGE:-$(first_of debian:bookworm-slim oncehook-local/debian:bookworm)}
revision=${REVISION:-$(git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || echo unknown)}
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0 # the client insists on BuildKit even where it lacks it

for target in "${targets[@]}"; do
  start=$SECONDS
  docker build --quiet --file docker/Dockerfile --target "$target" --tag "$prefix/$target:$tag" \
    --build-arg NODE_IMAGE="$node_image" --build-arg BASE_IMAGE="$base_image" \
    --label org.opencontainers.image.version="$version" --label org.opencontainers.image.revision="$revision" . >"$log" 2>&1 || {
    tail -20 "$log" >&2
    echo "docker/build.sh: $prefix/$target:$tag cannot be built" >&2
    exit 1
  }
  bytes=$(docker image inspect --format '{{.Size}}' "$prefix/$target:$tag")
  echo "Made $prefix/$target:$tag, $((bytes / 1000000)) MB, in $((SECONDS - start)) s"
done
