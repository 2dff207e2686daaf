#!/usr/bin/env bash
# Installs Chromium for the specs that need a browser, but only if CI is true, no Chromium is installed, and
# apt-get can run as root on Debian. Never fails: without Chromium these specs report that they were skipped.
set -u

[ "${CI:-}" = true ] || exit 0
[ -z "${CHROMIUM_BIN:-}" ] || exit 0
for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$name" >/dev/null && exit 0
done
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
# Requires Debian, because Ubuntu's package of Chromium only installs a snap.
grep -qs '^ID=debian$' /etc/os-release || exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo 'leadwire: installing Chromium for the specs of the console and of /docs' >&2
export DEBIAN_FRONTEND=noninteractive
get() {
  timeout --kill-after=10 240 apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=15 \
    -o DPkg::Lock::Timeout=60 "$@" </dev/null >>"$log" 2>&1
}
get update
# Older releases of Debian have no package with only the headless shell.
for package in chromium-headless-shell chromium; do
  if get install -y --no-install-recommends "$package"; then exit 0; fi
done
echo "leadwire: Chromium could not be installed: $(tail -n 1 "$log")" >&2
exit 0
