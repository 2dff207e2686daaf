#!/bin/sh
# Runs once, when the volume is new. Creates a database for each service that stores data. Each database is
# owned by a role that can't reach the other database.
set -eu

psql --username "$POSTGRES_USER" --dbname postgres --no-psqlrc --set ON_ERROR_STOP=1 \
  --set leads_password="$(cat /run/secrets/leads_database_password)" \
  --set webhooks_password="$(cat /run/secrets/webhooks_database_password)" <<'SQL'
CREATE ROLE leads LOGIN PASSWORD :'leads_password';
CREATE ROLE webhooks LOGIN PASSWORD :'webhooks_password';
CREATE DATABASE leads OWNER leads TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
CREATE DATABASE webhooks OWNER webhooks TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
REVOKE CONNECT ON DATABASE leads, webhooks, postgres FROM PUBLIC;
SQL
