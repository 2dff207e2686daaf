import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Child, startChild, whenReady } from '@leadwire/embedded'
import { cacheDirectory, freePort } from '@leadwire/test-kit'

/** The folder into which `tools/e2e/install-kubernetes.sh` installs its programs. */
const PROGRAMS = join(cacheDirectory(process.env), 'kubernetes')
const STAGES = join(PROGRAMS, 'stages')
const TOKEN = 'a-token-for-these-specs'

export type Cluster = {
  kubeconfig: string
  /** The API server: its port, the file of its certificate, and a token of an administrator. */
  server: { port: number; caFile: string; token: string }
  /** Runs kubectl and returns its output. If kubectl fails, throws an error with its message. */
  kubectl(args: string[], input?: string): Promise<string>
  /** Starts a program from PROGRAMS or from PATH. The cluster's `stop` also stops this program. */
  start(name: string, args: string[], env?: Record<string, string>): Promise<Child>
  /** Calls `onLine` with each line of kubectl's output until the returned function is called. */
  watch(args: string[], onLine: (line: string) => void): Promise<() => Promise<unknown>>
  stop(): Promise<void>
}

export const isKubernetesInstalled = (): boolean => existsSync(STAGES)

const runFile = promisify(execFile)
/** Runs a program to its end. If the program fails, throws an error with its message. */
export const run = (program: string, args: string[], input = '') => {
  const running = runFile(program, args, { maxBuffer: 64 * 2 ** 20 })
  running.child.stdin!.end(input)
  return running
}

/**
 * Starts Kubernetes' API server on loopback, with etcd, controllers, scheduler and the chart's custom
 * resources. With `kwok`, KWOK simulates four nodes: pods are ready at once, pods of Jobs are complete, and
 * no container runs.
 */
export async function startCluster({ kwok = true }: { kwok?: boolean } = {}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-cluster-'))
  const [clients, peers, port] = await Promise.all([freePort(), freePort(), freePort()])
  const kubeconfig = join(folder, 'kubeconfig')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await writeFile(join(folder, 'accounts.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await writeFile(join(folder, 'tokens.csv'), `${TOKEN},admin,admin,system:masters\n`)
  await writeFile(kubeconfig, kubeconfigFor(`https://127.0.0.1:${port}`))

  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const one of stops.reverse()) await one()
  }
  const start: Cluster['start'] = async (name, args, more = {}) => {
    const built = join(PROGRAMS, name)
    const command = existsSync(built) ? built : name
    const child = await startChild({ name, command, args, cwd: folder, env: { ...process.env, ...more } })
    stops.push(child.stop)
    return child
  }
  const kubectl = async (args: string[], input?: string) =>
    (await run(join(PROGRAMS, 'kubectl'), ['--kubeconfig', kubeconfig, ...args], input)).stdout
  const watch: Cluster['watch'] = async (args, onLine) => {
    const command = join(PROGRAMS, 'kubectl')
    const flags = ['--kubeconfig', kubeconfig, ...args, '--watch']
    return (await startChild({ name: 'kubectl', command, args: flags, onLine })).stop
  }

  try {
    await start('etcd', [
      '--unsafe-no-fsync',
      `--listen-client-urls=http://127.0.0.1:${clients}`,
      `--advertise-client-urls=http://127.0.0.1:${clients}`,
      `--listen-peer-urls=http://127.0.0.1:${peers}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peers}`,
      `--initial-cluster=default=http://127.0.0.1:${peers}`,
    ])
    const apiserver = await start('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${clients}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      '--cert-dir=certificates',
      '--endpoint-reconciler-type=none',
      '--kubelet-preferred-address-types=InternalIP',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--authorization-mode=RBAC',
      '--token-auth-file=tokens.csv',
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-account-key-file=accounts.key',
      '--service-account-signing-key-file=accounts.key',
    ])
    const isUp = () => kubectl(['get', '--raw=/readyz']).then(Boolean, () => false)
    await whenReady(apiserver, isUp, { timeoutMs: 110_000 })
    await kubectl(['apply', '--server-side', '--filename', join(PROGRAMS, 'crds')])
    const alone = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
    await start('kube-scheduler', alone)
    await start('kube-controller-manager', [...alone, '--service-account-private-key-file=accounts.key'])
    if (kwok) await simulateNodes({ kubeconfig, kubectl, start })
  } catch (error) {
    await stop()
    throw error
  }
  const server = { port, caFile: join(folder, 'certificates/apiserver.crt'), token: TOKEN }
  return { kubeconfig, server, kubectl, start, watch, stop }
}

async function simulateNodes({
  kubeconfig,
  kubectl,
  start,
}: Pick<Cluster, 'kubeconfig' | 'kubectl' | 'start'>) {
  const stages = (await readdir(STAGES)).map((file) => join(STAGES, file))
  await start('kwok', [
    `--kubeconfig=${kubeconfig}`,
    `--config=${[...stages, join(__dirname, 'invalid-stage.yaml')]}`,
    '--manage-all-nodes',
    '--node-lease-duration-seconds=40',
    '--cidr=10.244.0.0/16',
  ])
  await kubectl(['apply', '--filename', join(__dirname, 'nodes.yaml')])
}

// The client does not verify the server's certificate, which is self-signed.
const kubeconfigFor = (server: string) => `
apiVersion: v1
kind: Config
clusters: [{ name: it, cluster: { server: '${server}', insecure-skip-tls-verify: true } }]
users: [{ name: admin, user: { token: ${TOKEN} } }]
contexts: [{ name: it, context: { cluster: it, user: admin } }]
current-context: it
`
