#!/usr/bin/env bash
# Builds the programs that the specs of the Helm chart and of the workflows need, if the programs are missing
# and Go is installed. The build takes some minutes, once. It runs before the specs, because a compiler would
# slow the specs down. Never fails: without the programs these specs report that they were skipped.
set -u

cache="${LEADWIRE_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/.cache}"
command -v go >/dev/null || exit 0

build() {
  command -v "$1" >/dev/null || [ -x "$cache/$1" ] && return
  echo "leadwire: building $1 for the specs" >&2
  GOBIN="$cache" CGO_ENABLED=0 timeout --kill-after=10 600 go install "$2" </dev/null >/dev/null 2>&1 ||
    echo "leadwire: $1 could not be built" >&2
}
build helm helm.sh/helm/v4/cmd/helm@v4.3.1
build kubeconform github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
build actionlint github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
