#!/bin/sh
# Creates the files that compose.tls.yaml needs. The folder certificates/ gets a certificate authority, one
# certificate that all services share, and one certificate for each store. The certificates are valid for DAYS
# (default 365). The folder secrets/ gets the URLs of the databases and of NATS with TLS. Keeps an existing
# authority, and creates new certificates each time. Needs openssl. Run ./make-secrets.sh first.
set -eu
umask 077
cd "$(dirname "$0")"
ca=certificates/authority/ca
mkdir -p certificates/authority
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

if [ ! -e $ca.crt ]; then
  new_key $ca.key
  openssl req -x509 -key $ca.key -days 3650 -subj '/CN=Leadwire, inside' -addext keyUsage=critical,keyCertSign -out $ca.crt
fi

# issue FOLDER NAME CERTIFICATE KEY
issue() {
  folder=certificates/$1
  mkdir -p "$folder"
  printf '%s\n' "subjectAltName=DNS:$2" basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature \
    extendedKeyUsage=serverAuth,clientAuth authorityKeyIdentifier=keyid >$ca.extensions
  new_key "$folder/key.new"
  openssl req -new -key "$folder/key.new" -subj "/CN=$2" -out $ca.request
  openssl x509 -req -in $ca.request -days "${DAYS:-365}" -CA $ca.crt -CAkey $ca.key -CAcreateserial -extfile $ca.extensions \
    -out "$folder/cert.new"
  cp $ca.crt "$folder/ca.new"
  # Containers read the files as other users, so every user may read them, as in secrets/. On this machine,
  # only the owner can open certificates/.
  chmod 755 "$folder"
  chmod 444 "$folder"/*.new
  mv -f "$folder/ca.new" "$folder/ca.crt"
  mv -f "$folder/cert.new" "$folder/$3"
  mv -f "$folder/key.new" "$folder/$4"
}
issue services leadwire tls.crt tls.key
issue postgres postgres tls.crt tls.key
issue nats nats tls.crt tls.key
issue seaweedfs seaweedfs tls.crt tls.key

# with_tls SECRET EXPRESSION: writes the same URL with TLS as a separate secret.
with_tls() {
  sed "$2" "secrets/$1" >"secrets/.$1"
  chmod 644 "secrets/.$1"
  mv -f "secrets/.$1" "secrets/$1_tls"
}
for database in leads webhooks; do
  with_tls ${database}_database_url 's#$#?sslmode=verify-full\&sslrootcert=/tls/ca.crt#'
done
with_tls nats_url 's#nats://#tls://#g'
