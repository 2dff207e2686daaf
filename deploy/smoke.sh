#!/bin/bash
# Builds the images and runs the commands of README.md exactly as written, in an empty folder and under its
# own project name: account, token, lead, signed webhook, file, e-mail, backup, restore. Then checks the
# images, the confinement of the containers, that no secret is shown, and that all services stop. `./smoke.sh
# tls` does the same with TLS inside. Removes everything that it made, except the images, and ends with "ok".
# Needs Docker, Compose, git, curl, openssl and perl. If no Docker engine responds, or without Compose, it
# prints a message and does nothing. Takes *_IMAGE and NPMRC from .env, if the file exists.
set -euo pipefail
cd "$(dirname "$0")"
docker info >/dev/null 2>&1 || { echo 'smoke: skipped, no Docker engine responds'; exit 0; }
docker compose version >/dev/null 2>&1 || { echo 'smoke: skipped, Docker has no Compose'; exit 0; }

work=$(mktemp -d)
export COMPOSE_PROJECT_NAME=leadwire-smoke FRONT_SUBNET=172.31.241.0/24
export LISTEN=127.0.0.1:13000 PUBLIC_URL=http://127.0.0.1:13000 MAIL_LISTEN=127.0.0.1:18025
# The receivers of the specs are on the host, behind a bridge that Docker chooses.
export WEBHOOK_ALLOW_HOSTS=receiver,172.16.0.0/12,192.168.0.0/16
fail() { echo "smoke: $1" >&2; exit 1; }
clean() {
  [ $? = 0 ] || docker compose logs --tail 20 || true
  docker compose --profile tools down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

# Copies only the files that git knows, as in a fresh clone, and the settings that name images and npmrc.
repository=$(cd .. && pwd)
git -C "$repository" ls-files -z --cached --others --exclude-standard |
  (cd "$repository" && xargs -0 tar --create --ignore-failed-read) 2>/dev/null | tar --extract --directory "$work"
{ grep -E '^(NPMRC|[A-Z]*_IMAGE)=' .env 2>/dev/null || true; } >"$work/deploy/.env"
cd "$work"

# Prints the commands of a section of the README.
commands() { sed -n "/^## $1\$/,/^## /p" "$repository/deploy/README.md" | sed -n '/^```sh$/,/^```$/{/^```/d;p;}'; }
step() { echo "smoke: $1"; eval "$(commands "$1")"; }
# Repeats a command until it succeeds, for at most a minute.
eventually() {
  for _ in $(seq 60); do if "$@" >/dev/null 2>&1; then return; fi; sleep 1; done
  fail "timed out: $*"
}
# says WORDS COMMAND…: fails unless the output of the command contains the words.
says() {
  local words=$1 said
  shift
  said=$("$@" 2>&1 || true)
  [[ $said = *"$words"* ]] || fail "not '$words' from $*: $said"
}
call() { local path=$1; shift; curl --fail --silent --show-error --header "Authorization: Bearer $TOKEN" "$@" "$BASE/$path"; }
# Uses grep without --quiet, because a grep that ends early also ends the command before it, which pipefail
# counts as a failure.
received() { docker compose logs receiver | grep "verified: lead $1 "; }
mailed() { curl --fail --silent "http://$MAIL_LISTEN/api/v1/messages" | grep "$1"; }

says 'required variable PUBLIC_URL' env --unset PUBLIC_URL docker compose --file deploy/compose.yaml config --quiet
step 'Run it'
if [ "${1:-}" = tls ]; then step 'TLS inside'; fi
# The specs run in another folder, so the paths must be absolute.
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
  echo 'smoke: connections without TLS'
  says 'no encryption' docker compose exec -T postgres psql 'host=127.0.0.1 user=leads dbname=leads sslmode=disable'
  says '"tls_required": true' docker compose exec -T nats wget -q -O - http://127.0.0.1:8222/varz
  says 'an HTTP request to an HTTPS server' docker compose exec -T seaweedfs curl --silent http://127.0.0.1:8333/
  says unavailable docker compose run --rm -T --env TLS_CERT_FILE= --env TLS_KEY_FILE= --env TLS_CA_FILE= --env TLS_SERVER_NAME= \
    leadwire accounts list
fi

echo 'smoke: backup and restore'
# An event that is in flight when the backup is made must arrive after the restore.
docker compose stop webhook-service >/dev/null 2>&1
waiting=$(call leads --json "$LEAD" | field reference)
step 'Back up'
lost=$(call leads --json "$LEAD" | field reference)
step 'Restore'
call "leads/$REFERENCE" | grep --quiet "$REFERENCE" || fail 'a lead was not restored'
call "leads/$REFERENCE/attachments/$ATTACHMENT" | cmp - survey.txt || fail 'a file was not restored'
if call "leads/$lost" 2>/dev/null; then fail 'a lead that was created after the backup still exists'; fi
eventually received "$waiting"

if [ -e "$repository/tools/embedded/dist/main.js" ]; then
  echo 'smoke: end-to-end specs'
  bridge=$(docker network inspect --format '{{(index .IPAM.Config 0).Gateway}}' "${COMPOSE_PROJECT_NAME}_outside")
  # Runs the specs that need only a base URL and accounts, not the processes of the stack.
  specs=$(
    for name in leads operations access tenancy; do echo "tools/e2e/scenarios/$name.spec.ts"; done
    for name in changes client examples management paging; do echo "tools/e2e/extended/conformance/$name.spec.ts"; done
  )
  # shellcheck disable=SC2086
  LEADWIRE_E2E_URL=$BASE LEADWIRE_E2E_RECEIVER_HOST=$bridge \
    LEADWIRE_E2E_CLI="docker compose --project-directory $PWD run --rm -T leadwire" \
    npm --prefix "$repository" run --silent specs -- $specs
else
  echo 'smoke: end-to-end specs skipped, the repository is not built (npm ci && npm run allowed-scripts && npm run build)'
fi

docker compose stop >/dev/null 2>&1
for container in $(docker compose ps --all --quiet gateway leads-service files-service webhook-service); do
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail "$(docker inspect --format '{{.Name}}' "$container") did not exit with 0"
done
echo ok
