#!/usr/bin/env bash
# Builds PgBouncer for the spec that runs the services behind it. Does nothing if PgBouncer 1.21 or newer is
# installed, or if Debian's sources or a C compiler are missing. The build takes half a minute, once. This
# script installs nothing outside the cache and never fails: without PgBouncer the spec reports that it was
# skipped.
set -u

SUITE=trixie
cache="${LEADWIRE_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/.cache}"
isNew() { [[ "$("$1" --version 2>/dev/null)" =~ PgBouncer\ 1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 21 ]; }
isNew pgbouncer || isNew "$cache/pgbouncer" && exit 0
sources=/etc/apt/sources.list.d/debian.sources
for program in apt-get dpkg cc make pkg-config; do command -v "$program" >/dev/null || exit 0; done
[ -r "$sources" ] || exit 0

echo 'leadwire: building pgbouncer for the specs' >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() (
  set -e
  cd "$work"
  mkdir -p lists/partial parts root source
  # Lists a newer suite of the same Debian mirror, but only its source packages.
  sed '/^$/,$d; s/^Types:.*/Types: deb-src/; s/^Suites:.*/Suites: '$SUITE'/' "$sources" >parts/debian.sources
  newer=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::Lists="$work/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  get() { timeout --kill-after=10 120 apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=1 "$@"; }
  get "${newer[@]}" update
  get "${newer[@]}" source --download-only pgbouncer
  get download libevent-dev
  dpkg -x libevent-dev_*.deb root
  tar -xzf pgbouncer_*.orig.tar.gz -C source --strip-components=1
  cd source
  lib=$(dirname "$(find "$work/root" -name libevent.a)")
  include="$work/root/usr/include"
  ./configure --without-openssl --without-cares LIBEVENT_CFLAGS="-I$include -I$include/$(basename "$lib")" LIBEVENT_LIBS="$lib/libevent.a"
  make pgbouncer
  mkdir -p "$cache"
  mv pgbouncer "$cache/pgbouncer"
)
build </dev/null >"$work.log" 2>&1 || echo "leadwire: pgbouncer could not be built: $(tail -n 1 "$work.log")" >&2
rm -f "$work.log"
exit 0
