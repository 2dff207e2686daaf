#!/bin/sh
# Makes up the passwords and keys that compose.yaml needs, in secrets/. What is there already stays as it is; what an .env
# holds (as Leadwire 0.2 wanted it) is taken over. Needs openssl and what hash-password.sh needs.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
put() { [ -e "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"; }
# Letters and digits, because passwords go into addresses.
given() { value=$(sed -n "s/^$1=//p" .env 2>/dev/null || true); echo "${value:-${2:-$(openssl rand -hex 24)}}"; }

put postgres_password "$(given POSTGRES_PASSWORD)"
for database in leads webhooks; do
  put ${database}_database_password "$(given "$(echo $database | tr a-z A-Z)_DATABASE_PASSWORD")"
  put ${database}_database_url "postgresql://$database:$(cat secrets/${database}_database_password)@postgres:5432/$database"
done
nats_password=$(given NATS_PASSWORD)
if [ ! -e secrets/nats.conf ]; then
  rm -f secrets/nats_url
  nats_hash=$(echo "$nats_password" | ./hash-password.sh)
  put nats.conf "authorization { user: leadwire, password: \"$nats_hash\" }"
fi
put nats_url "nats://leadwire:$nats_password@nats:4222"
put s3_secret_key "$(given S3_SECRET_KEY)"
put service_token "$(given SERVICE_TOKEN)"
put encryption_keys "$(given ENCRYPTION_KEYS "$(openssl rand -base64 32)")"
# The mail catcher of compose.try.yaml, until you name your mail server.
put smtp_url "$(given SMTP_URL smtp://mail:1025)"

# Containers read the files as users of their own; on this machine the folder keeps everybody else out. You change them in place.
chmod 644 secrets/*
