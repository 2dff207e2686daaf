#!/usr/bin/env bash
# Builds the programs for the specs in tools/e2e/extended/cluster with Go: the API server, controllers and
# scheduler of Kubernetes, etcd, KWOK (which simulates the nodes), and kubectl if it is missing. Also copies
# the definitions of the chart's custom resources. This takes about fifteen minutes of processor time, once.
# Arguments: a version of Kubernetes, and additional programs to build. run-pods.sh needs the additional
# programs kubelet and kube-proxy.
set -euo pipefail

kubernetes="${1:-1.37.2}"
out="${LEADWIRE_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/.cache}/kubernetes"
export GOWORK=off CGO_ENABLED=0
mkdir -p "$out"

# Downloads a module and prints its folder.
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# The go.mod of Kubernetes replaces parts of Kubernetes with folders of its repository. The downloaded module
# does not contain these folders, so this script uses the published modules of the parts.
source=$(module "k8s.io/kubernetes@v$kubernetes")
changed=$(mktemp -d)
trap 'rm -r "$changed"' EXIT
sed "s|=> ./staging/src/\(.*\)|=> \1 v0.${kubernetes#1.}|" "$source/go.mod" >"$changed/go.mod"
cat "$source/go.sum" >"$changed/go.sum"
build() {
  (cd "$source" && go build -mod=mod -modfile="$changed/go.mod" -o "$out/$1" \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$kubernetes" "$2")
}
for program in kube-apiserver kube-controller-manager kube-scheduler "${@:2}"; do build $program ./cmd/$program; done
# Ignores an etcd on PATH. With Debian's etcd 3.4, watches end at once, and controllers notice changes only
# after tens of seconds.
build etcd go.etcd.io/etcd/server/v3
if program=$(command -v kubectl); then ln -sf "$program" "$out/kubectl"; else build kubectl ./cmd/kubectl; fi

# deploy/helm/make-schemas.mjs generates schemas from the first three definitions. The last definition is for
# deploy/helm/stores.
mkdir -p "$out/crds"
cp -f "$(module github.com/kedacore/keda/v2@v2.21.0)/config/crd/bases/keda.sh_scaledobjects.yaml" \
  "$(module github.com/prometheus-operator/prometheus-operator@v0.85.0)/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" \
  "$(module sigs.k8s.io/gateway-api@v1.4.0)/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" \
  "$(module github.com/cloudnative-pg/cloudnative-pg@v1.30.0)/config/crd/bases/postgresql.cnpg.io_clusters.yaml" \
  "$out/crds/"

# Copies KWOK's stages, which make nodes and pods ready at once. The specs run only if the folder `stages`
# exists, so it is created last.
kwok=sigs.k8s.io/kwok
GOBIN="$out" go install -ldflags '-s -w' "$kwok/cmd/kwok@v0.8.0"
mkdir -p "$out/stages"
for stage in node/fast/node-initialize pod/fast/pod-{ready,complete,delete}; do
  cp -f "$(module "$kwok@v0.8.0")/kustomize/stage/$stage.yaml" "$out/stages/"
done
