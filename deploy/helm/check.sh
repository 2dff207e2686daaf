#!/bin/sh
# Tries the chart on the API server of the current kubeconfig: installs it, upgrades it and rolls it back, in a namespace of its
# own that enforces the restricted profile, and removes it. Images and stores are not needed: no pod has to start, and the hooks
# that migrate are left out. With the custom resources of KEDA, the Prometheus operator and the Gateway API it tries those too.
# It ends with "ok". Needs helm 4 and kubectl.
set -eu
cd "$(dirname "$0")"
namespace=leadwire-check log=$(mktemp)
k() { kubectl --namespace "$namespace" "$@"; }
fail() { echo "check: $1" >&2; cat "$log" >&2; exit 1; }
clean() { kubectl delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null; rm -f "$log"; }
trap clean EXIT
trap 'exit 1' INT TERM

served=$(kubectl api-resources --output name)
has() { echo "$served" | grep -q "^$1"; }
set -- --set image.repository=registry.example/leadwire --set publicUrl=https://leads.example.com \
  --set webhooks.settings.SMTP_FROM=leads@example.com
has httproutes.gateway.networking.k8s.io && set -- "$@" --set httpRoute.enabled=true --set 'httpRoute.parentRefs[0].name=public'
has servicemonitors.monitoring.coreos.com || set -- "$@" --set serviceMonitor.enabled=false
has scaledobjects.keda.sh || set -- "$@" --set webhooks.keda.enabled=false

release() {
  what=$1; shift
  helm "$what" leadwire "$@" --namespace "$namespace" --server-side=true --no-hooks >"$log" 2>&1 || fail "helm $what"
  # The profile speaks of pods; of what makes them the server warns.
  ! grep -qi 'would violate' "$log" || fail "helm $what: not restricted"
}
image() { k get deployment leadwire-gateway --output 'jsonpath={.spec.template.spec.containers[0].image}'; }
expect() { [ "$2" = "$3" ] || fail "$1: $2 in place of $3"; }

kubectl create namespace "$namespace" >/dev/null
kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/warn=restricted >/dev/null

# Hooks are no part of a release: the server looks at them alone, and at each size.
for size in small medium large; do
  helm template leadwire leadwire --namespace "$namespace" --values "leadwire/values-$size.yaml" "$@" |
    k apply --server-side --dry-run=server --filename - >"$log" 2>&1 || fail "values-$size.yaml"
  ! grep -qi 'would violate' "$log" || fail "values-$size.yaml: not restricted"
  echo "values-$size.yaml: $(grep -c 'dry run' "$log") objects"
done

release install leadwire --values leadwire/values-small.yaml "$@" --set image.tag=1
expect install "$(image)" registry.example/leadwire/gateway:1
for size in medium large; do
  release upgrade leadwire --values "leadwire/values-$size.yaml" "$@" --set image.tag="$size"
  expect "upgrade to $size" "$(image)" "registry.example/leadwire/gateway:$size"
done
expect autoscalers "$(k get horizontalpodautoscalers --output name | grep -c leadwire)" "$(has scaledobjects.keda.sh && echo 3 || echo 4)"
release rollback 1
expect rollback "$(image)" registry.example/leadwire/gateway:1
expect 'copies after the rollback' "$(k get deployment leadwire-gateway --output 'jsonpath={.spec.replicas}')" 2
helm uninstall leadwire --namespace "$namespace" --no-hooks >"$log" 2>&1 || fail 'helm uninstall'
expect 'what is left' "$(k get all,configmap,secret,networkpolicy,ingress --selector app.kubernetes.io/name=leadwire,app.kubernetes.io/component!=migrations --output name | grep -c -v -E 'pod/|replicaset' || true)" 0
echo ok
