#!/bin/sh
# Backs up the running stack into a new folder: ./backup.sh FOLDER
#   postgres.tar.gz   both databases at one moment (a base backup with its WAL)
#   files/            the objects of the bucket
#   complete          an empty file, written last: restore.sh requires it
# Copies the files last, so that the backup has each file that a database names. NATS needs no backup, because
# its events are in PostgreSQL too. The backup does not contain secrets/. Keep a copy of that folder
# elsewhere: without encryption_keys the webhook secrets are lost.
set -eu
umask 077
folder=${1:?name a new folder for the backup}
mkdir -- "$folder" "$folder/files"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")"

# Creates a replication slot, because checkpoints would otherwise remove WAL that a long backup still needs.
# The slot is temporary, so that it ends with the session, even if the session fails.
docker compose exec -T postgres psql --username postgres --no-psqlrc --quiet --output /dev/null --set ON_ERROR_STOP=1 \
  >"$folder/postgres.tar.gz" <<'SQL'
SELECT pg_create_physical_replication_slot('backup_' || pg_backend_pid(), immediately_reserve => true, temporary => true);
\! pg_basebackup --username postgres --pgdata - --format tar --gzip --wal-method fetch --checkpoint fast
\if :SHELL_ERROR
  DO 'BEGIN RAISE ''pg_basebackup failed''; END';
\endif
SQL
./rclone.sh "$folder/files" copy store:leadwire /backup
touch "$folder/complete"
echo "backed up: $(du -sh "$folder" | cut -f 1) in $folder"
