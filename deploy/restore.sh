#!/bin/sh
# Restores a complete backup of backup.sh: ./restore.sh FOLDER. Everything that the stack holds now is removed first. secrets/
# must be as it was when the backup was made. Leads that were erased since then are back: erase them again (docs/privacy.md).
set -eu
folder=$(cd "${1:?name the folder of a backup}" && pwd)
cd "$(dirname "$0")"
fail() { echo "$1" >&2; exit 1; }
[ -e "$folder/complete" ] ||
  fail "$folder is no complete backup: it has no file \"complete\", which backup.sh writes last"
[ -d "$folder/files" ] || fail "$folder/files is missing"
gzip --test "$folder/postgres.tar.gz" || fail "$folder/postgres.tar.gz is missing or damaged"

docker compose down --volumes
docker compose run --rm --no-deps -T --entrypoint sh postgres -euc '
  mkdir -m 700 -p "$PGDATA"
  tar --extract --gzip --directory "$PGDATA"
  pg_verifybackup --quiet "$PGDATA"
' <"$folder/postgres.tar.gz"
docker compose up --detach --wait minio
./mc.sh "$folder/files" mb --quiet --ignore-existing store/leadwire
./mc.sh "$folder/files" mirror --quiet /backup store/leadwire
# The stream begins empty. leads-service publishes again what webhook-service does not hold.
docker compose up --detach --wait
