#!/bin/sh
# Restores a complete backup that backup.sh made: ./restore.sh FOLDER. First removes all data of the stack.
# secrets/ must be the same as when the backup was made. Leads that were erased after the backup come back:
# erase them again (docs/privacy.md).
set -eu
folder=$(cd "${1:?name the folder of a backup}" && pwd)
cd "$(dirname "$0")"
fail() { echo "$1" >&2; exit 1; }
[ -e "$folder/complete" ] ||
  fail "$folder is not a complete backup: the file \"complete\", which backup.sh writes last, is missing"
[ -d "$folder/files" ] || fail "$folder/files is missing"
gzip --test "$folder/postgres.tar.gz" || fail "$folder/postgres.tar.gz is missing or damaged"

docker compose down --volumes
docker compose run --rm --no-deps -T --entrypoint sh postgres -euc '
  mkdir -m 700 -p "$PGDATA"
  tar --extract --gzip --directory "$PGDATA"
  pg_verifybackup --quiet "$PGDATA"
' <"$folder/postgres.tar.gz"
docker compose up --detach --wait seaweedfs
./rclone.sh "$folder/files" mkdir store:leadwire
./rclone.sh "$folder/files" copy /backup store:leadwire
# The stream starts empty. leads-service publishes again all events that webhook-service has not stored.
docker compose up --detach --wait
