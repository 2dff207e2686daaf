#!/bin/sh
# MinIO's client, out of the server's image: ./mc.sh FOLDER ARGUMENTS. The stack's store is `store`, the folder is /backup.
set -eu
folder=$1
shift
cd "$(dirname "$0")"
exec docker compose run --rm --no-deps -T --user "$(id -u):$(id -g)" --volume "$folder:/backup" --entrypoint sh minio -euc '
  scheme=http
  if [ -e /tls/ca.crt ]; then scheme=https; mkdir -p /tmp/mc/certs/CAs; cp /tls/ca.crt /tmp/mc/certs/CAs; fi
  export MC_HOST_store="$scheme://$MINIO_ROOT_USER:$(cat /run/secrets/s3_secret_key)@minio:9000"
  export NO_PROXY="*"
  mc --config-dir /tmp/mc "$@"
' mc "$@"
