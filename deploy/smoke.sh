#!/bin/bash
# Builds the images and follows README.md to the letter, in an empty folder and under a project name of its own: account,
# token, lead, signed webhook, file, e-mail, backup, restore. Then checks the images, how the containers are confined, that no
# secret is shown, and how all of it stops. `./smoke.sh tls` does so with TLS inside. Removes what it made; the images stay. It ends
# with "ok".
# Needs Docker, Compose, git, curl, openssl and perl; without an engine that answers, or without Compose, it says so and does
# nothing. Takes *_IMAGE and NPMRC from .env, where there is one.
set -euo pipefail
cd "$(dirname "$0")"
docker info >/dev/null 2>&1 || { echo 'smoke: skipped, no Docker engine answers'; exit 0; }
docker compose version >/dev/null 2>&1 || { echo 'smoke: skipped, Docker has no Compose'; exit 0; }

work=$(mktemp -d)
export COMPOSE_PROJECT_NAME=leadwire-smoke FRONT_SUBNET=172.31.241.0/24
export LISTEN=127.0.0.1:13000 PUBLIC_URL=http://127.0.0.1:13000 MAIL_LISTEN=127.0.0.1:18025
# The specs' receivers are on the host, behind the bridge of Docker's own choice.
export WEBHOOK_ALLOW_HOSTS=receiver,172.16.0.0/12,192.168.0.0/16
fail() { echo "smoke: $1" >&2; exit 1; }
clean() {
  [ $? = 0 ] || docker compose logs --tail 20 || true
  docker compose --profile tools down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

# A fresh clone has what git knows, and nothing else. Only where images come from is taken along.
repository=$(cd .. && pwd)
git -C "$repository" ls-files -z --cached --others --exclude-standard |
  (cd "$repository" && xargs -0 tar --create --ignore-failed-read) 2>/dev/null | tar --extract --directory "$work"
{ grep -E '^(NPMRC|[A-Z]*_IMAGE)=' .env 2>/dev/null || true; } >"$work/deploy/.env"
cd "$work"

# The commands of a section of the README.
commands() { sed -n "/^## $1\$/,/^## /p" "$repository/deploy/README.md" | sed -n '/^```sh$/,/^```$/{/^```/d;p;}'; }
step() { echo "smoke: $1"; eval "$(commands "$1")"; }
# Tries until it works, for a minute.
eventually() {
  for _ in $(seq 60); do if "$@" >/dev/null 2>&1; then return; fi; sleep 1; done
  fail "in vain: $*"
}
# says WORDS COMMAND…
says() {
  local words=$1 said
  shift
  said=$("$@" 2>&1 || true)
  [[ $said = *"$words"* ]] || fail "not '$words' from $*: $said"
}
call() { local path=$1; shift; curl --fail --silent --show-error --header "Authorization: Bearer $TOKEN" "$@" "$BASE/$path"; }
# Not --quiet: a grep that ends early ends what writes to it, and with pipefail that counts as not found.
received() { docker compose logs receiver | grep "verified: lead $1 "; }
mailed() { curl --fail --silent "http://$MAIL_LISTEN/api/v1/messages" | grep "$1"; }

step 'Run it'
if [ "${1:-}" = tls ]; then step 'TLS inside'; fi
# The specs run elsewhere.
COMPOSE_FILE=$PWD/${COMPOSE_FILE//:/:$PWD/}
step 'Use it'
eventually received "$REFERENCE"
eventually mailed sam@example.com
for page in openapi.json console/ docs docs/guides/first-lead; do call "$page" --location >/dev/null; done

echo 'smoke: images'
for image in gateway leads-service files-service webhook-service leadwire; do
  docker run --rm --read-only --cap-drop ALL --network none --entrypoint node "leadwire/$image" -e "
    const { components } = require('/licences/sbom.cdx.json')
    const words = require('node:fs').readFileSync('/licences/licences.txt', 'utf8')
    const missing = components.filter((one) => !words.includes(one['bom-ref'] + ': '))
    if (process.getuid() !== 65532 || components.length === 0 || missing.length > 0) process.exit(1)" ||
    fail "$image runs as root, or lacks its lists"
  if docker run --rm --entrypoint sh "leadwire/$image" -c true 2>/dev/null; then fail "$image has a shell"; fi
  docker image inspect --format "{{.Size}} $image" "leadwire/$image"
done

echo 'smoke: containers'
containers=$(docker compose ps --quiet)
for container in $containers; do
  docker inspect --format '{{.Name}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}' \
    "$container" | grep --quiet --extended-regexp ' true \[ALL\] [1-9][0-9]+ [1-9][0-9]+$' ||
    fail "$(docker inspect --format '{{.Name}}' "$container") is not confined"
done
# shellcheck disable=SC2086
shown=$(docker inspect $containers)
for secret in secrets/*; do
  [[ $shown != *"$(cat "$secret")"* ]] || fail "$secret is shown by docker inspect"
done
for service in gateway leads-service files-service webhook-service; do
  [ "$(docker compose ps --quiet "$service" | wc -l)" = 2 ] || fail "there are not two copies of $service"
done

if [ "${1:-}" = tls ]; then
  echo 'smoke: nothing without TLS'
  says 'no encryption' docker compose exec -T postgres psql 'host=127.0.0.1 user=leads dbname=leads sslmode=disable'
  says '"tls_required": true' docker compose exec -T nats wget -q -O - http://127.0.0.1:8222/varz
  says 'an HTTP request to an HTTPS server' docker compose exec -T minio curl --silent http://127.0.0.1:9000/
  says unavailable docker compose run --rm -T --env TLS_CERT_FILE= --env TLS_KEY_FILE= --env TLS_CA_FILE= --env TLS_SERVER_NAME= \
    leadwire accounts list
fi

echo 'smoke: backup and restore'
# An event that is still on its way when the backup is made has to arrive after the restore.
docker compose stop webhook-service >/dev/null 2>&1
waiting=$(call leads --json "$LEAD" | field reference)
step 'Back up'
lost=$(call leads --json "$LEAD" | field reference)
step 'Restore'
call "leads/$REFERENCE" | grep --quiet "$REFERENCE" || fail 'a lead was not restored'
call "leads/$REFERENCE/attachments/$ATTACHMENT" | cmp - survey.txt || fail 'a file was not restored'
if call "leads/$lost" 2>/dev/null; then fail 'a lead that came after the backup is still there'; fi
eventually received "$waiting"

if [ -e "$repository/tools/embedded/dist/main.js" ]; then
  echo 'smoke: end-to-end specs'
  bridge=$(docker network inspect --format '{{(index .IPAM.Config 0).Gateway}}' "${COMPOSE_PROJECT_NAME}_outside")
  # Those that need an address and accounts, and nothing of the processes behind them.
  specs=$(for name in walk changes client examples management paging tenancy; do echo "tools/e2e/src/conformance/$name.spec.ts"; done)
  # shellcheck disable=SC2086
  LEADWIRE_E2E_URL=$BASE LEADWIRE_E2E_RECEIVER_HOST=$bridge \
    LEADWIRE_E2E_CLI="docker compose --project-directory $PWD run --rm -T leadwire" \
    npm --prefix "$repository" run --silent specs -- $specs
else
  echo 'smoke: end-to-end specs skipped, the repository is not built (npm ci && npm run build)'
fi

docker compose stop >/dev/null 2>&1
for container in $(docker compose ps --all --quiet gateway leads-service files-service webhook-service); do
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail "$(docker inspect --format '{{.Name}}' "$container") ended badly"
done
echo ok
