#!/bin/sh
# Prepares the files that the proxy reads in /run/proxy: your certificate, if docker/own has certificate.pem and key.pem. Otherwise it
# makes a self-signed one for the host of PUBLIC_URL, and renews it when it has a week left. Runs at every `up`.
set -eu
umask 077
cd /run/proxy
url=${PUBLIC_URL:-https://localhost:8443}
if ! printf '%s' "$url" | grep -Eq '^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$'; then
  echo 'PUBLIC_URL must be like https://pay.shop.example, with a port where it is not 443' >&2
  exit 78
fi
host=${url#https://}
host=${host%%:*}
case $host in *[!0-9.]*) name="DNS:$host" ;; *) name="IP:$host" ;; esac
transport=

if [ -f /own/certificate.pem ] && [ -f /own/key.pem ]; then
  cp /own/certificate.pem certificate.new
  cp /own/key.pem key.new
  # Only for your own certificate: with one that a developer trusts for localhost, it would bind all of localhost to https.
  transport='add_header Strict-Transport-Security "max-age=31536000" always;'
elif ! { [ -s key.pem ] && [ "$(cat made-for 2>/dev/null)" = "$name" ] &&
  openssl x509 -in certificate.pem -noout -checkend 604800 >/dev/null; }; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -keyout key.new -out certificate.new \
    -subj "/CN=$host" -addext "subjectAltName=$name,DNS:localhost,DNS:proxy,IP:127.0.0.1" \
    -addext 'extendedKeyUsage=serverAuth' 2>/dev/null
fi
if [ -f key.new ]; then
  chmod 400 key.new
  chmod 444 certificate.new
  chown "$PROXY_USER" key.new certificate.new
  mv key.new key.pem
  mv certificate.new certificate.pem
  if [ -n "$transport" ]; then rm -f made-for; else printf '%s' "$name" >made-for; fi
fi

# RFC 9116: how to report a vulnerability of this system. Your file, if docker/own has security.txt; otherwise one with
# SECURITY_CONTACT, valid for half a year from each `up`. Without either, there is none.
contact=${SECURITY_CONTACT:-}
rm -f security.txt
if [ -f /own/security.txt ]; then
  for field in Contact Expires; do
    grep -Eiq "^$field: ." /own/security.txt || { echo "docker/own/security.txt has no $field (RFC 9116)" >&2; exit 78; }
  done
  cp /own/security.txt security.txt
elif [ -n "$contact" ]; then
  if ! printf '%s' "$contact" | grep -Eq '^(mailto:[^[:space:]]+@|https://|tel:)[^[:space:]]+$'; then
    echo 'SECURITY_CONTACT must be like mailto:security@shop.example or https://shop.example/security' >&2
    exit 78
  fi
  expires=$(date -u -d "@$(($(date +%s) + 15552000))" +%Y-%m-%dT%H:%M:%SZ)
  printf 'Contact: %s\nExpires: %s\nCanonical: %s/.well-known/security.txt\n' "$contact" "$expires" "$url" >security.txt
fi
if [ -f security.txt ]; then chmod 444 security.txt; fi

printf 'set $public_origin %s;\n' "$url" >origin.new
printf '%s\n' "$transport" >transport.new
chmod 444 origin.new transport.new
mv origin.new origin.conf
mv transport.new transport.conf
chmod 555 .
