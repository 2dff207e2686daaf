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

# Checkpoints remove WAL that a long backup still needs. A slot keeps it; a temporary one ends with the session, however that ends.
docker compose exec -T postgres psql --username postgres --no-psqlrc --quiet --output /dev/null --set ON_ERROR_STOP=1 \
  >"$folder/postgres.tar.gz" <<'SQL'
SELECT pg_create_physical_replication_slot('backup_' || pg_backend_pid(), immediately_reserve => true, temporary => true);
\! pg_basebackup --username postgres --pgdata - --format tar --gzip --wal-method fetch --checkpoint fast
\if :SHELL_ERROR
  DO 'BEGIN RAISE ''pg_basebackup failed''; END';
\endif
SQL
./mc.sh "$folder/files" mirror --quiet store/leadwire /backup
touch "$folder/complete"
echo "backed up: $(du -sh "$folder" | cut -f 1) in $folder"
