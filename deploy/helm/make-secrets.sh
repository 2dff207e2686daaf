#!/bin/sh
# Prints the Secrets of a new installation with the stores in stores/:
#   deploy/helm/make-secrets.sh SMTP_URL | kubectl create -f -
# Keep a copy of ENCRYPTION_KEYS, separate from the backups. Needs openssl, and the programs that
# ../hash-password.sh needs.
set -eu
smtp=${1:?'usage: make-secrets.sh smtp://user:password@mail.example.com:587'}
# Passwords have only letters and digits, because they are part of URLs and of YAML. The letter in front keeps
# YAML from reading digits as a number.
password() { echo "p$(openssl rand -hex 24)"; }
leads=$(password) webhooks=$(password) nats=$(password) s3=$(password)
nats_hash=$(echo "$nats" | "$(dirname "$0")/../hash-password.sh")

cat <<YAML
apiVersion: v1
kind: Secret
metadata: { name: leadwire-secrets }
stringData:
  SERVICE_TOKEN: $(password)
  ENCRYPTION_KEYS: $(openssl rand -base64 32)
  NATS_URL: nats://leadwire:$nats@nats:4222
  LEADS_DATABASE_URL: postgresql://leads:$leads@leadwire-postgresql-rw:5432/leads
  WEBHOOKS_DATABASE_URL: postgresql://webhooks:$webhooks@leadwire-postgresql-rw:5432/webhooks
  S3_ACCESS_KEY: leadwire
  S3_SECRET_KEY: $s3
  SMTP_URL: '$smtp'
---
apiVersion: v1
kind: Secret
metadata: { name: leadwire-postgresql-leads }
type: kubernetes.io/basic-auth
stringData: { username: leads, password: $leads }
---
apiVersion: v1
kind: Secret
metadata: { name: leadwire-postgresql-webhooks }
type: kubernetes.io/basic-auth
stringData: { username: webhooks, password: $webhooks }
---
apiVersion: v1
kind: Secret
metadata: { name: leadwire-nats }
stringData: { password: $nats_hash }
---
apiVersion: v1
kind: Secret
metadata: { name: leadwire-seaweedfs }
stringData:
  seaweedfs_s3_config: >-
    {"identities": [{"name": "files-service", "actions": ["Admin", "Read", "Write", "List"],
    "credentials": [{"accessKey": "leadwire", "secretKey": "$s3"}]}]}
YAML
