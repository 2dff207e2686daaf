import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import type { Cluster } from '../cluster/cluster.fixture'

/** The folder that `tools/e2e/run-pods.sh` prepares, with a registry of images. */
export const FOLDER = process.env['LEADWIRE_PODS'] ?? ''

// tools/e2e/run-pods.sh assigns all IP addresses of 10.0.0.0/24 and 203.0.113.0/24 to the machine.
const NAME_SERVER = '10.0.0.10'
/** The IP address at which pods reach servers on loopback. */
export const LOOPBACK = '10.0.0.20'
export const RECEIVER = '10.0.0.30'
/** A public IP address, which stands for the internet. */
export const OUTSIDE = '203.0.113.1'

/**
 * Starts two nodes that run containers. Each node is in a separate zone and has its own kubelet and
 * containerd. The nodes share one kube-proxy, one network policy agent and one CoreDNS.
 */
export async function startNodes(cluster: Cluster): Promise<void> {
  const { kubeconfig, start, kubectl } = cluster
  const names = join(FOLDER, 'Corefile')
  await writeFile(names, corefile(kubeconfig))
  await start('coredns', ['-conf', names])
  await start('kube-proxy', [
    `--kubeconfig=${kubeconfig}`,
    '--hostname-override=node-1',
    '--proxy-mode=iptables',
    '--cluster-cidr=10.244.0.0/16',
    // Each 0 keeps the machine's value, because a network namespace cannot change these values.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ])
  await startPolicies(cluster)
  await start('docker-registry', ['serve', join(FOLDER, 'registry.yaml')])
  await Promise.all([startNode(cluster, 1), startNode(cluster, 2)])
  const ready = ['wait', 'node/node-1', 'node/node-2', '--for=condition=Ready', '--timeout=60s']
  await eventually(() => kubectl(ready))
}

/**
 * Starts the agent that accepts or drops each connection of a pod. `tools/e2e/run-pods.sh` sends the
 * connections to the queue of the agent. The agent reads its credentials from the folder in which a pod would
 * have them.
 */
async function startPolicies({ start, server }: Cluster): Promise<void> {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
  await mkdir(folder, { recursive: true })
  await copyFile(server.caFile, join(folder, 'ca.crt'))
  await writeFile(join(folder, 'token'), server.token)
  // Runs the agent as the node `none`, which has no pods. So only the rules of run-pods.sh apply. Otherwise,
  // on a kernel with nftables' `queue`, the agent would also create its own rules for the pods of its node.
  const args = ['--hostname-override=none', '--metrics-bind-address=127.0.0.1:9080']
  const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${server.port}` }
  await start('kube-network-policies', args, env)
}

async function startNode({ kubeconfig, start }: Cluster, number: number): Promise<void> {
  const folder = join(FOLDER, `${number}`)
  const socket = join(folder, 'containerd.sock')
  for (const name of ['cni', 'registries/registry.example.com'])
    await mkdir(join(folder, name), { recursive: true })
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  await write('registries/registry.example.com/hosts.toml', '[host."http://127.0.0.1:15000"]')
  await write('cni/pods.conflist', JSON.stringify(network(folder, number)))
  await start('containerd', ['--config', await write('containerd.toml', containerd(folder, socket))])
  await start('kubelet', [
    `--config=${await write('kubelet.json', JSON.stringify(kubelet(folder, socket, number)))}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=node-${number}`,
    `--node-ip=10.0.0.${number}`,
    `--root-dir=${folder}/kubelet`,
    `--cert-dir=${folder}/certificates`,
    `--node-labels=topology.kubernetes.io/zone=${number}`,
  ])
}

// The Corefile of kubeadm, without the forwarding of names outside the cluster.
const corefile = (kubeconfig: string) => `
.:53 {
  bind ${NAME_SERVER}
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 30
  }
  cache 30
  loadbalance
}
`

const containerd = (folder: string, socket: string) => `
version = 2
root = "${folder}/root"
state = "${folder}/state"
[grpc]
address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.example.com/leadwire/pause:latest"
# Keeps containerd from lowering the OOM score of a process, which root may not do in a container.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "${folder}/registries"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${folder}/cni"
`

const network = (folder: string, number: number) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      // Uses `ptp`, because packets inside a `bridge` would bypass the rules.
      type: 'ptp',
      ipam: {
        type: 'host-local',
        dataDir: join(folder, 'addresses'),
        ranges: [[{ subnet: `10.244.${number}.0/24` }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
})

const kubelet = (folder: string, socket: string, number: number) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: `10.0.0.${number}`,
  healthzPort: 0,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  containerRuntimeEndpoint: `unix://${socket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${basename(FOLDER)}-${number}`,
  failCgroupV1: false,
  failSwapOn: false,
  // Evicts nothing, even if the machine's disk is full.
  evictionHard: { 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
  clusterDomain: 'cluster.local',
  clusterDNS: [NAME_SERVER],
  resolvConf: '',
  podLogsDir: join(folder, 'logs'),
  volumePluginDir: join(folder, 'plugins'),
})
