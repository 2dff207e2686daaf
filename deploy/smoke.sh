#!/bin/sh
# Builds the images, runs the stack of compose.yaml under a project name of its own, and uses it once: account, lead,
# signed webhook, file, pages, stop. Removes its containers, networks and volumes; the images stay. It ends with "ok".
# Needs Docker, Compose, curl and openssl. Takes *_IMAGE and NPMRC from .env, where there is one.
set -eu
cd "$(dirname "$0")"
settings=$(mktemp) file=$(mktemp) address=127.0.0.1:13000
compose() { docker compose --project-name leadwire-smoke --env-file "$settings" "$@"; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
fail() { echo "smoke: $1" >&2; exit 1; }
clean() {
  [ $? = 0 ] || compose logs --tail 10 || true
  docker rm --force leadwire-smoke-receiver >/dev/null 2>&1 || true
  compose --profile tools down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -f "$settings" "$file"
}
trap clean EXIT
trap 'exit 1' INT TERM

# What .env.example leaves empty gets a value made up for this run.
sed -n 's/^\([A-Z0-9_]*\)=$/\1/p' .env.example | while read -r name; do echo "$name=$(openssl rand -hex 24)"; done >"$settings"
echo "ENCRYPTION_KEYS=$(openssl rand -base64 32)" >>"$settings"
grep -hE '^(S3_ACCESS_KEY|SMTP_[A-Z]*|NPMRC|[A-Z]*_IMAGE)=' .env.example $(ls .env 2>/dev/null) >>"$settings"
printf '%s\n' "LISTEN=$address" "PUBLIC_URL=http://$address" FRONT_SUBNET=172.31.241.0/24 WEBHOOK_ALLOW_HOSTS=receiver >>"$settings"

compose --profile tools build
docker image ls --filter 'reference=leadwire/*' --format '{{.Repository}}:{{.Tag}} {{.Size}}'
compose up --detach --wait

account=$(compose run --rm leadwire accounts create --name Smoke --json)
id=$(echo "$account" | field id) token=$(echo "$account" | field token)
compose run --rm leadwire endpoints create --account "$id" --url http://receiver:4400/ --secret the-secret-of-the-smoke-test >/dev/null
docker run --detach --name leadwire-smoke-receiver --network leadwire-smoke_outside --network-alias receiver \
  --entrypoint node "leadwire/leadwire:${LEADWIRE_VERSION:-latest}" -e "
    require('http').createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray())
      const signature = require('crypto').createHmac('sha1', 'the-secret-of-the-smoke-test').update(body).digest('hex')
      const signed = signature === request.headers['x-service-signature']
      console.log(signed ? 'signed' : 'NOT signed', JSON.parse(body).data.reference)
      response.writeHead(signed ? 200 : 401).end()
    }).listen(4400)" >/dev/null

call() { path=$1; shift; curl --fail --silent --show-error --header "Authorization: Bearer $token" "$@" "http://$address/$path"; }
lead=$(call leads --json '{"name":"Windows","first_name":"Ada","last_name":"Byron","email":"ada@example.com",
  "phone":"020 7946 0000","postcode":"SW1A 1AA","referrer":"Website","status":"open"}' | field reference)
[ -n "$lead" ] || fail 'no reference came for a lead'
head -c 5000000 /dev/zero | tr '\0' 'a' >"$file"
attachment=$(call "leads/$lead/attachments" --form name=File --form "file=@$file;filename=file.txt" | field id)
call "leads/$lead/attachments/$attachment" | cmp - "$file" || fail 'a file came back changed'
for page in leads openapi.json console/ docs docs/guides/first-lead; do call "$page" --location >/dev/null; done
tries=0
until docker logs leadwire-smoke-receiver 2>&1 | grep -q "^signed $lead"; do
  tries=$((tries + 1)); [ $tries -lt 60 ] || fail 'the signed webhook did not come'; sleep 1
done

compose stop
for container in $(compose ps --all --quiet gateway leads-service files-service webhook-service); do
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail "$(docker inspect --format '{{.Name}}' "$container") ended badly"
done
echo ok
