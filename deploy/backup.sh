#!/bin/sh
# Backs up the running stack into a new folder: ./backup.sh FOLDER
#   postgres.tar.gz   both databases at one moment (a base backup with its WAL)
#   files/            the objects of the bucket
#   complete          an empty file, written last: restore.sh requires it
# Files come last: then each file that a database names is there. NATS needs no backup: what it holds is in PostgreSQL too.
# secrets/ is not in it. Keep a copy of that folder elsewhere: without encryption_keys the webhook secrets are lost.
set -eu
umask 077
folder=${1:?name a new folder for the backup}
mkdir -- "$folder" "$folder/files"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")"

docker compose exec -T postgres pg_basebackup --username postgres --pgdata - --format tar --gzip --wal-method fetch \
  --checkpoint fast >"$folder/postgres.tar.gz"
./mc.sh "$folder/files" mirror --quiet store/leadwire /backup
touch "$folder/complete"
echo "backed up: $(du -sh "$folder" | cut -f 1) in $folder"
