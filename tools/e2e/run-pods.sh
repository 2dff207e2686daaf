#!/usr/bin/env bash
# Follows the chart's README on two nodes that run containers, and runs the specs in tools/e2e/extended/pods
# on the resulting cluster. Run this script as root, after `npm run build`, tools/e2e/install-kubernetes.sh
# and tools/e2e/install-chart-programs.sh. It needs a Docker engine with Compose, and Debian's packages
# containerd, runc, containernetworking-plugins, docker-registry, iptables, gcc and libc6-dev. The images are
# built outside any namespace. Everything else runs in separate namespaces for processes, mounts and the
# network, and ends with these namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."

inside() {
  # Writes to /var are discarded at the end, and /run is not shared with the machine.
  mkdir "$LEADWIRE_PODS"/{upper,work}
  mount -t overlay -o "lowerdir=/var,upperdir=$LEADWIRE_PODS/upper,workdir=$LEADWIRE_PODS/work" overlay /var
  mount -t tmpfs tmpfs /run
  # kubelet needs these values and would set them for the whole machine. The mounts show kubelet these values,
  # so that it changes nothing.
  for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
    echo "${setting#*=}" >"$LEADWIRE_PODS/setting-${setting#*=}"
    mount --bind "$LEADWIRE_PODS/setting-${setting#*=}" "/proc/sys/${setting%=*}"
  done
  ip link set lo up
  ip address add 10.0.0.1/24 dev lo
  ip address add 10.0.0.2/32 dev lo
  ip address add 203.0.113.1/24 dev lo
  # Lets pods reach the stores at 10.0.0.20. The stores listen on loopback, and PostgreSQL accepts only local
  # connections.
  iptables -t nat -A PREROUTING -d 10.0.0.20 -p tcp -j DNAT --to-destination 127.0.0.1
  iptables -t nat -A INPUT -s 10.244.0.0/16 -d 127.0.0.1 -j SNAT --to-source 127.0.0.1
  # The queue sends each new connection of a pod to the network policy agent. A connection to a Service is
  # sent after its address has become the address of a pod, as in a cluster. Any other connection is sent
  # before its address is translated. The kernel drops connections that the agent does not accept.
  opened=(-s 10.244.0.0/16 -m conntrack --ctstate NEW)
  iptables -t mangle -A PREROUTING "${opened[@]}" ! -d 10.96.0.0/16 -j NFQUEUE --queue-num 100
  iptables -t mangle -A FORWARD "${opened[@]}" --ctorigdst 10.96.0.0/16 -j NFQUEUE --queue-num 100
  TMPDIR="$LEADWIRE_PODS" npm run --silent specs -- tools/e2e/extended/pods "$@"
}
if [ "${1:-}" = inside ]; then inside "${@:2}"; exit; fi

export LEADWIRE_CACHE LEADWIRE_PODS
LEADWIRE_CACHE=$(realpath "${LEADWIRE_CACHE:-.cache}")
LEADWIRE_PODS=$(mktemp -d /tmp/leadwire-pods-XXXXXX)
programs="$LEADWIRE_CACHE/kubernetes"
[ -e "$programs/kubelet" ] || tools/e2e/install-kubernetes.sh 1.37.2 kube-proxy kubelet
[ -e "$programs/coredns" ] || CGO_ENABLED=0 GOBIN="$programs" go install -ldflags '-s -w' github.com/coredns/coredns@v1.14.6
if [ ! -e "$programs/kube-network-policies" ]; then
  CGO_ENABLED=0 GOBIN="$programs" go install -ldflags '-s -w' sigs.k8s.io/kube-network-policies/cmd@v0.8.0
  mv "$programs/cmd" "$programs/kube-network-policies"
fi
# Downloads the programs of the stores now, because the network namespace has no internet.
npm run --silent specs -- libs/test-kit/src/minio.spec.ts
gcc -static -o "$LEADWIRE_PODS/pause" "$(go env GOMODCACHE)/k8s.io/kubernetes@v1.37.2/build/pause/linux/pause.c"

group=$(basename "$LEADWIRE_PODS")
clean() {
  find /sys/fs/cgroup -depth -type d -path "*/$group-*" -exec rmdir {} + || true
  rm -rf "$LEADWIRE_PODS"
}
trap clean EXIT

# Builds and pushes the services' images with the commands in the section Images of
# deploy/helm/leadwire/README.md, and then pushes the pause image. The nodes use the registry as
# registry.example.com.
registry=127.0.0.1:15000
cat >"$LEADWIRE_PODS/registry.yaml" <<YAML
version: 0.1
storage: { filesystem: { rootdirectory: $LEADWIRE_PODS/registry } }
http: { addr: $registry }
YAML
(
  docker-registry serve "$LEADWIRE_PODS/registry.yaml" >/dev/null 2>&1 &
  trap "kill $!" EXIT
  commands=$(sed -n '/^## Images$/,/^## /p' deploy/helm/leadwire/README.md | sed -n '/^```bash$/,/^```$/{/^```/d;p;}')
  eval "${commands//registry.example.com/$registry}"
  tar --create --directory "$LEADWIRE_PODS" pause |
    docker import --change 'ENTRYPOINT ["/pause"]' - "$registry/leadwire/pause" >/dev/null
  docker push --quiet "$registry/leadwire/pause"
  docker images --format '{{.Repository}}:{{.Tag}}' "$registry/leadwire/*" | xargs docker rmi >/dev/null
)

chmod 755 "$LEADWIRE_PODS"
# With cgroup v1, kubelet needs a cgroup in each hierarchy.
if [ -e /sys/fs/cgroup/cgroup.procs ]; then hierarchies=(/sys/fs/cgroup); else hierarchies=(/sys/fs/cgroup/*); fi
for hierarchy in "${hierarchies[@]}"; do mkdir -p "$hierarchy/$group-"{1,2}; done
unshare --mount --net --pid --fork --kill-child --mount-proc "$0" inside "$@" &
trap 'kill -KILL %1' INT TERM
wait %1
