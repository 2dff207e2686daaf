import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import type { Cluster } from '../cluster/cluster.fixture'

/** The folder that `tools/e2e/run-pods.sh` prepares, with a registry of images. */
export const FOLDER = process.env['LEADWIRE_PODS'] ?? ''

// All addresses of 10.0.0.0/24 and of 203.0.113.0/24 are the machine's.
const NAME_SERVER = '10.0.0.10'
/** Where pods find what listens on loopback. */
export const LOOPBACK = '10.0.0.20'
export const RECEIVER = '10.0.0.30'
/** Not private, as the internet. */
export const OUTSIDE = '203.0.113.1'

/** Two nodes in two zones, with containers: kubelet and containerd twice; kube-proxy, network policies and CoreDNS once. */
export async function startNodes(cluster: Cluster): Promise<void> {
  const { kubeconfig, start, kubectl } = cluster
  const names = join(FOLDER, 'Corefile')
  await writeFile(names, corefile(kubeconfig))
  await start('coredns', ['-conf', names])
  await start('kube-proxy', [
    ...[`--kubeconfig=${kubeconfig}`, '--hostname-override=node-1', '--proxy-mode=iptables'],
    '--cluster-cidr=10.244.0.0/16',
    // A network namespace has these from the machine.
    ...['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-established=0s'],
    '--conntrack-tcp-timeout-close-wait=0s',
  ])
  await startPolicies(cluster)
  await start('docker-registry', ['serve', join(FOLDER, 'registry.yaml')])
  await Promise.all([startNode(cluster, 1), startNode(cluster, 2)])
  const ready = ['wait', 'node/node-1', 'node/node-2', '--for=condition=Ready', '--timeout=60s']
  await eventually(() => kubectl(ready))
}

/** Decides of each connection that a pod opens: `tools/e2e/run-pods.sh` puts them into its queue. It knows a cluster from within alone. */
async function startPolicies({ start, server }: Cluster): Promise<void> {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
  await mkdir(folder, { recursive: true })
  await copyFile(server.caFile, join(folder, 'ca.crt'))
  await writeFile(join(folder, 'token'), server.token)
  // It makes rules of its own for the pods of its node, where the kernel has nftables' `queue`. They are none.
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
    ...[`--kubeconfig=${kubeconfig}`, `--hostname-override=node-${number}`, `--node-ip=10.0.0.${number}`],
    ...[`--root-dir=${folder}/kubelet`, `--cert-dir=${folder}/certificates`],
    `--node-labels=topology.kubernetes.io/zone=${number}`,
  ])
}

// What kubeadm has, without forwarding.
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
# Where root may not make a process less likely to be killed.
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
      // Not `bridge`: rules do not see what a bridge passes on.
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
  // However full the machine's disk is.
  evictionHard: { 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
  clusterDomain: 'cluster.local',
  clusterDNS: [NAME_SERVER],
  resolvConf: '',
  podLogsDir: join(folder, 'logs'),
  volumePluginDir: join(folder, 'plugins'),
})
