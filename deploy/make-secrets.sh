#!/bin/sh
# Generates the passwords and keys that compose.yaml needs, in secrets/. Keeps existing files. Takes
# S3_ACCESS_KEY from .env. Needs openssl, and the programs that hash-password.sh needs.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
put() { [ -e "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"; }
# Uses only letters and digits, because passwords are part of URLs.
random() { openssl rand -hex 24; }

put postgres_password "$(random)"
for database in leads webhooks; do
  put ${database}_database_password "$(random)"
  put ${database}_database_url "postgresql://$database:$(cat secrets/${database}_database_password)@postgres:5432/$database"
done
nats_password=$(random)
if [ ! -e secrets/nats.conf ]; then
  rm -f secrets/nats_url
  nats_hash=$(echo "$nats_password" | ./hash-password.sh)
  put nats.conf "authorization { user: leadwire, password: \"$nats_hash\" }"
fi
put nats_url "nats://leadwire:$nats_password@nats:4222"
s3_access_key=$(sed -n 's/^S3_ACCESS_KEY=//p' .env 2>/dev/null || true)
put s3_secret_key "$(random)"
# The users of SeaweedFS, with the keys that files-service and rclone send.
put s3_identities "{\"identities\": [{\"name\": \"files-service\", \"actions\": [\"Admin\", \"Read\", \"Write\", \"List\"], \"credentials\": [
  {\"accessKey\": \"${s3_access_key:-leadwire}\", \"secretKey\": \"$(cat secrets/s3_secret_key)\"}
]}]}"
put service_token "$(random)"
put encryption_keys "$(openssl rand -base64 32)"
# The mail server of compose.try.yaml. Replace it with your mail server.
put smtp_url smtp://mail:1025

# Containers read the files as other users, so every user may read them. On this machine, only the owner can
# open the folder. Change the files in place, because a container does not see a file that is replaced.
chmod 644 secrets/*
