#!/usr/bin/env bash
# Builds what the specs in tools/e2e/src/cluster need with Go: Kubernetes' API server, controllers and scheduler, etcd, KWOK, which plays the
# nodes, kubectl where it is missing, and the definitions of the chart's custom resources. Some fifteen minutes of
# processor time, once. After the version come further programs of Kubernetes: run-pods.sh wants kubelet and kube-proxy.
set -euo pipefail

kubernetes="${1:-1.37.2}"
out="${LEADWIRE_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/.cache}/kubernetes"
export GOWORK=off CGO_ENABLED=0
mkdir -p "$out"

# The folder of a module, which is fetched.
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# The module of Kubernetes takes its parts from folders that are in its repository alone. They are published as modules, too.
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
# Not one from PATH: with Debian's 3.4 watches end at once, and controllers hear of changes tens of seconds late.
build etcd go.etcd.io/etcd/server/v3
if program=$(command -v kubectl); then ln -sf "$program" "$out/kubectl"; else build kubectl ./cmd/kubectl; fi

# Those that deploy/helm/make-schemas.mjs reads, and what deploy/helm/stores is for.
mkdir -p "$out/crds"
cp -f "$(module github.com/kedacore/keda/v2@v2.21.0)/config/crd/bases/keda.sh_scaledobjects.yaml" \
  "$(module github.com/prometheus-operator/prometheus-operator@v0.85.0)/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" \
  "$(module sigs.k8s.io/gateway-api@v1.4.0)/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" \
  "$(module github.com/cloudnative-pg/cloudnative-pg@v1.30.0)/config/crd/bases/postgresql.cnpg.io_clusters.yaml" \
  "$out/crds/"

# What becomes of nodes and pods at once. The specs look for this folder: so it is made last.
kwok=sigs.k8s.io/kwok
GOBIN="$out" go install -ldflags '-s -w' "$kwok/cmd/kwok@v0.8.0"
mkdir -p "$out/stages"
for stage in node/fast/node-initialize pod/fast/pod-{ready,complete,delete}; do
  cp -f "$(module "$kwok@v0.8.0")/kustomize/stage/$stage.yaml" "$out/stages/"
done
